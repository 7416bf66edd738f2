// The kernels beside LibTorch's own arithmetic: of the same pair of dtypes where it takes the pair,
// and in Float. Backward in Float alone: of Half x with Float weights LibTorch rounds the weights'
// gradients to Half.
#include <ATen/Functions.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "kernels/adamw/adamw.h"
#include "kernels/unscale/unscale.h"
#include "tests/kernels/norm_numbers.h"

namespace dtypecheck::kernels {

static at::ScalarType of(Dtype dtype) {
  return static_cast<at::ScalarType>(dtype);
}  // the numbers are c10's

static at::Tensor tensor_of(Numbers& numbers, at::IntArrayRef sizes) {
  return at::from_blob(numbers.data(), sizes, at::dtype(of(numbers.dtype()))).clone();
}

static void check_near(const Numbers& found, const at::Tensor& expected, double tolerance) {
  const at::Tensor flat = expected.to(at::kDouble).flatten().contiguous();
  const double* const data = flat.data_ptr<double>();
  check_near(found, std::vector<double>(data, data + flat.numel()), tolerance);
}

TEST_CASE("conversions are c10's") {
  std::minstd_rand random(1);
  for (int i = 0; i < 1 << 20; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(random()) << 1 ^
                                             static_cast<uint32_t>(random()));
    if (std::isnan(value)) continue;
    if (float_to_half(value) != c10::Half(value).x) FAIL(value);
    if (float_to_bfloat16(value) != c10::BFloat16(value).x) FAIL(value);
  }
}

struct Norm : NormNumbers {
  Norm(Dtype of_x, Dtype of_weights, int64_t size, int64_t channels, int64_t groups)
      : NormNumbers(of_x, of_weights, size, channels, groups),
        taken_by_libtorch(of_x == of_weights || of_weights == Dtype::kFloat) {
    fill(3, 2, 0, 0.3f);
  }
  bool taken_by_libtorch;
};

template <class Check>
static void for_each_pair(Check check) {
  for (const Dtype x : kDtypes) {
    for (const Dtype weights : kDtypes) {
      INFO(dtype_name(x) << " by " << dtype_name(weights));
      check(x, weights);
    }
  }
}

TEST_CASE("layer_norm beside LibTorch's") {
  for_each_pair([](Dtype of_x, Dtype of_weights) {
    const int64_t rows = 37, cols = 321;
    Norm n(of_x, of_weights, rows * cols, cols, rows);
    layer_norm(n.layer_norm(rows, cols, 1e-3));
    layer_norm_backward(n.layer_norm_backward(rows, cols));
    const at::Tensor x = tensor_of(n.x, {rows, cols}),
                     dy = tensor_of(n.dy, {rows, cols}).to(at::kFloat);
    const at::Tensor gamma = tensor_of(n.gamma, {cols}), beta = tensor_of(n.beta, {cols});
    const at::Tensor wide = x.to(at::kFloat), wide_gamma = gamma.to(at::kFloat),
                     wide_beta = beta.to(at::kFloat);
    if (n.taken_by_libtorch) {
      check_near(n.y, std::get<0>(at::native_layer_norm(x, {cols}, gamma, beta, 1e-3)), 1e-5);
    }
    const auto [y, mean, rstd] = at::native_layer_norm(wide, {cols}, wide_gamma, wide_beta, 1e-3);
    const auto [dx, dgamma, dbeta] = at::native_layer_norm_backward(
        dy, wide, {cols}, mean, rstd, wide_gamma, wide_beta, {true, true, true});
    check_near(n.y, y, 1e-5);
    check_near(n.dx, dx, 1e-5);
    check_near(n.dgamma, dgamma, 1e-4);
    check_near(n.dbeta, dbeta, 1e-4);
  });
}

TEST_CASE("group_norm beside LibTorch's") {
  for_each_pair([](Dtype of_x, Dtype of_weights) {
    const int64_t samples = 2, channels = 12, spatial = 81, groups = 3;
    Norm n(of_x, of_weights, samples * channels * spatial, channels, samples * groups);
    group_norm(n.group_norm(samples, channels, spatial, groups, 1e-3));
    group_norm_backward(n.group_norm_backward(samples, channels, spatial, groups));
    const at::Tensor x = tensor_of(n.x, {samples, channels, 9, 9});
    const at::Tensor dy = tensor_of(n.dy, {samples, channels, 9, 9}).to(at::kFloat),
                     wide = x.to(at::kFloat);
    const at::Tensor gamma = tensor_of(n.gamma, {channels}), beta = tensor_of(n.beta, {channels});
    const at::Tensor wide_gamma = gamma.to(at::kFloat), wide_beta = beta.to(at::kFloat);
    if (n.taken_by_libtorch) {
      const at::Tensor there = std::get<0>(
          at::native_group_norm(x, gamma, beta, samples, channels, spatial, groups, 1e-3));
      check_near(n.y, there,
                 2 * rounding_of(of_x, 8));  // its scale and offset are rounded to x's dtype
    }
    const auto [y, mean, rstd] = at::native_group_norm(wide, wide_gamma, wide_beta, samples,
                                                       channels, spatial, groups, 1e-3);
    const auto [dx, dgamma, dbeta] = at::native_group_norm_backward(
        dy, wide, mean, rstd, wide_gamma, samples, channels, spatial, groups, {true, true, true});
    // LibTorch multiplies by rstd * gamma, where we subtract the mean first.
    check_near(n.y, y, 1e-5);
    check_near(n.dx, dx, 1e-5);
    check_near(n.dgamma, dgamma, 1e-4);
    check_near(n.dbeta, dbeta, 1e-4);
  });
}

TEST_CASE("rms_norm beside LibTorch's") {
  for_each_pair([](Dtype of_x, Dtype of_weights) {
    const int64_t rows = 37, cols = 321;
    Norm n(of_x, of_weights, rows * cols, cols, rows);
    layer_norm(n.rms_norm(rows, cols, 1e-3));
    layer_norm_backward(n.rms_norm_backward(rows, cols));
    const at::Tensor x = tensor_of(n.x, {rows, cols}).to(at::kFloat).requires_grad_();
    const at::Tensor gamma = tensor_of(n.gamma, {cols}).to(at::kFloat).requires_grad_();
    const at::Tensor y = at::rms_norm(x, {cols}, gamma, 1e-3);
    y.backward(tensor_of(n.dy, {rows, cols}).to(at::kFloat));
    check_near(n.y, y.detach(), 1e-5);
    check_near(n.dx, x.grad(), 1e-5);
    check_near(n.dgamma, gamma.grad(), 1e-4);
  });
}

TEST_CASE("adamw steps masters as LibTorch's fused AdamW does") {
  for_each_pair([](Dtype of_weight, Dtype of_gradient) {
    const int64_t size = 1003;
    Numbers master(Dtype::kFloat, size), weight(of_weight, size), gradient(of_gradient, size);
    Numbers mean(Dtype::kFloat, size), square(Dtype::kFloat, size);
    master.fill_normal(0, 0.1f, 1);
    const at::Tensor expected = tensor_of(master, {size});
    const at::Tensor mean_there = at::zeros({size}), square_there = at::zeros({size}),
                     step_there = at::zeros({});
    for (int64_t step = 1; step <= 20; ++step) {
      gradient.fill_normal(0, 1, static_cast<unsigned>(step));
      AdamW a{size,          weight.output(), master.floats(), gradient.input(),
              mean.floats(), square.floats()};
      a.step = step;
      a.rate = 1e-3;
      adamw(a);
      step_there.add_(1);
      at::_fused_adamw_({expected}, {tensor_of(gradient, {size}).to(at::kFloat)}, {mean_there},
                        {square_there}, {}, {step_there}, 1e-3, 0.9, 0.999, 1e-2, 1e-8, false,
                        false);
    }
    check_near(master, expected, 1e-6);
    check_near(mean, mean_there, 1e-6);
    check_near(square, square_there, 1e-6);
    check_near(weight, expected.to(of(of_weight)), 1e-6);
  });
}

TEST_CASE("unscale beside a cast, a product and a norm") {
  for (const Dtype dtype : kDtypes) {
    Numbers x(dtype, 5003), y(Dtype::kFloat, 5003);
    x.fill_normal(0, 100, 1);
    double sum = 0;
    unscale({5003, x.input(), 1 / 1024.f, y.floats(), &sum});
    const at::Tensor expected = tensor_of(x, {5003}).to(at::kFloat).mul_(1 / 1024.f);
    check_near(y, expected, 0);
    CHECK(std::sqrt(sum) == Approx(expected.to(at::kDouble).norm().item<double>()).epsilon(1e-9));
  }
}

}  // namespace dtypecheck::kernels
