#include "compare/ranks.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "compare/compare.h"
#include "compare/distance.h"

namespace dtypecheck::compare {
namespace {

Digest digest_of(const std::vector<double>& values) {
  Digest digest{.dtype = Dtype::kFloat, .count = values.size(), .finite = values.size()};
  double squares = 0;
  for (const double value : values) {
    digest.mean += value / static_cast<double>(values.size());
    squares += value * value;
    digest.largest = std::max(digest.largest, std::fabs(value));
  }
  digest.root_mean_square = std::sqrt(squares / static_cast<double>(values.size()));
  digest.shape = static_cast<uint32_t>(values.size());
  digest.places = values;
  return digest;
}

// A layer with a weight of its own on these rows, an op of the backward pass that gives twice as
// much for half of the rows, and an op of the optimizer.
DigestedProcess run_of(int rank, const std::vector<double>& rows, double gradient,
                       double factor = 2) {
  DigestedProcess process{.file = "run.dtrace", .rank = rank, .steps = 1, .is_recorded = true};
  std::vector<double> results, gradients;
  for (const double row : rows)
    results.push_back(factor * row), gradients.push_back(gradient * row);
  process.digests = {digest_of(rows), digest_of({2, 2, 2}), digest_of(results),
                     digest_of(gradients), digest_of({3, 3, 3})};
  process.calls = {{.op = "aten::linear", .site = {.module = "net"}, .step = 1},
                   {.op = "aten::gelu_backward", .site = {.module = "net"}, .step = 1},
                   {.op = "aten::mul_", .step = 1}};
  const Phase phases[] = {Phase::kForward, Phase::kBackward, Phase::kOptimizer};
  const std::vector<uint32_t> operands[] = {{1, 2}, {1}, {2}}, given[] = {{3}, {4}, {5}};
  for (size_t i = 0; i < 3; ++i) {
    process.calls[i].site.phase = phases[i];
    process.calls[i].operands = operands[i];
    process.calls[i].results = given[i];
  }
  return process;
}

TEST_CASE("the ranks' parts of a batch are put together, and equal copies stay as they are") {
  const DigestedProcess first = run_of(0, {3, -4}, 2), second = run_of(1, {1, 2}, 2);
  const DigestedProcess all = put_together({{0, &first}, {1, &second}});
  const Digest whole = digest_of({3, -4, 1, 2});
  CHECK(all.digests[0].parts == 2);
  CHECK(distance(all.digests[0], whole).value() < 1e-12);
  CHECK(distance(all.digests[1], digest_of({2, 2, 2})) == 0.0);
  CHECK(all.digests[1].parts == 1);
  CHECK(all.digests[3].largest == 4);  // of each rank twice that of the whole batch
}

TEST_CASE("what the backward pass computes of the forward pass' own numbers is no gradient") {
  DigestedProcess first = run_of(0, {3, -4}, 2), second = run_of(1, {1, 2}, 2);
  for (DigestedProcess* rank : {&first, &second}) rank->calls[1].op = "aten::pow";
  CHECK(put_together({{0, &first}, {1, &second}}).digests[3].largest == 8);
  for (DigestedProcess* rank : {&first, &second}) {
    DigestedCall made = rank->calls[1];  // of what was kept within an op
    made.operands = {5};
    rank->calls = {rank->calls[0], made};
    rank->digests[4] = digest_of({2.0 + rank->rank, 1});
  }
  CHECK(put_together({{0, &first}, {1, &second}}).digests[4].is_unknown);
}

TEST_CASE("one process and two ranks of the same batch agree, and another factor is named") {
  const std::vector<DigestedProcess> one = {run_of(-1, {1, 2, 3, -4}, 1)};
  const Comparison same =
      compare_values(one, {run_of(0, {1, 2}, 2), run_of(1, {3, -4}, 2)}, "a", "b");
  CHECK_FALSE(same.is_apart());
  CHECK(same.agree == 3);
  CHECK(same.alone_a + same.alone_b == 0);
  REQUIRE(same.notes.size() == 1);
  CHECK(same.notes[0].starts_with("2 ranks of b are put together"));

  const Comparison other =
      compare_values(one, {run_of(0, {1, 2}, 2, 2.1), run_of(1, {3, -4}, 2, 2.1)}, "a", "b");
  REQUIRE(other.places.size() == 1);
  CHECK(other.places[0].op == "aten::linear");
}

TEST_CASE("runs of as many ranks are compared by their first") {
  const std::vector<DigestedProcess> two = {run_of(0, {1, 2}, 2), run_of(1, {3, -4}, 2)};
  const Comparison same = compare_values(two, two, "a", "b");
  CHECK(same.notes.empty());
  CHECK(same.agree == 3);
}

TEST_CASE("a thousand ranks") {
  std::vector<DigestedProcess> ranks;
  std::vector<double> rows;
  for (int rank = 0; rank < 1000; ++rank) {
    ranks.push_back(run_of(rank, {rank + 1.0, -2.0 * rank}, 1000));
    rows.insert(rows.end(), {rank + 1.0, -2.0 * rank});
  }
  const Comparison same = compare_values({run_of(-1, rows, 1)}, ranks, "a", "b");
  CHECK_FALSE(same.is_apart());
  CHECK(same.agree == 3);
  ranks[777] = run_of(777, {778, -1554}, 1000, 4);
  CHECK(compare_values({run_of(-1, rows, 1)}, ranks, "a", "b").places.size() == 1);
}

// Of one op, whose operands and results lie so on the ranks.
DigestedProcess cut_run(int rank, const std::vector<double>& values, const std::string& cut) {
  DigestedProcess process{.file = "run.dtrace", .rank = rank, .steps = 1, .is_recorded = true};
  process.digests = {digest_of(values)};
  process.digests[0].cut = cut;
  process.calls = {{.op = "aten::neg",
                    .site = {.module = "net", .phase = Phase::kForward},
                    .step = 1,
                    .operands = {1},
                    .results = {}}};
  return process;
}

Digest together(const std::vector<DigestedProcess>& runs) {
  std::map<int, const DigestedProcess*> ranks;
  for (const DigestedProcess& run : runs) ranks[run.rank] = &run;
  return put_together(ranks).digests[0];
}

TEST_CASE("shards are put together though they are equal, and copies of one are not") {
  const Digest shards =
      together({cut_run(0, {1, 1}, "Shard(0)@0"), cut_run(1, {1, 1}, "Shard(0)@1")});
  CHECK(distance(shards, digest_of({1, 1, 1, 1})) == 0.0);
  const Digest of_one = together({cut_run(0, {1}, "Shard(0)@0"), cut_run(1, {3}, "Shard(0)@1")});
  CHECK(distance(of_one, digest_of({1, 3})) == 0.0);
  const Digest both = together(
      {cut_run(0, {1, 2}, "Replicate, Shard(0)@0"), cut_run(1, {3, 4}, "Replicate, Shard(0)@1"),
       cut_run(2, {1, 2}, "Replicate, Shard(0)@0"), cut_run(3, {3, 4}, "Replicate, Shard(0)@1")});
  CHECK(distance(both, digest_of({1, 2, 3, 4})).value() < 1e-12);
  const Digest copies =
      together({cut_run(0, {1, 2}, "Replicate"), cut_run(1, {1, 2}, "Replicate")});
  CHECK(distance(copies, digest_of({1, 2})) == 0.0);
}

TEST_CASE("a sum that was not made yet, and what is one number on each rank, are not judged") {
  for (const std::string cut : {"Partial", ""}) {
    const Digest known = together({cut_run(0, {1, 2}, cut), cut_run(1, {2, 3}, cut)});
    CHECK(distance(known, digest_of({1, 2, 2, 3})).has_value() == cut.empty());
    const Digest number = together({cut_run(0, {1}, cut), cut_run(1, {2}, cut)});
    CHECK_FALSE(distance(number, digest_of({1, 2})).has_value());
  }
}

TEST_CASE("a number that one rank alone has says nothing of the others") {
  DigestedProcess first = run_of(0, {3, -4}, 1), other = run_of(1, {1, 2}, 1);
  first.digests.push_back(digest_of({5}));
  first.calls.push_back(
      {.op = "aten::clone", .site = {.phase = Phase::kForward}, .step = 1, .operands = {6}});
  const DigestedProcess all = put_together({{0, &first}, {1, &other}});
  CHECK(all.digests[5].is_unknown);
  CHECK_FALSE(all.digests[1].is_unknown);
}

TEST_CASE("ranks that are given the same batch have the gradients of one process") {
  DigestedProcess first = run_of(0, {3, -4}, 1), other = run_of(1, {3, -4}, 1);
  for (DigestedProcess* process : {&first, &other}) process->digests[1].parameter = "net.weight";
  other.digests[3] = digest_of({6, 8});  // of their own part of a layer
  CHECK(put_together({{0, &first}, {1, &other}}).digests[3].largest == 8);
  first.digests[0] = digest_of({1, 2});
  CHECK(put_together({{0, &first}, {1, &other}}).digests[3].largest == 4);
}

TEST_CASE("a tensor that is given to later steps as well is no data") {
  const auto run = [](double table) {
    DigestedProcess process{.file = "run.dtrace", .steps = 2, .is_recorded = true};
    process.digests = {digest_of({table, 1}), digest_of({1, 2}), digest_of({table, 2})};
    for (const uint32_t step : {1, 2})
      process.calls.push_back({.op = "aten::mul",
                               .site = {.module = "net", .phase = Phase::kForward},
                               .step = step,
                               .operands = {1, 2},
                               .results = {3}});
    return process;
  };
  const Comparison comparison = compare_values({run(1)}, {run(1.5)}, "a", "b");
  CHECK(comparison.inputs.tensors_apart == 1);
  CHECK(comparison.inputs.is_table);
  DigestedProcess fresh_a = run(1), fresh_b = run(1.5);
  for (DigestedProcess* process : {&fresh_a, &fresh_b}) process->calls.pop_back();
  CHECK_FALSE(compare_values({fresh_a}, {fresh_b}, "a", "b").inputs.is_table);
}

}  // namespace
}  // namespace dtypecheck::compare
