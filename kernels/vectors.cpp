#include <hwy/highway.h>

#include "kernels/variant.h"

namespace dtypecheck::kernels {

bool has_vectors() {
  return (hwy::SupportedTargets() & HWY_TARGETS & ~(HWY_SCALAR | HWY_EMU128)) != 0;
}

}  // namespace dtypecheck::kernels
