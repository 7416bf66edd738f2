#include "kernels/layer_norm/layer_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm/layer_norm_vectors.cpp"
#include <hwy/foreach_target.h>

#include "kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::DTYPECHECK_ISA {
#if DTYPECHECK_VECTORS

void run_layer_norm(const LayerNorm& a) {
  with_numbers(a.x, a.y, [&](const auto* x, auto* y) HWY_ATTR {
    a.has_mean ? normalize<true>(a, x, y) : normalize<false>(a, x, y);
  });
}

void run_layer_norm_backward(const LayerNormBackward& a) {
  with_numbers(a.x, a.dx, [&](const auto* x, auto* dx) HWY_ATTR {
    const auto dy = static_cast<decltype(x)>(a.dy.data);
    a.has_mean ? normalize_backward<true>(a, dy, x, dx) : normalize_backward<false>(a, dy, x, dx);
  });
}

#else
void run_layer_norm(const LayerNorm& a) { layer_norm_ref(a); }
void run_layer_norm_backward(const LayerNormBackward& a) { layer_norm_backward_ref(a); }
#endif
}  // namespace dtypecheck::kernels::DTYPECHECK_ISA
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtypecheck::kernels {

DTYPECHECK_VARIANT(LayerNorm, layer_norm)
DTYPECHECK_VARIANT(LayerNormBackward, layer_norm_backward)

}  // namespace dtypecheck::kernels
#endif
