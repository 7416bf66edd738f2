// A fused RMS norm as extensions ship it: a plain function for Python, no op of the dispatcher. The
// result is allocated like the input, and every pointer is then asked for in the result's dtype,
// the weight's too.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <torch/csrc/utils/pybind.h>

#include <cmath>

namespace {

template <typename T>
void rms_norm_rows(const at::Tensor& input, const at::Tensor& weight, at::Tensor& output,
                   double eps) {
  const int64_t cols = weight.numel();
  const int64_t rows = input.numel() / cols;
  const T* x = input.data_ptr<T>();
  const T* gamma = weight.data_ptr<T>();
  T* y = output.data_ptr<T>();
  for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
    double sum = 0;
    for (int64_t col = 0; col < cols; ++col) sum += static_cast<double>(x[col]) * x[col];
    const double scale = 1 / std::sqrt(sum / cols + eps);
    for (int64_t col = 0; col < cols; ++col) y[col] = static_cast<T>(x[col] * scale * gamma[col]);
  }
}

at::Tensor rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  TORCH_CHECK(weight.dim() == 1 && input.dim() > 0 && input.size(-1) == weight.size(0),
              "rms_norm: input's last dimension must be weight's length, got ", input.sizes(),
              " and ", weight.sizes());
  TORCH_CHECK(input.is_contiguous() && weight.is_contiguous(),
              "rms_norm: input and weight must be contiguous");
  at::Tensor output = at::empty_like(input);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, output.scalar_type(), "rms_norm",
                                  [&] { rms_norm_rows<scalar_t>(input, weight, output, eps); });
  return output;
}

}  // namespace

PYBIND11_MODULE(fused_rms_norm_cpu, m) { m.def("rms_norm", &rms_norm); }
