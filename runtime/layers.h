// layers.h: the layers that SDXL is made of. Each knows the dtypes its part's policy gives it, and
// casts what comes in; where nothing differs a cast is the tensor itself. A dtype that is none: the
// policy does without casts, and the layer takes what comes.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>

namespace dtypecheck::runtime {

using MaybeDtype = std::optional<at::ScalarType>;

// To the dtype, or as it is where that is none or x is undefined.
at::Tensor cast(const at::Tensor& x, MaybeDtype dtype);

// y = x + scale * B A x, beside a frozen linear layer (Hu et al. 2021). A: [rank, in], B: [out,
// rank].
struct LoraLayer {
  at::Tensor down, up;
  double scale = 1;
};

struct Linear {
  at::Tensor weight, bias;  // [out, in], [out] or undefined
  MaybeDtype compute;
  std::shared_ptr<const LoraLayer> lora;
  at::Tensor operator()(const at::Tensor& x) const;
};

struct Conv2d {
  at::Tensor weight, bias;  // [out, in, size, size], [out]
  MaybeDtype compute;
  int64_t stride, padding;
  at::Tensor operator()(const at::Tensor& x) const;
};

struct LayerNorm {
  at::Tensor weight, bias;  // [width], both of dtype `norm`
  double eps;
  MaybeDtype norm, compute;
  at::Tensor operator()(const at::Tensor& x) const;
};

struct GroupNorm {
  at::Tensor weight, bias;  // [channels], both of dtype `norm`
  int64_t groups;
  double eps;
  MaybeDtype norm, compute;
  at::Tensor operator()(const at::Tensor& x) const;
};

// Without mean and bias (Zhang and Sennrich 2019), as T5 has it.
struct RmsNorm {
  at::Tensor weight;  // [width], of dtype `norm`
  double eps;
  MaybeDtype norm, compute;
  bool fused;  // by an op that wants x and weight in one dtype
  at::Tensor operator()(const at::Tensor& x) const;
};

struct AttentionPolicy {
  MaybeDtype softmax;
  bool fused;  // LibTorch's own, which sums in Float
};

// softmax(q k' / sqrt(width of a head) + mask) v over `heads` equal slices of the last dimension.
// q: [batch, n, width], k and v: [batch, m, width], mask: [n, m] or undefined.
at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t heads,
                     const AttentionPolicy& policy, const at::Tensor& mask = {});

}  // namespace dtypecheck::runtime
