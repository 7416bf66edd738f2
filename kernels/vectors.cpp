#include <hwy/highway.h>

#include "kernels/variant.h"

namespace dtypecheck::kernels {

// Asked once: Highway asks the processor each time, for which a virtual one leaves its guest, for
// 25 us.
bool has_vectors() {
  static const bool has = (hwy::SupportedTargets() & HWY_TARGETS & ~(HWY_SCALAR | HWY_EMU128)) != 0;
  return has;
}

}  // namespace dtypecheck::kernels
