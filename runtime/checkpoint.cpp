#include "runtime/checkpoint.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "platform/error.h"
#include "runtime/json_file.h"
#include "runtime/weights.h"

namespace dtypecheck::runtime {

static constexpr const char* kKind = "sdxl-train checkpoint 1";

namespace {

using Tensors = std::map<std::string, at::Tensor>;

// The tensors of the state, by what they are called in the file; those of one role have the names
// of what is trained.
Tensors tensors_of(const TrainingState& state) {
  Tensors tensors;
  const auto add = [&](const char* role, const std::vector<at::Tensor>& of_trained) {
    for (size_t i = 0; i < of_trained.size(); ++i) {
      tensors[fmt::format("{}.{}", role, state.trained[i].name)] = of_trained[i];
    }
  };
  for (const TrainedTensor& t : state.trained) {
    tensors["weight." + t.name] = t.weight;
    if (!t.master.is_same(t.weight)) tensors["master." + t.name] = t.master;
  }
  add("mean", state.optimizer.means());
  add("square", state.optimizer.squares());
  add("average", state.average.averages());
  return tensors;
}

// Of untrusted metadata.
double number_in(const std::string& path, const std::map<std::string, std::string>& metadata,
                 const std::string& key) {
  const auto found = metadata.find(key);
  const std::string text = found == metadata.end() ? "" : found->second;
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size() || !(value >= 0) ||
      value > 1e15) {
    throw InputError(fmt::format("{}: {}: expected a number, got {}", path, key, shown_text(text)));
  }
  return value;
}

void require_options(const std::string& path, const RunOptions& now,
                     const std::map<std::string, std::string>& metadata) {
  const auto kind = metadata.find("kind");
  if (kind == metadata.end() || kind->second != kKind) {
    throw InputError(fmt::format("{}: not a checkpoint of this sdxl-train", path));
  }
  for (const auto& [name, value] : now) {
    const auto found = metadata.find("run." + name);
    const std::string then = found == metadata.end() ? "not set" : found->second;
    if (then == value) continue;
    throw InputError(
        fmt::format("{}: the run was begun with {} {}, now it is {}; resume it with "
                    "the options that it was begun with",
                    path, name, shown_text(then), shown_text(value)));
  }
}

void restore(const std::string& path, Tensors& saved, const std::string& name, at::Tensor into) {
  const auto found = saved.find(name);
  if (found == saved.end()) throw InputError(fmt::format("{}: {} is missing", path, name));
  const at::Tensor& from = found->second;
  if (from.sizes() != into.sizes() || from.scalar_type() != into.scalar_type()) {
    throw InputError(fmt::format("{}: {} is {} [{}], expected {} [{}]", path, name,
                                 c10::toString(from.scalar_type()), fmt::join(from.sizes(), ", "),
                                 c10::toString(into.scalar_type()), fmt::join(into.sizes(), ", ")));
  }
  into.detach().copy_(from);
  saved.erase(found);
}

at::Tensor bytes_of(const std::string& text) {
  at::Tensor bytes = at::empty({static_cast<int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.data_ptr<uint8_t>());
  return bytes;
}

}  // namespace

void save_checkpoint(const std::string& path, int64_t step, const RunOptions& options,
                     const TrainingState& state) {
  Tensors tensors = tensors_of(state);
  tensors["random"] = state.random.get_state();
  tensors["order"] = bytes_of(state.data.order());
  std::map<std::string, std::string> metadata = {
      {"kind", kKind},
      {"step", std::to_string(step)},
      {"optimizer_steps", std::to_string(state.optimizer.steps())},
      {"scale", fmt::format("{}", state.scaler.scale())},
      {"good_steps", std::to_string(state.scaler.good_steps())}};
  for (const auto& [name, value] : options) metadata["run." + name] = value;
  save_tensors(path, tensors, metadata);
}

int64_t load_checkpoint(const std::string& path, const RunOptions& options, TrainingState& state) {
  const auto file = std::make_shared<const SafetensorsFile>(path);
  require_options(path, options, file->metadata());
  Tensors saved;
  for (const StoredTensor& tensor : file->tensors()) saved[tensor.name] = tensor_of(file, tensor);
  for (const auto& [name, tensor] : tensors_of(state)) restore(path, saved, name, tensor);
  at::Tensor random = state.random.get_state();
  restore(path, saved, "random", random);
  const at::Tensor order = saved["order"];
  if (!order.defined() || order.scalar_type() != at::kByte || order.dim() != 1) {
    throw InputError(fmt::format("{}: order is missing", path));
  }
  const auto* bytes = static_cast<const char*>(order.data_ptr());
  state.data.set_order(path, {bytes, static_cast<size_t>(order.numel())});
  state.random.set_state(random);
  const auto number = [&](const char* key) { return number_in(path, file->metadata(), key); };
  state.optimizer.set_steps(static_cast<int64_t>(number("optimizer_steps")));
  state.scaler.restore(number("scale"), static_cast<int>(number("good_steps")));
  return static_cast<int64_t>(number("step"));
}

}  // namespace dtypecheck::runtime
