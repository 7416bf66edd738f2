#include "kernels/cuda/rows.h"
#include "kernels/rms_norm/as_layer_norm.h"

namespace dtypecheck::kernels {

static void rms_norm_cuda(const RmsNorm& a) { cuda::normalize_rows<false>(as_layer_norm(a)); }

static void rms_norm_backward_cuda(const RmsNormBackward& a) {
  cuda::normalize_rows_backward<false>(as_layer_norm(a));
}

[[maybe_unused]] static const bool are_loaded =
    (DeviceVariant<RmsNorm>::run = rms_norm_cuda,
     DeviceVariant<RmsNormBackward>::run = rms_norm_backward_cuda, true);

}  // namespace dtypecheck::kernels
