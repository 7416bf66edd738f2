#include "explain/message_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "explain/data_file.h"
#include "explain/embedded.h"
#include "explain/template_match.h"
#include "platform/text.h"

namespace dtypecheck::explain {
namespace {

// "norm-mixed 3"
std::pair<Category, double> lean_in(const Field& field, std::string_view text) {
  const std::string_view category = next_piece(text, ' ');
  return {category_in(field, category), field.number(text)};
}

std::vector<std::pair<Category, double>> leans_in(const Field& field) {
  std::vector<std::pair<Category, double>> leans;
  for (const std::string& part : field.parts()) leans.push_back(lean_in(field, part));
  return leans;
}

size_t count_in(const Field& field) { return static_cast<size_t>(field.number(field.value)); }

Spelling spelling_in(const Field& field) {
  std::vector<std::string> parts = field.parts();
  if (parts.size() < 2) field.fail("expected a category with a weight, and words after |");
  const auto [category, weight] = lean_in(field, parts.front());
  parts.erase(parts.begin());
  return {category, weight, std::move(parts)};
}

// People who quote a sentence from memory leave out what stands in brackets: "Input type and bias
// type should be the same". Empty where a sentence has no such part, or keeps other holes.
std::string without_brackets(std::string text) {
  constexpr std::string_view kHole = " ({})";
  const size_t length = text.size();
  for (size_t at = text.find(kHole); at != std::string::npos; at = text.find(kHole))
    text.erase(at, kHole.size());
  const bool is_cut = text.size() < length && text.find("{}") == std::string::npos;
  return is_cut && text.find("  ") == std::string::npos ? text : "";
}

// "got {mat1} and {mat2}" is the text "got {} and {}" and the operands mat1, mat2.
void read_spelling(const Field& field, Message& message) {
  std::string text;
  std::vector<std::string> operands;
  for (size_t at = 0; at < field.value.size(); ++at) {
    const size_t end = field.value.find_first_of("{}", at + 1);
    const bool is_hole = field.value[at] == '{' && end != std::string::npos &&
                         field.value[end] == '}' && field.value.find('\'', at) > end;
    text += field.value[at];
    if (!is_hole) continue;
    operands.push_back(field.value.substr(at + 1, end - at - 1));
    at = end;
    text += '}';
  }
  if (anchor_of(text).size() < kShortestAnchor)
    field.fail(fmt::format("expected {} characters in a row, without {{}} and quotation marks",
                           kShortestAnchor));
  std::string cut = without_brackets(text);
  message.texts.push_back(std::move(text));
  message.operands.push_back(std::move(operands));
  if (cut.empty()) return;
  message.texts.push_back(std::move(cut));
  message.operands.emplace_back();
}

Family family_in(const Field& field) {
  const auto family = parse_family(field.value);
  if (!family) field.fail(fmt::format("unknown family '{}'", field.value));
  return *family;
}

void read_yes(const Field& field, bool& flag) {
  if (field.value != "yes") field.fail(fmt::format("expected: {} yes", field.key));
  flag = true;
}

Message message_in(const DataBlock& block, const std::vector<Message>& earlier) {
  Message message{.id = block.head.value};
  block.read(
      {{"says", kNeeded, [&](const Field& field) { read_spelling(field, message); }},
       {"family", kNeeded | kOnce, [&](const Field& field) { message.family = family_in(field); }},
       {"leans", kOnce, [&](const Field& field) { message.leans = leans_in(field); }},
       {"spelled", kMany,
        [&](const Field& field) { message.spelled.push_back(spelling_in(field)); }},
       {"never", kOnce, [&](const Field& field) { message.never = categories_in(field); }},
       {"means", kNeeded | kOnce, [&](const Field& field) { message.meaning = field.value; }},
       {"op", kMany, [&](const Field& field) { message.ops.push_back(field.value); }},
       {"versions", kOnce, [&](const Field& field) { message.versions = field.value; }},
       {"symptom", kOnce, [&](const Field& field) { read_yes(field, message.is_symptom); }},
       {"vague", kOnce, [&](const Field& field) { read_yes(field, message.is_vague); }},
       {"dtypes", kOnce, [&](const Field& field) { message.least_dtypes = count_in(field); }}});
  const bool is_known =
      std::ranges::any_of(earlier, [&](const Message& other) { return other.id == message.id; });
  if (is_known) block.head.fail(fmt::format("message '{}' is listed twice", message.id));
  return message;
}

UnknownKind unknown_in(const DataBlock& block) {
  UnknownKind kind{.id = block.head.value};
  block.read(
      {{"words", kOnce, [&](const Field& field) { kind.words = phrases_in(field); }},
       {"dtypes", kOnce, [&](const Field& field) { kind.least_dtypes = count_in(field); }},
       {"named", kOnce, [&](const Field& field) { kind.least_named = count_in(field); }},
       {"family", kNeeded | kOnce, [&](const Field& field) { kind.family = family_in(field); }},
       {"leans", kNeeded | kOnce, [&](const Field& field) { kind.leans = leans_in(field); }}});
  if (kind.words.empty() && kind.least_dtypes == 0)
    block.head.fail("it would be any line: expected words or dtypes");
  return kind;
}

OtherError other_in(const DataBlock& block) {
  OtherError other{{}, block.head.value};
  block.read(
      {{"says", kNeeded | kOnce, [&](const Field& field) { other.texts = phrases_in(field); }}});
  return other;
}

const MessageTable& table() {
  static const MessageTable table =
      read_message_table(table_text("messages.txt", embedded::kMessages), "messages.txt");
  return table;
}

}  // namespace

std::optional<Family> parse_family(std::string_view name) {
  constexpr std::pair<std::string_view, Family> names[] = {{"mismatch", Family::kMismatch},
                                                           {"kernel", Family::kKernel},
                                                           {"optimizer", Family::kOptimizer},
                                                           {"values", Family::kValues},
                                                           {"own", Family::kOwn},
                                                           {"prose", Family::kProse}};
  for (const auto& [known, family] : names) {
    if (known == name) return family;
  }
  return std::nullopt;
}

MessageTable read_message_table(std::string_view text, std::string_view file) {
  MessageTable table;
  for (const DataBlock& block : read_blocks(text, file)) {
    if (block.head.key == "message") {
      table.messages.push_back(message_in(block, table.messages));
    } else if (block.head.key == "unknown") {
      table.unknown.push_back(unknown_in(block));
    } else if (block.head.key == "other") {
      table.others.push_back(other_in(block));
    } else {
      block.head.fail_unknown_key({"message", "unknown", "other"});
    }
  }
  return table;
}

const std::vector<Message>& messages() { return table().messages; }

const std::vector<UnknownKind>& unknown_kinds() { return table().unknown; }

const std::vector<OtherError>& other_errors() { return table().others; }

}  // namespace dtypecheck::explain
