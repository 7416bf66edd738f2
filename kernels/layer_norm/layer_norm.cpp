#include "kernels/layer_norm/layer_norm.h"

#include "kernels/norm_arguments.h"

namespace dtypecheck::kernels {

// The variants, each in a file of its name.
void layer_norm_bfloat16(const LayerNorm&);
void layer_norm_backward_bfloat16(const LayerNormBackward&);
void layer_norm_vectors(const LayerNorm&);
void layer_norm_backward_vectors(const LayerNormBackward&);

template <>
DeviceVariant<LayerNorm>::Run DeviceVariant<LayerNorm>::run = nullptr;
template <>
DeviceVariant<LayerNormBackward>::Run DeviceVariant<LayerNormBackward>::run = nullptr;

static constexpr Variant<LayerNorm> kVariants[] = {
    DTYPECHECK_GRID_VARIANT(LayerNorm)  //
    {"bfloat16", in_bfloat16, layer_norm_bfloat16},
    {"vectors", vectors, layer_norm_vectors},
    {"ref", always, layer_norm_ref},
};
static constexpr Variant<LayerNormBackward> kBackwardVariants[] = {
    DTYPECHECK_GRID_VARIANT(LayerNormBackward)  //
    {"bfloat16", in_bfloat16, layer_norm_backward_bfloat16},
    {"vectors", vectors, layer_norm_backward_vectors},
    {"ref", always, layer_norm_backward_ref},
};

std::span<const Variant<LayerNorm>> layer_norm_variants() { return kVariants; }
std::span<const Variant<LayerNormBackward>> layer_norm_backward_variants() {
  return kBackwardVariants;
}

void layer_norm(const LayerNorm& a) {
  const char* const name = "layer_norm";
  require_rows(a, name);
  require_norm(a, name, a.rows == 0);
  require_numbers(a.beta, name, "beta", /*optional=*/true);
  run_first(layer_norm_variants(), a);
}

void layer_norm_backward(const LayerNormBackward& a) {
  const char* const name = "layer_norm_backward";
  require_rows(a, name);
  require_norm_backward(a, name, a.rows == 0);
  require_numbers(Input{a.mean}, name, "mean", a.rows == 0 || !a.has_mean);
  require_numbers(a.dbeta, name, "dbeta", /*optional=*/true);
  run_first(layer_norm_backward_variants(), a);
}

}  // namespace dtypecheck::kernels
