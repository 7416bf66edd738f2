#include "runtime/layers.h"

#include <ATen/ATen.h>

#include <cmath>

namespace dtypecheck::runtime {

static at::Tensor cast(const at::Tensor& x, at::ScalarType dtype) {
  return x.defined() ? x.to(dtype) : x;
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  const at::Tensor in = x.to(compute);
  const at::Tensor y = at::linear(in, weight.to(compute), cast(bias, compute));
  if (!lora) return y;
  const at::Tensor inner = at::linear(in, lora->down.to(compute));
  return y + at::linear(inner, lora->up.to(compute)) * lora->scale;
}

at::Tensor Conv2d::operator()(const at::Tensor& x) const {
  return at::conv2d(x.to(compute), weight.to(compute), cast(bias, compute), stride, padding);
}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  return at::layer_norm(x.to(norm), weight.sizes(), weight, bias, eps).to(compute);
}

at::Tensor GroupNorm::operator()(const at::Tensor& x) const {
  return at::group_norm(x.to(norm), groups, weight, bias, eps).to(compute);
}

// [batch, n, heads * width] to [batch, heads, n, width]
static at::Tensor split_heads(const at::Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t heads,
                     at::ScalarType softmax_dtype, const at::Tensor& mask) {
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(2) / heads));
  // Scaled before the product: in Half, q k' may be too large for its range.
  at::Tensor scores =
      at::matmul(split_heads(q * scale, heads), split_heads(k, heads).transpose(2, 3));
  scores = scores.to(softmax_dtype);
  if (mask.defined()) scores = scores + mask;
  const at::Tensor weights = at::softmax(scores, -1).to(v.scalar_type());
  return at::matmul(weights, split_heads(v, heads)).transpose(1, 2).reshape(q.sizes());
}

}  // namespace dtypecheck::runtime
