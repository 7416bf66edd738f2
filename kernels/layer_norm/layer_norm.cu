#include "kernels/cuda/rows.h"

namespace dtypecheck::kernels {

static void layer_norm_cuda(const LayerNorm& a) {
  a.has_mean ? cuda::normalize_rows<true>(a) : cuda::normalize_rows<false>(a);
}

static void layer_norm_backward_cuda(const LayerNormBackward& a) {
  a.has_mean ? cuda::normalize_rows_backward<true>(a) : cuda::normalize_rows_backward<false>(a);
}

[[maybe_unused]] static const bool are_loaded =
    (DeviceVariant<LayerNorm>::run = layer_norm_cuda,
     DeviceVariant<LayerNormBackward>::run = layer_norm_backward_cuda, true);

}  // namespace dtypecheck::kernels
