#include "kernels/cuda/rows.h"

namespace dtypecheck::kernels {

[[maybe_unused]] static const bool are_loaded =
    (DeviceVariant<LayerNorm>::run = cuda::normalize_rows<true>,
     DeviceVariant<LayerNormBackward>::run = cuda::normalize_rows_backward<true>, true);

}  // namespace dtypecheck::kernels
