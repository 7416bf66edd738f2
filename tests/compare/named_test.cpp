#include "compare/named.h"

#include <catch2/catch.hpp>

namespace dtypecheck::compare {
namespace {

// Two weights that an optimizer steps twice, to these values of the second one.
DigestedProcess rank_of(int rank, double at_first, double after_first, double after_second) {
  DigestedProcess process;
  process.rank = rank;
  process.is_recorded = true;
  const auto add = [&](const char* name, double value) {
    process.digests.push_back({.parameter = name,
                               .dtype = Dtype::kFloat,
                               .count = 1,
                               .finite = 1,
                               .root_mean_square = value,
                               .mean = value,
                               .largest = value,
                               .places = {value}});
    return static_cast<uint32_t>(process.digests.size());
  };
  uint32_t before = add("w", at_first);
  for (int i = 0; i < 9; ++i) add(("other" + std::to_string(i)).c_str(), 1);
  uint32_t step = 0;
  for (const double value : {after_first, after_second}) {
    const uint32_t after = add("w", value);
    process.calls.push_back({.op = "aten::add_",
                             .site = {.phase = Phase::kOptimizer},
                             .step = ++step,
                             .operands = {before},
                             .results = {after}});
    before = after;
  }
  return process;
}

TEST_CASE("a replica that drifts is told, with the first step after which it did") {
  const auto drifts =
      drifts_among_ranks({rank_of(1, 1, 2, 4), rank_of(0, 1, 2, 3), rank_of(2, 1, 2, 3)});
  REQUIRE(drifts.size() == 1);
  CHECK(drifts[0].rank == 1);
  CHECK(drifts[0].step == 2);
  CHECK(drifts[0].weights == 1);
  CHECK(drifts[0].parameter == "w");
  CHECK(drifts[0].distance == Approx(0.25));
}

TEST_CASE("replicas that agree, what differed from the start, and one rank are not told") {
  CHECK(drifts_among_ranks({rank_of(0, 1, 2, 3), rank_of(1, 1, 2, 3)}).empty());
  CHECK(drifts_among_ranks({rank_of(0, 1, 2, 3), rank_of(1, 9, 2, 4)}).empty());
  CHECK(drifts_among_ranks({rank_of(0, 1, 2, 3)}).empty());
  CHECK(drifts_among_ranks({rank_of(-1, 1, 2, 3), rank_of(-1, 1, 2, 4)}).empty());
  CHECK(drifts_among_ranks({}).empty());
}

TEST_CASE("ranks of which most weights differ from the start hold shards") {
  DigestedProcess shard = rank_of(1, 1, 2, 4);
  for (size_t i = 1; i < 10; ++i) shard.digests[i].places = {2};
  CHECK(drifts_among_ranks({rank_of(0, 1, 2, 3), shard}).empty());
}

// Of two parameters: the tensors that an op is given, in this order.
DigestedProcess stepped_by(const char* op, const std::string& lists) {
  DigestedProcess process;
  DigestedCall call{.op = op, .site = {.phase = Phase::kOptimizer}, .step = 1};
  for (const char list : lists) {
    for (const char* name : {"a", "b"}) {
      Digest digest{.dtype = Dtype::kFloat, .count = 4, .shape = list == 'n' ? 1u : 4u};
      if (list == 'w' || list == 'g') digest.parameter = name;
      digest.is_gradient = list == 'g';
      process.digests.push_back(digest);
      call.operands.push_back(static_cast<uint32_t>(process.digests.size()));
    }
  }
  process.calls = {call};
  return process;
}

std::vector<std::string> states_of(const DigestedProcess& process) {
  std::vector<std::string> states;
  for (const auto& [key, index] : names_in(process))
    if (std::get<1>(key) == NumberKind::kState)
      states.push_back(std::get<2>(key) + " " + std::to_string(index));
  return states;
}

TEST_CASE("a state has the name of the parameter whose gradient it is given with") {
  using States = std::vector<std::string>;
  CHECK(states_of(stepped_by("aten::_foreach_lerp_", "sg")) ==
        States{"a by lerp 1", "b by lerp 2"});
  CHECK(states_of(stepped_by("aten::_fused_adamw_", "wgssn")) ==
        States{"a by _fused_adamw 5", "a by _fused_adamw 2 7", "b by _fused_adamw 6",
               "b by _fused_adamw 2 8"});
  CHECK(states_of(stepped_by("aten::_foreach_add_", "wg")).empty());
  CHECK(states_of(stepped_by("aten::_foreach_div_", "ss")).empty());
}

}  // namespace
}  // namespace dtypecheck::compare
