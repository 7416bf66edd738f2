#include "runtime/layers.h"

#include <ATen/ATen.h>
#include <torch/version.h>

#include <cmath>

#include "kernels/torch/operators.h"
#include "platform/error.h"
#include "runtime/fused_rms_norm.h"

namespace dtypecheck::runtime {

at::Tensor cast(const at::Tensor& x, MaybeDtype dtype) {
  // Looked at here: where nothing differs, LibTorch's answer is x too, but a call of its
  // dispatcher.
  const bool fits = !dtype || !x.defined() || x.scalar_type() == *dtype;
  return fits ? x : x.to(*dtype);
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  const at::Tensor in = cast(x, compute);
  if (!lora) return at::linear(in, cast(weight, compute), cast(bias, compute));
  // As matrices, so that scale * B A x is added where W x lies.
  const at::Tensor rows = in.reshape({-1, in.size(-1)});
  at::Tensor y = at::linear(rows, cast(weight, compute), cast(bias, compute));
  const at::Tensor inner = at::mm(rows, cast(lora->down, compute).t());
  y.addmm_(inner, cast(lora->up, compute).t(), 1, lora->scale);
  std::vector<int64_t> shape = in.sizes().vec();
  shape.back() = weight.size(0);
  return y.view(shape);
}

at::Tensor Conv2d::operator()(const at::Tensor& x) const {
  return at::conv2d(cast(x, compute), cast(weight, compute), cast(bias, compute), stride, padding);
}

// 16 bits in and out, normalised in Float as the weights are: read, normalised and rounded in one
// pass, where LibTorch's ops need a Float copy of what goes in, keep that for the backward pass,
// and leave another.
static bool is_for_operators(const at::Tensor& x, MaybeDtype norm, MaybeDtype compute) {
  const bool is_low = x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16;
  return is_low && compute == x.scalar_type() && norm == at::kFloat && x.device().is_cpu();
}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  if (is_for_operators(x, norm, compute))
    return operators::layer_norm(x, weight.sizes(), weight, bias, eps);
  return cast(at::layer_norm(cast(x, norm), weight.sizes(), weight, bias, eps), compute);
}

at::Tensor GroupNorm::operator()(const at::Tensor& x) const {
  if (is_for_operators(x, norm, compute))
    return operators::group_norm(x, groups, weight, bias, eps);
  return cast(at::group_norm(cast(x, norm), groups, weight, bias, eps), compute);
}

at::Tensor RmsNorm::operator()(const at::Tensor& x) const {
  const at::Tensor in = cast(x, norm);
  if (fused) return cast(fused_rms_norm(in, weight, eps), compute);
  const at::Tensor scale = (in * in).mean(-1, /*keepdim=*/true).add(eps).rsqrt();
  return cast(in * scale * weight, compute);
}

// [batch, n, heads * width] to [batch, heads, n, width]
static at::Tensor split_heads(const at::Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

#if TORCH_VERSION_MAJOR >= 2
static at::Tensor fused_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  int64_t heads, const at::Tensor& mask) {
  std::optional<at::Tensor> added;
  if (mask.defined()) added = mask.to(q.scalar_type());
  return at::scaled_dot_product_attention(split_heads(q, heads), split_heads(k, heads),
                                          split_heads(v, heads), added)
      .transpose(1, 2)
      .reshape(q.sizes());
}
#else
static at::Tensor fused_attention(const at::Tensor&, const at::Tensor&, const at::Tensor&, int64_t,
                                  const at::Tensor&) {
  throw InputError("attention fused: LibTorch " TORCH_VERSION " has none; take plain");
}
#endif

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t heads,
                     const AttentionPolicy& policy, const at::Tensor& mask) {
  if (policy.fused) return fused_attention(q, k, v, heads, mask);
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(2) / heads));
  // Scaled before the product: in Half, q k' may be too large for its range.
  at::Tensor scores =
      at::matmul(split_heads(q * scale, heads), split_heads(k, heads).transpose(2, 3));
  scores = cast(scores, policy.softmax);
  if (mask.defined()) scores = scores + mask.to(scores.scalar_type());
  const at::Tensor weights = at::softmax(scores, -1).to(v.scalar_type());
  return at::matmul(weights, split_heads(v, heads)).transpose(1, 2).reshape(q.sizes());
}

}  // namespace dtypecheck::runtime
