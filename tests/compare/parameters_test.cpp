#include "compare/parameters.h"

#include <catch2/catch.hpp>

#include "compare/compare.h"
#include "compare/distance.h"
#include "compare/ranks.h"

namespace dtypecheck::compare {
namespace {

Digest digest_of(uint64_t count, double size, const std::string& parameter = "",
                 const std::string& cut = "", bool is_gradient = false) {
  return {.parameter = parameter,
          .cut = cut,
          .is_gradient = is_gradient,
          .dtype = Dtype::kFloat,
          .count = count,
          .finite = count,
          .root_mean_square = size,
          .mean = size,
          .largest = size,
          .shape = static_cast<uint32_t>(count)};
}

DigestedCall call_of(const std::string& op, std::vector<uint32_t> operands,
                     std::vector<uint32_t> results) {
  return {.op = op,
          .site = {.phase = Phase::kOptimizer},
          .step = 1,
          .operands = std::move(operands),
          .results = std::move(results)};
}

// An average and its square root, of these parameters in a flat one: what a rank holds of each.
struct Held {
  std::string name, cut;
  uint64_t count;
};
DigestedProcess flat_rank(int rank, const std::vector<Held>& held, double factor = 0.9) {
  DigestedProcess process{.file = "run.dtrace", .rank = rank, .steps = 1, .is_recorded = true};
  const auto add = [&](double size, bool has_name, bool is_gradient) {
    std::vector<uint32_t> all;
    for (const Held& part : held) {
      process.digests.push_back(
          digest_of(part.count, size, has_name ? part.name : "", part.cut, is_gradient));
      all.push_back(static_cast<uint32_t>(process.digests.size()));
    }
    return all;
  };
  const auto gradients = add(2, true, true), states = add(1, false, false);
  const auto after = add(3, false, false), roots = add(factor, false, false);
  process.digests.push_back(digest_of(1, factor));
  const auto number = static_cast<uint32_t>(process.digests.size());
  std::vector<uint32_t> given = states;
  given.insert(given.end(), gradients.begin(), gradients.end());
  process.calls.push_back(call_of("aten::lerp_", given, after));
  given = after;
  given.push_back(number);
  process.calls.push_back(call_of("aten::mul", given, roots));
  return process;
}

std::vector<std::string> calls_of(const DigestedProcess& process) {
  std::vector<std::string> calls;
  for (const DigestedCall& call : process.calls)
    calls.push_back(call.op + " of " + call.owner + ": " + std::to_string(call.operands.size()) +
                    " " + std::to_string(call.results.size()));
  return calls;
}

TEST_CASE("an optimizer's op on many parameters is one for each, and a factor is given to all") {
  const DigestedProcess split =
      by_parameter(flat_rank(0, {{"b", "Flat(4)@0+4", 4}, {"a", "Flat(6)@0+2", 2}}));
  CHECK(calls_of(split) == std::vector<std::string>{"aten::lerp_ of b: 2 1",
                                                    "aten::lerp_ of a: 2 1", "aten::mul of b: 2 1",
                                                    "aten::mul of a: 2 1"});
  CHECK(split.digests[split.calls[3].results[0] - 1].count == 2);
}

TEST_CASE("what is not of known parameters, and what is no optimizer's, stays one op call") {
  DigestedProcess process = flat_rank(0, {{"b", "", 4}, {"a", "", 2}});
  process.calls = {call_of("aten::sqrt", {3, 4}, {5, 6}), call_of("aten::mul", {1, 2, 3}, {5, 6}),
                   call_of("aten::lerp_", {1, 2}, {5, 6})};
  process.calls[2].site.phase = Phase::kBackward;
  CHECK(by_parameter(process).calls.size() == 3);
}

TEST_CASE("a state lies as its parameter does") {
  DigestedProcess process = flat_rank(0, {{"a", "Flat(6)@0+2", 2}});
  for (Digest& digest : process.digests)
    if (digest.parameter.empty()) digest.cut.clear();
  const DigestedProcess split = by_parameter(process);
  CHECK(split.digests[1].cut == "Flat(6)@0+2");
  CHECK(split.digests.back().cut.empty());  // the factor
}

TEST_CASE("parameters that only another rank holds are compared as well") {
  const std::vector<DigestedProcess> one = {flat_rank(-1, {{"a", "", 6}, {"b", "", 4}})};
  const auto two = [](double factor) {
    return std::vector<DigestedProcess>{
        flat_rank(0, {{"a", "Flat(6)@0+5", 5}}),
        flat_rank(1, {{"a", "Flat(6)@5+1", 1}, {"b", "Flat(4)@0+4", 4}}, factor)};
  };
  const Comparison same = compare_values(one, two(0.9), "a", "b");
  CHECK_FALSE(same.is_apart());
  CHECK(same.agree == 4);
  for (const Named& named : same.named) CHECK(named.count == 2);
  const Comparison other = compare_values(one, two(0.8), "a", "b");
  REQUIRE(!other.places.empty());
  CHECK(other.places[0].op == "aten::mul");
}

TEST_CASE("ranks that hold the same part of a flat parameter have copies") {
  const std::vector<DigestedProcess> one = {flat_rank(-1, {{"a", "", 6}})};
  std::vector<DigestedProcess> four;
  for (int rank = 0; rank < 4; ++rank)
    four.push_back(flat_rank(rank, {{"a", rank % 2 ? "Flat(6)@3+3" : "Flat(6)@0+3", 3}}));
  CHECK(compare_values(one, four, "a", "b").agree == 2);
}

TEST_CASE("a list of tensors and one tensor are one op, parameter by parameter") {
  DigestedProcess list = flat_rank(-1, {{"a", "Flat(6)@0+6", 6}}), loop = list;
  list.calls[0].op = "aten::_foreach_lerp_";
  CHECK(compare_values({list}, {loop}, "a", "b").agree == 2);
}

TEST_CASE("a copy that one rank keeps in another dtype is none of its parts") {
  Digest whole = digest_of(6, 1);
  Digest copies = digest_of(12, 1);
  copies.parts = 2;
  CHECK_FALSE(distance(whole, copies).has_value());
  copies.is_mixed = true;
  CHECK(distance(whole, copies) == 0.0);
  CHECK(distance(copies, whole) == 0.0);
  CHECK(distance(digest_of(12, 1), copies) == 0.0);  // these may be parts
}

}  // namespace
}  // namespace dtypecheck::compare
