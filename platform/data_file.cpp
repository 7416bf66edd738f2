#include "platform/data_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "platform/error.h"
#include "platform/text.h"

namespace dtypecheck {

void Field::fail(std::string_view what) const {
  throw InputError(fmt::format("{}:{}: {}", file, line, what));
}

void Field::fail_unknown_key(const std::vector<std::string_view>& known) const {
  fail(fmt::format("unknown key '{}', expected one of {}", key, fmt::join(known, ", ")));
}

std::vector<std::string> Field::parts() const {
  std::vector<std::string> parts;
  for (std::string_view rest = value; !rest.empty() || parts.empty();) {
    const std::string_view part = trimmed(next_piece(rest, '|'));
    if (part.empty()) fail(fmt::format("'{}' has an empty part", key));
    parts.emplace_back(part);
  }
  if (value.ends_with('|')) fail(fmt::format("'{}' ends in |", key));
  return parts;
}

double Field::number(std::string_view text) const {
  constexpr int kMostNumber = 100;
  double number = 0;
  const auto [end, error] = read_number(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || !(number >= 0 && number <= kMostNumber))
    fail(fmt::format("expected a number from 0 to {}, got '{}'", kMostNumber, text));
  return number;
}

static size_t count_of(const DataBlock& block, std::string_view key) {
  return static_cast<size_t>(std::count_if(block.fields.begin(), block.fields.end(),
                                           [&](const Field& field) { return field.key == key; }));
}

void DataBlock::require(const std::vector<std::string_view>& keys) const {
  if (head.value.empty()) head.fail(fmt::format("'{}' of what?", head.key));
  for (std::string_view key : keys) {
    if (count_of(*this, key) == 0) head.fail(fmt::format("has no field '{}'", key));
  }
  for (const Field& field : fields) {
    if (field.value.empty()) field.fail(fmt::format("'{}' is empty", field.key));
  }
}

void DataBlock::allow_once(const std::vector<std::string_view>& keys) const {
  for (std::string_view key : keys) {
    if (count_of(*this, key) > 1) head.fail(fmt::format("has the field '{}' twice", key));
  }
}

void DataBlock::read(const std::vector<KnownField>& known) const {
  const auto keys = [&](int times) {
    std::vector<std::string_view> keys;
    for (const KnownField& one : known)
      if ((one.times & times) == times) keys.push_back(one.key);
    return keys;
  };
  for (const Field& field : fields) {
    const auto reader = std::find_if(known.begin(), known.end(),
                                     [&](const KnownField& one) { return one.key == field.key; });
    if (reader == known.end()) field.fail_unknown_key(keys(kMany));
    reader->read(field);
  }
  require(keys(kNeeded));
  allow_once(keys(kOnce));
}

static std::string with_line_breaks(std::string_view text) {
  std::string out(text);
  for (size_t at = out.find("\\n"); at != std::string::npos; at = out.find("\\n", at))
    out.replace(at, 2, "\n");
  return out;
}

std::vector<DataBlock> read_blocks(std::string_view text, std::string_view file) {
  constexpr size_t kFieldIndent = 2, kMoreIndent = 4;
  std::vector<DataBlock> blocks;
  Field* last = nullptr;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = next_piece(text, '\n');
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    line.remove_prefix(indent);
    if (line.empty() || line.front() == '#') continue;
    const Field here{"", "", file, number};
    if (line.back() == ' ' || line.find('\t') != std::string_view::npos)
      here.fail("a tab, or a blank at the line's end");
    if (indent >= kMoreIndent) {
      if (!last) here.fail("continues a line, but there is none above");
      last->value += (last->value.empty() ? "" : " ") + with_line_breaks(line);
      continue;
    }
    if (indent != 0 && indent != kFieldIndent)
      here.fail("expected no blank, two for a field, or four for a line that goes on");
    if (indent != 0 && blocks.empty()) here.fail("a field outside of a block");
    std::vector<Field>* fields = blocks.empty() ? nullptr : &blocks.back().fields;
    last = indent == 0 ? &blocks.emplace_back().head : &fields->emplace_back();
    *last = here;
    last->key = next_piece(line, ' ');
    last->value = with_line_breaks(line);
  }
  return blocks;
}

}  // namespace dtypecheck
