// full_model.h: training every weight of the UNet, and the diffusers folder that comes of it.
#pragma once

#include <string>
#include <vector>

#include "runtime/optimizer.h"
#include "runtime/policy.h"
#include "runtime/unet.h"

namespace dtypecheck::runtime {

// All tensors of the UNet by their names in the file. Those of norms stay in the norms' dtype.
std::vector<TrainedTensor> train_all(Unet& unet, const TrainedPolicy& policy);

// Copies the model's folder to `out` with the UNet in it replaced; made aside and moved into place,
// which must be free. Throws InputError, also when a tensor has NaN or inf.
void save_full_model(const std::string& model, const std::string& out,
                     const std::vector<TrainedTensor>& trained,
                     const std::vector<at::Tensor>& averages, const TrainedPolicy& policy);

}  // namespace dtypecheck::runtime
