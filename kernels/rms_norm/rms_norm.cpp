#include "kernels/rms_norm/rms_norm.h"

#include "kernels/norm_arguments.h"

namespace dtypecheck::kernels {

// The variants, each in a file of its name.
void rms_norm_bfloat16(const RmsNorm&);
void rms_norm_backward_bfloat16(const RmsNormBackward&);
void rms_norm_vectors(const RmsNorm&);
void rms_norm_backward_vectors(const RmsNormBackward&);

template <>
DeviceVariant<RmsNorm>::Run DeviceVariant<RmsNorm>::run = nullptr;
template <>
DeviceVariant<RmsNormBackward>::Run DeviceVariant<RmsNormBackward>::run = nullptr;

static constexpr Variant<RmsNorm> kVariants[] = {
    DTYPECHECK_GRID_VARIANT(RmsNorm)  //
    {"bfloat16", in_bfloat16, rms_norm_bfloat16},
    {"vectors", vectors, rms_norm_vectors},
    {"ref", always, rms_norm_ref},
};
static constexpr Variant<RmsNormBackward> kBackwardVariants[] = {
    DTYPECHECK_GRID_VARIANT(RmsNormBackward)  //
    {"bfloat16", in_bfloat16, rms_norm_backward_bfloat16},
    {"vectors", vectors, rms_norm_backward_vectors},
    {"ref", always, rms_norm_backward_ref},
};

std::span<const Variant<RmsNorm>> rms_norm_variants() { return kVariants; }
std::span<const Variant<RmsNormBackward>> rms_norm_backward_variants() { return kBackwardVariants; }

void rms_norm(const RmsNorm& a) {
  const char* const name = "rms_norm";
  require_rows(a, name);
  require_norm(a, name, a.rows == 0);
  run_first(rms_norm_variants(), a);
}

void rms_norm_backward(const RmsNormBackward& a) {
  const char* const name = "rms_norm_backward";
  require_rows(a, name);
  require_norm_backward(a, name, a.rows == 0);
  run_first(rms_norm_backward_variants(), a);
}

}  // namespace dtypecheck::kernels
