#include "compare/gradients.h"

#include <catch2/catch.hpp>

namespace dtypecheck::compare {
namespace {

struct Gradient {
  std::string parameter;
  double size;
};

// Parameters that a layer is given in the forward pass, a backward pass of so many op calls, of
// which the last gives the gradients, and an optimizer's op on these.
DigestedProcess run_of(size_t backward_calls, const std::vector<Gradient>& gradients,
                       double result = 1, const char* op = "aten::mm") {
  DigestedProcess process{.file = "run.dtrace", .steps = 1, .is_recorded = true};
  const auto add = [&](double size, const std::string& parameter = "", bool is_gradient = false,
                       uint32_t base = 0) {
    process.digests.push_back({.parameter = parameter,
                               .is_gradient = is_gradient,
                               .dtype = Dtype::kFloat,
                               .count = 4,
                               .finite = 4,
                               .root_mean_square = size,
                               .mean = size,
                               .largest = size,
                               .shape = 4,
                               .base = base});
    return static_cast<uint32_t>(process.digests.size());
  };
  const auto call = [&](const char* op, Phase phase, std::vector<uint32_t> operands,
                        std::vector<uint32_t> results) {
    process.calls.push_back({.op = op,
                             .site = {.module = "net", .phase = phase},
                             .step = 1,
                             .operands = std::move(operands),
                             .results = std::move(results)});
  };
  const uint32_t a = add(1, "net.a"), b = add(1, "net.b");
  uint32_t last = add(result);
  call("aten::linear", Phase::kForward, {a, b}, {last});
  last = add(1);
  call("aten::mse_loss_backward", Phase::kBackward, {}, {last});
  for (size_t i = 0; i < backward_calls; ++i) {
    const uint32_t next = add(1);
    call(op, Phase::kBackward, {last}, {next});
    last = next;
  }
  std::vector<uint32_t> given;
  for (const Gradient& gradient : gradients)
    given.push_back(add(gradient.size, gradient.parameter, true, last));
  call("aten::step", Phase::kOptimizer, given, {});
  return process;
}

Comparison compared(const DigestedProcess& a, const DigestedProcess& b) {
  return compare_values({a}, {b}, "a", "b");
}

TEST_CASE("a gradient that one run alone has, with the first op call that only it makes") {
  const DigestedProcess both = run_of(2, {{"net.a", 1}, {"net.b", 1}});
  const DigestedProcess one = run_of(1, {{"net.a", 1}});
  const Comparison comparison = compared(both, one);
  REQUIRE(comparison.places.size() == 1);
  const Divergence& place = comparison.places[0];
  CHECK(place.cause == Cause::kGradient);
  CHECK(place.op == "aten::mm");
  CHECK(place.parameter == "net.b");
  CHECK(place.parameters == 1);
  CHECK(std::isinf(place.distance));
  CHECK(place.only_b.empty());
  CHECK(compared(one, both).places.at(0).only_a.empty());
}

TEST_CASE("a gradient that is far apart where all before it agrees") {
  const DigestedProcess more = run_of(2, {{"net.a", 1}, {"net.b", 1}});
  const DigestedProcess less = run_of(1, {{"net.a", 1}, {"net.b", 0.6}});
  const Comparison comparison = compared(more, less);
  REQUIRE(comparison.places.size() == 1);
  CHECK(comparison.places[0].cause == Cause::kGradient);
  CHECK(comparison.places[0].distance == Approx(0.4));
}

TEST_CASE("no gradient is told that is near, next to nothing, zero, or behind something else") {
  const DigestedProcess run = run_of(2, {{"net.a", 1}, {"net.b", 1}});
  CHECK(compared(run, run_of(1, {{"net.a", 1}, {"net.b", 0.99}})).places.empty());
  CHECK(compared(run_of(2, {{"net.a", 1}, {"net.b", 1e-6}}),
                 run_of(1, {{"net.a", 1}, {"net.b", 5e-6}}))
            .places.empty());
  CHECK(
      compared(run_of(2, {{"net.a", 1}, {"net.b", 0}}), run_of(1, {{"net.a", 1}})).places.empty());
  CHECK(compared(run, run_of(1, {})).places.empty());  // it stopped before its optimizer
  CHECK(compared(run, run_of(1, {{"net.flat", 1}})).places.empty());  // under another name
  for (const Divergence& place : compared(run, run_of(1, {{"net.a", 1}}, /*result=*/1.5)).places)
    CHECK(place.cause != Cause::kGradient);
}

TEST_CASE("a cast that one run has alone, as one in 16 bits does, leaves no gradient out") {
  const auto in_16_bits = run_of(2, {{"net.a", 1}, {"net.b", 0.6}}, 1, "aten::_to_copy");
  const auto in_float = run_of(1, {{"net.a", 1}, {"net.b", 1}}, 1, "aten::_to_copy");
  for (const Divergence& place : compared(in_float, in_16_bits).places)
    CHECK(place.cause != Cause::kGradient);
}

TEST_CASE("no op call is told where both make the same ones") {
  CHECK(
      compared(run_of(1, {{"net.a", 1}, {"net.b", 1}}), run_of(1, {{"net.a", 1}})).places.empty());
}

}  // namespace
}  // namespace dtypecheck::compare
