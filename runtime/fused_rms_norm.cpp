#include "runtime/fused_rms_norm.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <cmath>

namespace dtypecheck::runtime {

template <typename T>
static void normalize_rows(const at::Tensor& input, const at::Tensor& weight, double eps,
                           at::Tensor& output) {
  const int64_t columns = weight.numel();
  const T* x = input.data_ptr<T>();
  const T* gamma = weight.data_ptr<T>();
  T* y = output.data_ptr<T>();
  for (const T* end = x + input.numel(); x != end; x += columns, y += columns) {
    double sum = 0;
    for (int64_t i = 0; i < columns; ++i) sum += static_cast<double>(x[i]) * x[i];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(columns) + eps);
    for (int64_t i = 0; i < columns; ++i) y[i] = static_cast<T>(x[i] * scale * gamma[i]);
  }
}

static at::Tensor run_fused_rms_norm(const at::Tensor& input, const at::Tensor& weight,
                                     double eps) {
  TORCH_CHECK(weight.dim() == 1 && input.dim() > 0 && input.size(-1) == weight.size(0),
              "fused_rms_norm: expected input of width ", weight.numel(), ", got ", input.sizes());
  const at::Tensor rows = input.contiguous();
  at::Tensor output = at::empty_like(rows);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, output.scalar_type(), "fused_rms_norm",
                                  [&] { normalize_rows<scalar_t>(rows, weight, eps, output); });
  return output;
}

TORCH_LIBRARY(sdxl_train, m) {
  m.def("fused_rms_norm(Tensor input, Tensor weight, float eps) -> Tensor", run_fused_rms_norm);
}

at::Tensor fused_rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("sdxl_train::fused_rms_norm", "")
                             .typed<at::Tensor(const at::Tensor&, const at::Tensor&, double)>();
  return op.call(input, weight, eps);
}

}  // namespace dtypecheck::runtime
