// layer_norm_vectors.cpp for AVX512-BF16.
#include "kernels/bfloat16_target.h"

#if DTYPECHECK_ON_BFLOAT16
#include "kernels/layer_norm/layer_norm_vectors.cpp"
#else
#include "kernels/layer_norm/layer_norm.h"
namespace dtypecheck::kernels {
void layer_norm_bfloat16(const LayerNorm& a) { layer_norm_ref(a); }
void layer_norm_backward_bfloat16(const LayerNormBackward& a) { layer_norm_backward_ref(a); }
}  // namespace dtypecheck::kernels
#endif
