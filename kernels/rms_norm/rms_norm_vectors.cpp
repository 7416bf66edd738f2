#include "kernels/rms_norm/as_layer_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rms_norm/rms_norm_vectors.cpp"
#include <hwy/foreach_target.h>

#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::DTYPECHECK_ISA {
#if DTYPECHECK_VECTORS

void run_rms_norm(const RmsNorm& a) {
  const LayerNorm same = as_layer_norm(a);
  with_numbers(a.x, a.y, [&](const auto* x, auto* y) HWY_ATTR { normalize<false>(same, x, y); });
}

void run_rms_norm_backward(const RmsNormBackward& a) {
  const LayerNormBackward same = as_layer_norm(a);
  with_numbers(a.x, a.dx, [&](const auto* x, auto* dx) HWY_ATTR {
    normalize_backward<false>(same, static_cast<decltype(x)>(a.dy.data), x, dx);
  });
}

#else
void run_rms_norm(const RmsNorm& a) { rms_norm_ref(a); }
void run_rms_norm_backward(const RmsNormBackward& a) { rms_norm_backward_ref(a); }
#endif
}  // namespace dtypecheck::kernels::DTYPECHECK_ISA
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtypecheck::kernels {

DTYPECHECK_VARIANT(RmsNorm, rms_norm)
DTYPECHECK_VARIANT(RmsNormBackward, rms_norm_backward)

}  // namespace dtypecheck::kernels
#endif
