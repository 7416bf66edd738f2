// operators.h: kernels/ as operators of LibTorch, dtypecheck::layer_norm and its like: operands in
// Float, Half or BFloat16, each in any of them, arithmetic in Float, each result rounded once, to
// the dtype of `input`; gradients likewise, each in the dtype of its own operand. Where an operand
// is Double, so is the arithmetic. On the CPU, and on CUDA once the kernels for it are loaded
// (docs/kernels.md); torch.compile and fake tensors know them.
//
// Autocast: products take a Float input in its dtype, as LibTorch's do, and weights as they are;
// norms are left alone. Second derivatives of norms and convolutions are LibTorch's, in Double.
// Arguments that do not fit raise c10::Error, which names the operator, the argument, what was
// expected and what came.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include <tuple>
#include <vector>

namespace dtypecheck::operators {

// The optional of LibTorch's own signatures.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
template <class T>
using Optional = std::optional<T>;
#else
template <class T>
using Optional = c10::optional<T>;
#endif

#define DTYPECHECK_OPERATOR __attribute__((visibility("default")))

// ---- norms: as torch.nn.functional's of the same names

// input: [..., *normalized_shape]; weight and bias: normalized_shape.
DTYPECHECK_OPERATOR at::Tensor layer_norm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                                          const Optional<at::Tensor>& weight = {},
                                          const Optional<at::Tensor>& bias = {}, double eps = 1e-5);
// input: [samples, channels, …], which may lie channels last; weight and bias: [channels]. With
// `silu` the result is y * sigmoid(y).
DTYPECHECK_OPERATOR at::Tensor group_norm(const at::Tensor& input, int64_t num_groups,
                                          const Optional<at::Tensor>& weight = {},
                                          const Optional<at::Tensor>& bias = {}, double eps = 1e-5,
                                          bool silu = false);
// eps: that of input's dtype where it is not given.
DTYPECHECK_OPERATOR at::Tensor rms_norm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                                        const Optional<at::Tensor>& weight = {},
                                        Optional<double> eps = {});

// ---- products. `compute`: at::kBFloat16 rounds the factors to that where the processor multiplies
// it (kernels/matmul/matmul.h says what it costs); nothing: as they are.

// input: [..., in]; weight: [out, in]; bias: [out].
DTYPECHECK_OPERATOR at::Tensor linear(const at::Tensor& input, const at::Tensor& weight,
                                      const Optional<at::Tensor>& bias = {},
                                      Optional<at::ScalarType> compute = {});
// As torch.matmul, with what is added to each row.
DTYPECHECK_OPERATOR at::Tensor matmul(const at::Tensor& input, const at::Tensor& other,
                                      const Optional<at::Tensor>& bias = {},
                                      Optional<at::ScalarType> compute = {});
// input: [samples, in, height, width], or without samples; weight: [out, in / groups, u, v]. Lies
// as input does.
DTYPECHECK_OPERATOR at::Tensor conv2d(const at::Tensor& input, const at::Tensor& weight,
                                      const Optional<at::Tensor>& bias = {},
                                      at::IntArrayRef stride = 1, at::IntArrayRef padding = 0,
                                      at::IntArrayRef dilation = 1, int64_t groups = 1,
                                      Optional<at::ScalarType> compute = {});

// ---- lists

// The norm of factor * gradients as one vector, in Double: finite exactly when all of it is.
DTYPECHECK_OPERATOR at::Tensor global_norm(const std::vector<at::Tensor>& gradients,
                                           double factor = 1);
// factor * gradients in Float, and their norm, in one pass.
DTYPECHECK_OPERATOR std::tuple<std::vector<at::Tensor>, at::Tensor> unscale(
    const std::vector<at::Tensor>& gradients, double factor);

struct AdamWOptions {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 1e-2;
  double scale = 1;        // of the gradients: 1 / loss scale, clipping
  Optional<int64_t> seed;  // stochastic rounding, of BFloat16 weights without masters
};
// One step of AdamW, `step` from 1. means, squares and masters are Float; without masters the
// weights themselves are stepped.
DTYPECHECK_OPERATOR void adamw_(const std::vector<at::Tensor>& weights,
                                const std::vector<at::Tensor>& gradients,
                                const std::vector<at::Tensor>& means,
                                const std::vector<at::Tensor>& squares,
                                const std::vector<at::Tensor>& masters, int64_t step,
                                const AdamWOptions& options);

}  // namespace dtypecheck::operators
