#include "explain/signal_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "explain/data_file.h"
#include "explain/embedded.h"
#include "platform/text.h"

namespace dtypecheck::explain {
namespace {

// "norm-mixed 2.4 beside mismatch prose"
Signal signal_in(const DataBlock& block) {
  std::string_view rest = block.head.value;
  Signal signal;
  signal.line = static_cast<uint32_t>(block.head.line);
  signal.category = category_in(block.head, next_piece(rest, ' '));
  signal.weight = block.head.number(next_piece(rest, ' '));
  if (next_piece(rest, ' ') != "beside" || rest.empty())
    block.head.fail("expected: signal CATEGORY WEIGHT beside FAMILY…");
  while (!rest.empty()) {
    const std::string_view name = next_piece(rest, ' ');
    const auto family = parse_family(name);
    if (!family) block.head.fail(fmt::format("'{}' is no family that signals speak beside", name));
    signal.families |= bit_of(*family);
  }
  block.read(
      {{"words", kNeeded | kOnce, [&](const Field& field) { signal.words = phrases_in(field); }},
       {"near", kOnce, [&](const Field& field) { signal.near = phrases_in(field); }},
       {"dtypes", kOnce, [&](const Field& field) { signal.dtypes = dtypes_in(field); }}});
  return signal;
}

void read_list(const DataBlock& block, SignalTable& table) {
  const std::string& name = block.head.value;
  std::vector<std::string>* list = name == "complaint words" ? &table.complaint_words
                                   : name == "dtype words"   ? &table.dtype_words
                                   : name == "dtype names"   ? &table.dtype_names
                                   : name == "silence words" ? &table.silence_words
                                                             : nullptr;
  if (!list) block.head.fail(fmt::format("unknown list '{}'", name));
  if (!list->empty()) block.head.fail(fmt::format("list '{}' is listed twice", name));
  block.read({{"words", kNeeded | kOnce, [&](const Field& field) { *list = phrases_in(field); }}});
}

// "messages 1.2 0.8 0.7 0.8"
void read_calibration(const DataBlock& block, SignalTable& table) {
  std::string_view rest = block.head.value;
  const std::string_view of = next_piece(rest, ' ');
  Calibration* calibration = of == "messages" ? &table.of_messages
                             : of == "words"  ? &table.of_words
                                              : nullptr;
  if (!calibration)
    block.head.fail("expected: calibration messages|words TEMPERATURE UNLISTED TRUST USUALLY");
  calibration->temperature = block.head.number(next_piece(rest, ' '));
  calibration->unlisted = block.head.number(next_piece(rest, ' '));
  calibration->trust = block.head.number(next_piece(rest, ' '));
  calibration->usually = block.head.number(rest);
  if (calibration->temperature <= 0) block.head.fail("a temperature is above 0");
  if (calibration->trust > 1 || calibration->usually > 1) block.head.fail("a share is at most 1");
}

void read_usual(const DataBlock& block, SignalTable& table) {
  const auto family = parse_family(block.head.value);
  if (!family) block.head.fail(fmt::format("unknown family '{}'", block.head.value));
  const bool is_there =
      std::ranges::any_of(table.usual, [&](const auto& one) { return one.first == *family; });
  if (is_there) block.head.fail(fmt::format("usual '{}' is listed twice", block.head.value));
  std::vector<Category>& faults = table.usual.emplace_back(*family, std::vector<Category>{}).second;
  block.read(
      {{"faults", kNeeded | kOnce, [&](const Field& field) { faults = categories_in(field); }}});
}

}  // namespace

const std::vector<Category>& SignalTable::usual_of(Family family) const {
  static const std::vector<Category> none;
  const auto at = std::ranges::find_if(usual, [&](const auto& one) { return one.first == family; });
  return at == usual.end() ? none : at->second;
}

SignalTable read_signal_table(std::string_view text, std::string_view file) {
  SignalTable table;
  for (const DataBlock& block : read_blocks(text, file)) {
    if (block.head.key == "signal") {
      table.signals.push_back(signal_in(block));
    } else if (block.head.key == "list") {
      read_list(block, table);
    } else if (block.head.key == "calibration") {
      read_calibration(block, table);
    } else if (block.head.key == "usual") {
      read_usual(block, table);
    } else {
      block.head.fail_unknown_key({"signal", "list", "calibration", "usual"});
    }
  }
  return table;
}

const SignalTable& signal_table() {
  static const SignalTable table =
      read_signal_table(table_text("signals.txt", embedded::kSignals), "signals.txt");
  return table;
}

}  // namespace dtypecheck::explain
