// Where the table and the contracts speak of the same op, they agree: the one knows what an op is
// for, the other what it does with dtypes.
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "ops/ops.h"
#include "rules/contracts/table.h"

using namespace dtypecheck;
using namespace dtypecheck::ops;

namespace {

const contracts::Table& cpu() {
  static const auto table = [] {
    std::ifstream file(DTYPECHECK_SOURCE_DIR "/rules/contracts/cpu.contracts");
    return contracts::read_table({std::istreambuf_iterator<char>(file), {}}, "cpu.contracts");
  }();
  return *table;
}

std::string_view without_overload(std::string_view op) { return op.substr(0, op.find('.')); }

// Calls `check` with each outcome that the newest version has for the ops with this fact; outcomes
// that are not known are left out. Gives their number.
size_t for_each(Fact fact, std::string_view mode,
                const std::function<void(std::string_view, std::string_view)>& check) {
  size_t checked = 0;
  for (const contracts::Op& op : cpu().ops) {
    const bool is_out = op.name.find("out") != op.name.npos;
    if (is_out || !(facts_of(without_overload(op.name)) & fact)) continue;
    const contracts::Row* row = cpu().row(op, mode, cpu().runtimes.size() - 1);
    for (const std::string_view operands :
         {"f", "h", "b", "d", "ff", "fh", "hf", "fb", "bf", "hh"}) {
      if (row == nullptr || !contracts::is_combination(op.operands, operands)) continue;
      const std::string outcome = contracts::outcome_in(op.operands, row->pattern, operands);
      if (outcome.empty() || outcome == "?" || outcome == "-") continue;
      INFO(op.name << " " << op.operands << " " << mode << " " << outcome << "=" << operands);
      check(operands, outcome);
      ++checked;
    }
  }
  return checked;
}

// Of a list, each element its own.
void keeps_first_dtype(std::string_view operands, std::string_view outcome) {
  if (outcome != operands) CHECK(outcome.find_first_not_of(operands[0]) == outcome.npos);
}

}  // namespace

TEST_CASE("what passes a tensor on keeps its dtype") {
  CHECK(for_each(kCopy, "plain", keeps_first_dtype) > 3);
}

TEST_CASE("what overwrites a tensor keeps its dtype, whatever it is given") {
  CHECK(for_each(kOverwrites, "plain", keeps_first_dtype) > 10);
}

TEST_CASE("what keeps the dtype of integers keeps that of floating operands") {
  const auto keeps = [](std::string_view operands, std::string_view outcome) {
    const bool is_mix = operands.find_first_not_of(operands[0]) != operands.npos;
    if (!is_mix && outcome[0] != 'm') CHECK(outcome[0] == operands[0]);
  };
  CHECK(for_each(kKeepsDtype, "plain", keeps) > 100);
  CHECK(for_each(kSumsInLong, "plain", keeps) > 10);
}

TEST_CASE("a factory takes any dtype") {
  CHECK(for_each(kFactory, "plain", [](std::string_view, std::string_view outcome) {
          CHECK(outcome[0] != 'm');
        }) > 10);
}

TEST_CASE("autocast calls these in the widest dtype") {
  const auto is_widest = [](std::string_view operands, std::string_view outcome) {
    const bool mixed = operands == "fb" || operands == "bf";
    if (mixed && outcome[0] != 'm') CHECK(outcome[0] == 'f');
  };
  CHECK(for_each(kAutocastWidest, "autocast:BFloat16", is_widest) > 10);
}

TEST_CASE("what adds a product takes three tensors") {
  size_t checked = 0;
  for (const contracts::Op& op : cpu().ops) {
    if (!(facts_of(without_overload(op.name)) & kAddsProduct)) continue;
    INFO(op.name << " " << op.operands);
    CHECK(op.operands.substr(0, 4) == "self");
    CHECK(contracts::is_combination(op.operands.substr(0, op.operands.find(",out")), "fff"));
    ++checked;
  }
  CHECK(checked >= 5);
}
