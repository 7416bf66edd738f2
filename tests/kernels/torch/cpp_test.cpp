// From C++: norms of 16-bit numbers beside LibTorch's in Double: results and all gradients, in
// sizes that threads share and in others.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <catch2/catch.hpp>
#include <functional>

#include "kernels/torch/operators.h"

namespace dtypecheck::operators {

namespace {

struct Case {
  at::Tensor x, weight, bias, dy;
};

using Norm = std::function<at::Tensor(const Case&)>;

Case make_case(at::IntArrayRef sizes, int64_t channels, at::ScalarType dtype) {
  const at::Generator random = at::detail::createCPUGenerator(1);
  const auto normal = [&](at::IntArrayRef s) { return at::randn(s, random, at::kFloat); };
  return {(normal(sizes) * 2 + 1).to(dtype), normal({channels}), normal({channels}),
          normal(sizes).to(dtype)};
}

// y, and the gradients of x, weight and bias.
std::vector<at::Tensor> run(const Case& c, const Norm& norm, at::ScalarType dtype) {
  const bool as_is = dtype == at::kFloat;
  const auto leaf = [&](const at::Tensor& t) {
    return (as_is ? t : t.to(dtype)).detach().clone().requires_grad_();
  };
  const Case own{leaf(c.x), leaf(c.weight), leaf(c.bias), c.dy};
  const at::Tensor y = norm(own);
  y.backward(c.dy.to(y.scalar_type()));
  return {y.detach(), own.x.grad(), own.weight.grad(), own.bias.grad()};
}

void compare(const Case& c, const Norm& ours, const Norm& theirs) {
  const auto got = run(c, ours, at::kFloat), expected = run(c, theirs, at::kDouble);
  CHECK(got[0].scalar_type() == c.x.scalar_type());
  CHECK(got[2].scalar_type() == at::kFloat);
  for (size_t i = 0; i < got.size(); ++i) {
    // Sums over rows of Float; the rest is rounded once, to 8 or 11 bits.
    const double tolerance = i >= 2 ? 1e-4 : c.x.scalar_type() == at::kHalf ? 1e-3 : 8e-3;
    const double scale = expected[i].abs().max().item<double>();
    CHECK((got[i].to(at::kDouble) - expected[i]).abs().max().item<double>() < tolerance * scale);
  }
}

}  // namespace

TEST_CASE("a layer norm of 16-bit numbers is LibTorch's in Double, rounded") {
  const at::ScalarType dtype = GENERATE(at::kHalf, at::kBFloat16);
  const int64_t rows = GENERATE(1, 77, 1000);
  const Case c = make_case({2, rows, 96}, 96, dtype);
  compare(
      c, [](const Case& o) { return operators::layer_norm(o.x, {96}, o.weight, o.bias, 1e-5); },
      [](const Case& o) { return at::layer_norm(o.x, {96}, o.weight, o.bias, 1e-5); });
}

TEST_CASE("a group norm of 16-bit numbers is LibTorch's in Double, rounded") {
  const at::ScalarType dtype = GENERATE(at::kHalf, at::kBFloat16);
  const int64_t side = GENERATE(1, 5, 40);
  const Case c = make_case({3, 64, side, side + 1}, 64, dtype);
  compare(
      c, [](const Case& o) { return operators::group_norm(o.x, 32, o.weight, o.bias, 1e-5); },
      [](const Case& o) { return at::group_norm(o.x, 32, o.weight, o.bias, 1e-5); });
}

TEST_CASE("each operator is called from C++") {
  at::manual_seed(1);  // what rounding makes of numbers beyond 4 is more than is near here
  const at::Tensor x = at::randn({2, 6, 8}).to(at::kHalf), w = at::randn({5, 8});
  const auto near = [](const at::Tensor& a, const at::Tensor& b) {
    return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>() < 2e-3;
  };
  CHECK(near(operators::linear(x / 8, w, w.select(1, 0)),
             at::linear(x / 8, w.to(at::kHalf), w.select(1, 0).to(at::kHalf))));
  CHECK(near(operators::matmul(x / 8, w.t()), at::matmul(x.to(at::kFloat) / 8, w.t())));
  CHECK(operators::rms_norm(x, {8}).scalar_type() == at::kHalf);
  CHECK(operators::conv2d(x, at::ones({4, 2, 3, 3}), {}, 2, 1).sizes() ==
        at::IntArrayRef({4, 3, 4}));
  CHECK(operators::global_norm({at::full({4}, 3.0)}, 0.5).item<double>() == 3);
  const auto [unscaled, norm] = operators::unscale({at::full({4}, 3.0).to(at::kHalf)}, 0.5);
  CHECK(unscaled[0].equal(at::full({4}, 1.5)));
  const at::Tensor weight = at::zeros({3});
  AdamWOptions options;
  options.rate = 0.5;
  options.decay = 0;
  operators::adamw_({weight}, {at::ones({3})}, {at::zeros({3})}, {at::zeros({3})}, {}, 1, options);
  CHECK(weight.allclose(at::full({3}, -0.5)));
  CHECK_THROWS_WITH(operators::layer_norm(x, {7}),
                    Catch::Contains("Expected input to end in normalized_shape [7]"));
}

}  // namespace dtypecheck::operators
