#include "kernels/rms_norm/rms_norm.h"

#include "kernels/layer_norm/layer_norm.h"
#include "kernels/norm_arguments.h"

namespace dtypecheck::kernels {

// Those of the layer norm, which leave out the mean.
void layer_norm_bfloat16(const LayerNorm&);
void layer_norm_backward_bfloat16(const LayerNormBackward&);
void layer_norm_vectors(const LayerNorm&);
void layer_norm_backward_vectors(const LayerNormBackward&);

static LayerNorm as_layer_norm(const RmsNorm& a) {
  return {.rows = a.rows,
          .cols = a.cols,
          .x = a.x,
          .gamma = a.gamma,
          .beta = {},
          .eps = a.eps,
          .y = a.y,
          .mean = nullptr,
          .rstd = a.rstd,
          .device = a.device,
          .has_mean = false};
}

static LayerNormBackward as_layer_norm(const RmsNormBackward& a) {
  return {.rows = a.rows,
          .cols = a.cols,
          .dy = a.dy,
          .x = a.x,
          .gamma = a.gamma,
          .mean = nullptr,
          .rstd = a.rstd,
          .dx = a.dx,
          .dgamma = a.dgamma,
          .dbeta = {},
          .device = a.device,
          .has_mean = false};
}

template <auto kRun, class Arguments>
static void run(const Arguments& a) {
  kRun(as_layer_norm(a));
}

template <>
DeviceVariant<RmsNorm>::Run DeviceVariant<RmsNorm>::run =
    kernels::run<run_on_device<LayerNorm>, RmsNorm>;
template <>
DeviceVariant<RmsNormBackward>::Run DeviceVariant<RmsNormBackward>::run =
    kernels::run<run_on_device<LayerNormBackward>, RmsNormBackward>;

void rms_norm_ref(const RmsNorm& a) { run<layer_norm_ref>(a); }
void rms_norm_backward_ref(const RmsNormBackward& a) { run<layer_norm_backward_ref>(a); }

static constexpr Variant<RmsNorm> kVariants[] = {
    DTYPECHECK_GRID_VARIANT(RmsNorm)  //
    {"bfloat16", in_bfloat16, run<layer_norm_bfloat16, RmsNorm>},
    {"vectors", vectors, run<layer_norm_vectors, RmsNorm>},
    {"ref", always, rms_norm_ref},
};
static constexpr Variant<RmsNormBackward> kBackwardVariants[] = {
    DTYPECHECK_GRID_VARIANT(RmsNormBackward)  //
    {"bfloat16", in_bfloat16, run<layer_norm_backward_bfloat16, RmsNormBackward>},
    {"vectors", vectors, run<layer_norm_backward_vectors, RmsNormBackward>},
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
