// group_norm.h (Wu and He 2018): as a layer norm (layer_norm.h) of each sample's groups of
// channels, but gamma and beta are of the channel. With n = channels / groups * spatial numbers in
// a group:
//   mean = sum x / n      rstd = 1 / sqrt(sum (x - mean)² / n + eps)      y = (x - mean) * rstd *
//   gamma + beta
// and backward, with h = dy * gamma and z = (x - mean) * rstd:
//   dx = rstd (h - sum(h) / n - z * sum(h z) / n)
//   dgamma, dbeta = the sums over samples and places of dy * z and of dy
// With `silu` what is written is y * sigmoid(y), and backward is of that.
// x, y, dx, dy: samples x channels x spatial (kChannelsFirst) or samples x spatial x channels, of
// one dtype; gamma, beta and their gradients: channels, each of any. mean and rstd are Float, and
// so is arithmetic, with what layer_norm.h says of that. y may be x, and dx may be dy. Runs on the
// threads of threads.h; the same bits on any number of them.
#pragma once

#include <span>

#include "kernels/element.h"
#include "kernels/variant.h"

namespace dtypecheck::kernels {

struct GroupNorm {
  int64_t samples = 0, channels = 0, spatial = 0, groups = 1;
  Input x;
  Input gamma, beta;  // null: 1 and 0
  double eps = 1e-5;
  Output y;
  float *mean = nullptr, *rstd = nullptr;  // samples x groups; null where backward is not wanted
  Layout layout = Layout::kChannelsFirst;
  bool silu = false;
  const Device* device = nullptr;  // where all of these are on a GPU
};

struct GroupNormBackward {
  int64_t samples = 0, channels = 0, spatial = 0, groups = 1;
  Input dy, x;
  Input gamma;                                   // null: 1
  const float *mean = nullptr, *rstd = nullptr;  // of forward
  Output dx;
  Output dgamma, dbeta;  // null: not wanted
  Layout layout = Layout::kChannelsFirst;
  bool silu = false;
  Input beta;                      // of forward, for silu; null: 0
  const Device* device = nullptr;  // where all of these are on a GPU
};

void group_norm(const GroupNorm& arguments);  // both throw InputError for arguments not as above
void group_norm_backward(const GroupNormBackward& arguments);
std::span<const Variant<GroupNorm>> group_norm_variants();
std::span<const Variant<GroupNormBackward>> group_norm_backward_variants();

void group_norm_ref(const GroupNorm& arguments);
void group_norm_backward_ref(const GroupNormBackward& arguments);

}  // namespace dtypecheck::kernels
