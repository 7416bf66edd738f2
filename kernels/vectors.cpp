#include <hwy/highway.h>

#include "kernels/variant.h"

namespace dtypecheck::kernels {

// Asked once: Highway asks the processor each time, for which a virtual one leaves its guest, for
// 25 us.
bool has_vectors() {
  static const bool has = (hwy::SupportedTargets() & HWY_TARGETS & ~(HWY_SCALAR | HWY_EMU128)) != 0;
  return has;
}

bool has_bfloat16_vectors() {
#if defined(__x86_64__) && defined(__GNUC__)
  static const bool has = (hwy::SupportedTargets() & HWY_TARGETS & HWY_AVX3) != 0 &&
                          __builtin_cpu_supports("avx512bf16");
  return has;
#else
  return false;
#endif
}

}  // namespace dtypecheck::kernels
