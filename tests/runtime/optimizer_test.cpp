// What parity with diffusers does not reach: half gradients, gradients that are not finite,
// masters.
#include "runtime/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "platform/error.h"
#include "runtime/lora.h"

namespace dtypecheck::runtime {

static TrainedTensor with_gradient(const at::Tensor& weight, double gradient) {
  TrainedTensor t{"w", weight.requires_grad_(), weight};
  t.weight.mutable_grad() = at::full(weight.sizes(), gradient, weight.options());
  return t;
}

TEST_CASE("half gradients are unscaled into Float") {
  const double smallest = 0x1p-24;  // of Half; 65536 of them are 2^-8
  std::vector<TrainedTensor> trained = {with_gradient(at::zeros({3}, at::kHalf), smallest)};
  const Gradients gradients = take_gradients(trained, 65536);
  CHECK_FALSE(trained[0].weight.grad().defined());
  const double unscaled = smallest / 65536;
  CHECK(global_norm(gradients) == Approx(unscaled * std::sqrt(3)).epsilon(1e-6));
  trained[0].master = at::zeros({3}, at::kFloat);
  AdamW optimizer(trained, {});
  optimizer.step(trained, gradients);
  CHECK(optimizer.means()[0][0].item<double>() == Approx(0.1 * unscaled).epsilon(1e-6));
}

TEST_CASE("half gradients that are unscaled in Half vanish") {
  std::vector<TrainedTensor> trained = {with_gradient(at::zeros({3}, at::kHalf), 0x1p-24)};
  const Gradients gradients = take_gradients(trained, 65536, at::kHalf);
  CHECK(gradients.tensors[0].scalar_type() == at::kHalf);
  CHECK(global_norm(gradients) == 0);
}

TEST_CASE("a weight without a gradient has zeros") {
  std::vector<TrainedTensor> trained = {{"w", at::ones({2}), at::ones({2})}};
  CHECK(take_gradients(trained, 1).tensors[0].equal(at::zeros({2})));
}

TEST_CASE("the global norm tells NaN and inf") {
  const at::Tensor good = at::full({4}, 2.0f);
  CHECK(global_norm({{good, at::full({1}, 3.0f)}}) == Approx(5));
  CHECK(global_norm({{good, at::full({1}, 3.0f)}, 0.5}) == Approx(2.5));
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    CHECK_FALSE(std::isfinite(global_norm({{good, at::full({1}, bad)}})));
  }
  CHECK(global_norm({}) == 0);
  const at::Tensor pieces = at::full({(1 << 19) + 5}, 2.0f);  // more than one thread's share
  CHECK(global_norm({{pieces}}) == Approx(2 * std::sqrt((1 << 19) + 5)));
}

TEST_CASE("clipping shortens and never lengthens") {
  Gradients gradients{{at::full({4}, 2.0f), at::full({1}, 3.0f)}};
  clip_by_global_norm(gradients, 5, 10);
  CHECK(gradients.factor == 1);
  clip_by_global_norm(gradients, 5, 1);
  CHECK(global_norm(gradients) == Approx(1).epsilon(1e-5));
}

TEST_CASE("the scale halves on inf and doubles after 2000 good steps") {
  GradScaler scaler(true);
  CHECK(scaler.scale() == 65536);
  scaler.update(false);
  CHECK(scaler.scale() == 32768);
  for (int i = 0; i < 1999; ++i) scaler.update(true);
  CHECK(scaler.scale() == 32768);
  scaler.update(true);
  CHECK(scaler.scale() == 65536);
  for (int i = 0; i < 32; ++i) scaler.update(false);
  CHECK_FALSE(scaler.exhausted());
  scaler.update(false);
  CHECK(scaler.exhausted());
  GradScaler off(false);
  off.update(false);
  CHECK(off.scale() == 1);
  CHECK_FALSE(off.exhausted());
}

TEST_CASE("masters keep the steps that BFloat16 weights would lose") {
  const at::Tensor weight = at::ones({8}, at::kBFloat16).requires_grad_();
  std::vector<TrainedTensor> trained = {{"w", weight, at::ones({8}, at::kFloat)}};
  AdamW optimizer(trained, {.rate = 1e-4, .decay = 0});
  for (int i = 0; i < 200; ++i) optimizer.step(trained, {{at::ones({8})}});
  CHECK(trained[0].master[0].item<double>() == Approx(0.98).epsilon(1e-3));
  CHECK(trained[0].weight[0].item<double>() == Approx(0.98).epsilon(0.005));
  CHECK(trained[0].weight.scalar_type() == at::kBFloat16);
}

TEST_CASE("stochastic rounding keeps the mean that rounding to nearest would lose") {
  const auto trained_without_masters = [](std::optional<at::Generator> rounding) {
    const at::Tensor weight = at::ones({4096}, at::kBFloat16);
    std::vector<TrainedTensor> trained = {{"w", weight, weight}};
    AdamW optimizer(trained, {.rate = 1e-4, .decay = 0}, at::kFloat, std::move(rounding));
    for (int i = 0; i < 100; ++i) optimizer.step(trained, {{at::ones({4096})}});
    return weight.to(at::kDouble).mean().item<double>();
  };
  CHECK(trained_without_masters(std::nullopt) == 1);
  CHECK(trained_without_masters(at::detail::createCPUGenerator(1)) == Approx(0.99).epsilon(1e-3));
}

// State that is not Float is for LibTorch's ops, and in Double it hides no difference.
TEST_CASE("the kernel steps as LibTorch's ops do") {
  const at::Generator random = at::detail::createCPUGenerator(3);
  const int64_t n = (1 << 19) + 3;  // in pieces
  const at::Tensor start = at::randn({n}, random), gradient = at::randn({n}, random);
  const auto stepped = [&](at::ScalarType state) {
    std::vector<TrainedTensor> trained = {{"w", start.to(at::kBFloat16), start.clone()}};
    AdamW optimizer(trained, {.rate = 1e-2}, state);
    for (int i = 0; i < 3; ++i) optimizer.step(trained, {{gradient}, 0.25});
    CHECK(trained[0].weight.equal(trained[0].master.to(at::kBFloat16)));
    return trained[0].master;
  };
  CHECK((stepped(at::kFloat) - stepped(at::kDouble)).abs().max().item<double>() < 1e-6);
  CHECK((stepped(at::kFloat) - start).abs().max().item<double>() > 1e-2);
}

TEST_CASE("stochastic rounding leaves what BFloat16 can hold") {
  const at::Tensor exact =
      at::tensor({0.0, 1.0, -1.5, 1e-30, 3e38}, at::kFloat).to(at::kBFloat16).to(at::kFloat);
  const at::Generator random = at::detail::createCPUGenerator(2);
  for (int i = 0; i < 20; ++i) {
    CHECK(round_stochastically(exact, random).to(at::kFloat).equal(exact));
  }
}

TEST_CASE("a LoRA with NaN is not saved") {
  const at::Tensor good = at::ones({2, 2}), bad = at::full({2, 2}, NAN);
  const TrainedPolicy policy{at::kFloat, std::nullopt, at::kFloat};
  CHECK_THROWS_WITH(saved_tensors("lora", {{"a", good, good}, {"b", bad, bad}}, {}, policy),
                    Catch::Matchers::Contains("1 of 2 tensors have NaN or inf, b first"));
  // Half's range ends at 65504: what was finite in Float need not be where it is saved.
  const at::Tensor large = at::full({1}, 1e5);
  CHECK_THROWS_WITH(saved_tensors("lora", {{"a", large, large}}, {}, {at::kFloat, {}, at::kHalf}),
                    Catch::Matchers::Contains("1 of 1 tensors have NaN or inf"));
}

}  // namespace dtypecheck::runtime
