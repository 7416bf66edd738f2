#include "runtime/full_model.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <filesystem>

#include "platform/error.h"
#include "runtime/lora.h"
#include "runtime/weights.h"

namespace dtypecheck::runtime {

namespace fs = std::filesystem;

std::vector<TrainedTensor> train_all(Unet& unet, const TrainedPolicy& policy) {
  std::vector<TrainedTensor> trained;
  for (const auto& [name, tensor] : unet.tensors()) {
    TrainedTensor t{name, tensor, tensor};
    t.weight.requires_grad_();
    const bool needs_master = policy.master && tensor.scalar_type() != *policy.master;
    if (needs_master) t.master = tensor.detach().to(*policy.master);
    trained.push_back(std::move(t));
  }
  return trained;
}

static void require(const std::error_code& error, const std::string& path) {
  if (error) throw InputError(fmt::format("{}: {}", path, error.message()));
}

// Everything of the model but the weights that are saved anew.
static void copy_model(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  require(error, to.string());
  fs::recursive_directory_iterator at(from, error), end;
  require(error, from.string());
  for (; at != end; at.increment(error)) {
    require(error, from.string());
    const fs::path part = fs::relative(at->path(), from, error);
    require(error, at->path().string());
    if (at->is_directory()) {
      fs::create_directories(to / part, error);
    } else if (part.parent_path() != "unet" || part.filename() == "config.json") {
      fs::copy_file(at->path(), to / part, error);
    }
    require(error, (to / part).string());
  }
}

void save_full_model(const std::string& model, const std::string& out,
                     const std::vector<TrainedTensor>& trained,
                     const std::vector<at::Tensor>& averages, const TrainedPolicy& policy) {
  const auto tensors = saved_tensors(out, trained, averages, policy);
  const std::string aside = out + ".part";
  std::error_code error;
  fs::remove_all(aside, error);
  try {
    copy_model(model, aside);
    save_tensors(aside + "/unet/diffusion_pytorch_model.safetensors", tensors, {{"format", "pt"}});
    fs::rename(aside, out, error);
    require(error, out);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    throw;
  }
}

}  // namespace dtypecheck::runtime
