#include "kernels/device.h"

#include "kernels/layer_norm/layer_norm.h"

namespace dtypecheck::kernels {

bool has_device_kernels() { return DeviceVariant<LayerNorm>::run; }

}  // namespace dtypecheck::kernels
