// group_norm_vectors.cpp for AVX512-BF16.
#include "kernels/bfloat16_target.h"

#if DTYPECHECK_ON_BFLOAT16
#include "kernels/group_norm/group_norm_vectors.cpp"
#else
#include "kernels/group_norm/group_norm.h"
namespace dtypecheck::kernels {
void group_norm_bfloat16(const GroupNorm& a) { group_norm_ref(a); }
void group_norm_backward_bfloat16(const GroupNormBackward& a) { group_norm_backward_ref(a); }
}  // namespace dtypecheck::kernels
#endif
