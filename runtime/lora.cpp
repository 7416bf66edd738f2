#include "runtime/lora.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "platform/error.h"
#include "runtime/weights.h"

namespace dtypecheck::runtime {

static TrainedTensor trained(std::string name, const at::Tensor& start_on_cpu, at::Device device,
                             const TrainedPolicy& policy) {
  const at::Tensor start = start_on_cpu.to(device);
  TrainedTensor t{std::move(name), start.to(policy.stored).requires_grad_(), {}};
  t.master = policy.master ? start.to(*policy.master) : t.weight;
  return t;
}

std::vector<TrainedTensor> add_lora(Unet& unet, int64_t rank, const TrainedPolicy& policy,
                                    const at::Generator& random) {
  std::vector<TrainedTensor> tensors;
  unet.for_each_projection([&](const std::string& name, Linear& layer) {
    const int64_t out = layer.weight.size(0), in = layer.weight.size(1);
    const at::Device device = layer.weight.device();
    const at::Tensor start = at::randn({rank, in}, random, at::kFloat) / static_cast<double>(rank);
    tensors.push_back(trained("unet." + name + ".lora.down.weight", start, device, policy));
    const at::Tensor& down = tensors.back().weight;
    auto lora = std::make_shared<LoraLayer>(LoraLayer{down, {}, 1});
    tensors.push_back(trained("unet." + name + ".lora.up.weight",
                              at::zeros({out, rank}, at::kFloat), device, policy));
    lora->up = tensors.back().weight;
    layer.lora = std::move(lora);
  });
  return tensors;
}

std::map<std::string, at::Tensor> saved_tensors(const std::string& path,
                                                const std::vector<TrainedTensor>& trained,
                                                const std::vector<at::Tensor>& averages,
                                                const TrainedPolicy& policy) {
  std::map<std::string, at::Tensor> tensors;
  std::vector<std::string> bad;
  for (size_t i = 0; i < trained.size(); ++i) {
    const at::Tensor& from = averages.empty() ? trained[i].master : averages[i];
    const at::Tensor saved = from.detach().to(policy.saved);
    if (!saved.isfinite().all().item<bool>()) bad.push_back(trained[i].name);
    tensors[trained[i].name] = saved;
  }
  if (bad.empty()) return tensors;
  throw InputError(fmt::format("{}: {} of {} tensors have NaN or inf, {} first; nothing was saved",
                               path, bad.size(), trained.size(), bad.front()));
}

// down_blocks.1.attentions.0 is input_blocks.4.1 in the first SDXL's own names,
// mid_block.attentions.0 middle_block.1, up_blocks.0.attentions.2 output_blocks.2.1.
static std::string first_name_of(const std::string& module, int64_t layers_per_block) {
  static const std::regex block("(down|up)_blocks\\.([0-9]+)\\.attentions\\.([0-9]+)\\.(.*)");
  static const std::string middle = "mid_block.attentions.0.";
  std::smatch match;
  if (module.starts_with(middle)) return "middle_block.1." + module.substr(middle.size());
  if (!std::regex_match(module, match, block)) return module;
  const bool is_down = match[1] == "down";
  const int64_t number =
      std::stoll(match[2]) * (layers_per_block + 1) + std::stoll(match[3]) + (is_down ? 1 : 0);
  return fmt::format("{}_blocks.{}.1.{}", is_down ? "input" : "output", number, match[4].str());
}

std::map<std::string, at::Tensor> named_as_kohya(const std::map<std::string, at::Tensor>& lora,
                                                 int64_t layers_per_block) {
  static const std::string prefix = "unet.", down = ".lora.down.weight", up = ".lora.up.weight";
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : lora) {
    const bool is_down = name.ends_with(down);
    const size_t end = name.size() - (is_down ? down : up).size();
    const std::string module = name.substr(prefix.size(), end - prefix.size());
    std::string kohya = "lora_unet_" + first_name_of(module, layers_per_block);
    std::replace(kohya.begin(), kohya.end(), '.', '_');
    tensors[kohya + (is_down ? ".lora_down.weight" : ".lora_up.weight")] = tensor;
    if (is_down) tensors[kohya + ".alpha"] = at::full({}, tensor.size(0), tensor.options());
  }
  return tensors;
}

}  // namespace dtypecheck::runtime
