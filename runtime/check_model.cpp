#include "runtime/check_model.h"

#include <fmt/format.h>

#include <set>

#include "platform/error.h"
#include "runtime/finite.h"
#include "runtime/policy.h"
#include "runtime/safetensors.h"
#include "runtime/schedule.h"
#include "runtime/train.h"
#include "runtime/training_data.h"

namespace dtypecheck::runtime {

static void require_finite(const std::string& where, const StoredTensor& tensor) {
  const auto bad = first_non_finite(tensor);
  if (!bad) return;
  throw InputError(
      fmt::format("{}: {} has NaN or inf, first in its number {}", where, tensor.name, *bad));
}

static CheckedPart count(const std::string& model, const std::string& name, const std::string& stem,
                         bool values) {
  CheckedPart part{name, 0, 0, 0, {}};
  std::set<std::string> dtypes;
  for (const auto& file : open_weights(model + "/" + name, stem)) {
    for (const StoredTensor& tensor : file->tensors()) {
      ++part.tensors;
      part.numbers += tensor.bytes.size() / static_cast<size_t>(dtype_size_bytes(tensor.dtype));
      part.size_bytes += tensor.bytes.size();
      dtypes.insert(dtype_name(tensor.dtype));
      if (values) require_finite(file->path(), tensor);
    }
  }
  part.dtypes.assign(dtypes.begin(), dtypes.end());
  return part;
}

std::vector<CheckedPart> check_model(const std::string& model, bool values) {
  require_model(model);
  const PartPolicy as_stored{kAsStored, kAsStored, kAsStored};
  const PromptEncoder prompt_encoder(model, as_stored);
  const Vae vae(model + "/vae", as_stored);
  const Unet unet(model + "/unet", as_stored);
  require_fit(prompt_encoder, vae, unet.config());
  read_schedule_config(model + "/scheduler");
  return {count(model, "text_encoder", "model", values),
          count(model, "text_encoder_2", "model", values),
          count(model, "vae", "diffusion_pytorch_model", values),
          count(model, "unet", "diffusion_pytorch_model", values)};
}

}  // namespace dtypecheck::runtime
