#include "kernels/layer_norm/layer_norm.h"

namespace dtypecheck::kernels {

static constexpr Variant<LayerNorm> kVariants[] = {
    {"vectors", vectors, layer_norm_vectors},
    {"ref", always, layer_norm_ref},
};
static constexpr Variant<LayerNormBackward> kBackwardVariants[] = {
    {"vectors", vectors, layer_norm_backward_vectors},
    {"ref", always, layer_norm_backward_ref},
};

std::span<const Variant<LayerNorm>> layer_norm_variants() { return kVariants; }
std::span<const Variant<LayerNormBackward>> layer_norm_backward_variants() {
  return kBackwardVariants;
}

void layer_norm(const LayerNorm& a) {
  const char* const name = "layer_norm";
  require(a.rows >= 0 && a.cols >= 1, name, "rows of 0 or more and cols of 1 or more");
  require_eps(a.eps, name);
  require_numbers(a.x, name, "x", a.rows == 0);
  require_numbers(a.y, name, "y", a.rows == 0);
  require_same_dtype(a.x.dtype, a.y.dtype, name, "x and y");
  require_numbers(a.gamma, name, "gamma", /*optional=*/true);
  require_numbers(a.beta, name, "beta", /*optional=*/true);
  run_first(layer_norm_variants(), a);
}

void layer_norm_backward(const LayerNormBackward& a) {
  const char* const name = "layer_norm_backward";
  require(a.rows >= 0 && a.cols >= 1, name, "rows of 0 or more and cols of 1 or more");
  require_numbers(a.dy, name, "dy", a.rows == 0);
  require_numbers(a.x, name, "x", a.rows == 0);
  require_numbers(Input{a.mean}, name, "mean", a.rows == 0);
  require_numbers(Input{a.rstd}, name, "rstd", a.rows == 0);
  require_numbers(a.dx, name, "dx", a.rows == 0);
  require_same_dtype(a.x.dtype, a.dy.dtype, name, "x and dy");
  require_same_dtype(a.x.dtype, a.dx.dtype, name, "x and dx");
  require_numbers(a.gamma, name, "gamma", /*optional=*/true);
  require_numbers(a.dgamma, name, "dgamma", /*optional=*/true);
  require_numbers(a.dbeta, name, "dbeta", /*optional=*/true);
  run_first(layer_norm_backward_variants(), a);
}

}  // namespace dtypecheck::kernels
