#include "runtime/lora.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "core/error.h"
#include "runtime/weights.h"

namespace dtypecheck::runtime {

static TrainedTensor trained(std::string name, const at::Tensor& start,
                             const TrainedPolicy& policy) {
  TrainedTensor t{std::move(name), start.to(policy.stored).requires_grad_(), {}};
  t.master = policy.master ? start.to(*policy.master) : t.weight;
  return t;
}

std::vector<TrainedTensor> add_lora(Unet& unet, int64_t rank, const TrainedPolicy& policy,
                                    const at::Generator& random) {
  std::vector<TrainedTensor> tensors;
  unet.for_each_projection([&](const std::string& name, Linear& layer) {
    const int64_t out = layer.weight.size(0), in = layer.weight.size(1);
    const at::Tensor start = at::randn({rank, in}, random, at::kFloat) / static_cast<double>(rank);
    tensors.push_back(trained("unet." + name + ".lora.down.weight", start, policy));
    const at::Tensor& down = tensors.back().weight;
    auto lora = std::make_shared<LoraLayer>(LoraLayer{down, {}, 1});
    tensors.push_back(
        trained("unet." + name + ".lora.up.weight", at::zeros({out, rank}, at::kFloat), policy));
    lora->up = tensors.back().weight;
    layer.lora = std::move(lora);
  });
  return tensors;
}

void save_lora(const std::string& path, const std::vector<TrainedTensor>& lora,
               const TrainedPolicy& policy) {
  std::map<std::string, at::Tensor> tensors;
  std::vector<std::string> bad;
  for (const TrainedTensor& t : lora) {
    tensors[t.name] = t.master.detach().to(policy.saved);
    if (!tensors[t.name].isfinite().all().item<bool>()) bad.push_back(t.name);
  }
  if (!bad.empty()) {
    throw InputError(
        fmt::format("{}: {} of {} tensors have NaN or inf, {} first; nothing was saved", path,
                    bad.size(), lora.size(), bad.front()));
  }
  save_tensors(path, tensors, {{"format", "pt"}});
}

}  // namespace dtypecheck::runtime
