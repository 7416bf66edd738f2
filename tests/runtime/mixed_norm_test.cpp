// Norms of 16-bit numbers beside LibTorch's in Double: results and all gradients, in sizes that
// threads share and in others.
#include "runtime/mixed_norm.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <catch2/catch.hpp>
#include <functional>

namespace dtypecheck::runtime {

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
      c, [](const Case& o) { return mixed_layer_norm(o.x, o.weight, o.bias, 1e-5); },
      [](const Case& o) { return at::layer_norm(o.x, {96}, o.weight, o.bias, 1e-5); });
}

TEST_CASE("a group norm of 16-bit numbers is LibTorch's in Double, rounded") {
  const at::ScalarType dtype = GENERATE(at::kHalf, at::kBFloat16);
  const int64_t side = GENERATE(1, 5, 40);
  const Case c = make_case({3, 64, side, side + 1}, 64, dtype);
  compare(
      c, [](const Case& o) { return mixed_group_norm(o.x, 32, o.weight, o.bias, 1e-5); },
      [](const Case& o) { return at::group_norm(o.x, 32, o.weight, o.bias, 1e-5); });
}

TEST_CASE("what is not contiguous is normalised all the same") {
  const Case c = make_case({64, 30, 2}, 64, at::kBFloat16);
  const at::Tensor x = c.x.permute({2, 1, 0});
  CHECK(mixed_layer_norm(x, c.weight, c.bias, 1e-5)
            .equal(mixed_layer_norm(x.contiguous(), c.weight, c.bias, 1e-5)));
}

TEST_CASE("mixed norms are for 16 bits in, Float within and the same 16 bits out") {
  const at::Tensor low = at::zeros({2}, at::kBFloat16);
  CHECK(is_for_mixed_norm(low, at::kFloat, at::kBFloat16));
  CHECK_FALSE(is_for_mixed_norm(low, at::kFloat, at::kHalf));
  CHECK_FALSE(is_for_mixed_norm(low, at::kFloat, at::kFloat));
  CHECK_FALSE(is_for_mixed_norm(low, at::kBFloat16, at::kBFloat16));
  CHECK_FALSE(is_for_mixed_norm(low, std::nullopt, std::nullopt));
  CHECK_FALSE(is_for_mixed_norm(at::zeros({2}), at::kFloat, at::kFloat));
}

}  // namespace dtypecheck::runtime
