// rms_norm_vectors.cpp for AVX512-BF16.
#include "kernels/bfloat16_target.h"

#if DTYPECHECK_ON_BFLOAT16
#include "kernels/rms_norm/rms_norm_vectors.cpp"
#else
#include "kernels/rms_norm/rms_norm.h"
namespace dtypecheck::kernels {
void rms_norm_bfloat16(const RmsNorm& a) { rms_norm_ref(a); }
void rms_norm_backward_bfloat16(const RmsNormBackward& a) { rms_norm_backward_ref(a); }
}  // namespace dtypecheck::kernels
#endif
