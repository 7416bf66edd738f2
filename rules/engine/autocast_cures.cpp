// A region of autocast, opened or moved, and Float masters beside it.
#include <fmt/format.h>

#include <algorithm>

#include "core/follow_links.h"
#include "platform/libtorch_version.h"
#include "platform/text.h"
#include "rules/engine/cure_parts.h"
#include "rules/engine/cures.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {

contracts::Verdict under_autocast(const RunIndex& index, const JudgeOptions& options,
                                  const OpCall& call, Dtype dtype) {
  using contracts::Verdict;
  const std::string device = call.device_type();
  const auto runtime = options.contracts->find(device, index.run().process_of(call).libtorch);
  if (!runtime) return Verdict::kUnknown;
  Verdict found = Verdict::kUnknown;
  follow_links(&call, [&](const OpCall& asked) {
    OpCall under = asked;
    under.autocast.enabled = {{device, dtype}};
    const auto one = options.contracts->ask(*runtime, under, contracts::Mode::kAutocast).verdict;
    if (one != Verdict::kUnknown) found = one;
    return found == Verdict::kAccepts ? nullptr : index.run().call(asked.parent);
  });
  return found;
}

// at::autocast has a pair of functions for each device before LibTorch 2.4, and from then on one
// pair that takes the device.
static std::string autocast_in_cpp(const Process& process, const std::string& device, Dtype dtype) {
  std::string upper = device;
  std::transform(upper.begin(), upper.end(), upper.begin(), ::toupper);
  constexpr Version kFirstOfAll = {2, 4, 0};
  const auto libtorch = parse_minor(process.libtorch);
  if (!libtorch || *libtorch >= kFirstOfAll) {
    return fmt::format(
        "at::autocast::set_autocast_dtype(at::k{0}, at::k{1}); "
        "at::autocast::set_autocast_enabled(at::k{0}, true);",
        upper, dtype_name(dtype));
  }
  return device == "cpu" ? fmt::format(
                               "at::autocast::set_autocast_cpu_dtype(at::k{}); "
                               "at::autocast::set_cpu_enabled(true);",
                               dtype_name(dtype))
                         : fmt::format(
                               "at::autocast::set_autocast_gpu_dtype(at::k{}); "
                               "at::autocast::set_enabled(true);",
                               dtype_name(dtype));
}

std::optional<Cure> CureWriter::open_autocast(const OpCall& call, Dtype dtype) const {
  const std::string device = call.device_type();
  const Process& process = index_.run().process_of(call);
  const auto runtime = options_.contracts->find(device, process.libtorch);
  if (call.autocast.region_for(device) != nullptr || call.autocast.is_inner) return std::nullopt;
  if (runtime && device == "cpu" && dtype == Dtype::kHalf &&
      !options_.contracts->runtimes()[*runtime].has_mode("autocast:Half")) {
    dtype = Dtype::kBFloat16;  // the CPU's autocast learnt Half late
  }
  const auto verdict = under_autocast(index_, options_, call, dtype);
  if (verdict == contracts::Verdict::kRejects) return std::nullopt;
  // In a forward pass the line is one of the module's own, and the region is around no more.
  const bool is_in_module = is_in_forward(call.site.line);
  Cure cure = cure_of(CureKind::kOpenAutocast, call,
                      is_in_module ? "" : root_module(call.site.module), dtype);
  cure.code = is_in_cpp(call) ? autocast_in_cpp(process, device, dtype)
                              : fmt::format("with torch.autocast(\"{}\", dtype={}):", device,
                                            torch_dtype(dtype));
  // All of a compiled function runs at the line that begins it, around which no region can be.
  const bool is_compiled = is_head(line_of(call));
  if (is_compiled) cure.where = {};
  cure.text = fmt::format("run {} under autocast{}: {}",
                          !cure.operand.empty() ? cure.operand
                          : is_compiled         ? "what calls the function"
                                                : "the line",
                          at(call.site), cure.code);
  if (!is_in_cpp(call) && lacks_torch(options_.line_text, call.site.line.file))
    cure.text += ", and import torch";
  return cure;
}

std::optional<Cure> CureWriter::move_autocast(const OpCall& call) const {
  const OpCall* before = index_.autocast_before(call);
  if (before == nullptr || is_in_cpp(call)) return std::nullopt;
  const std::string device = call.device_type();
  auto cure = open_autocast(call, before->autocast.region_for(device)->dtype);
  if (!cure) return std::nullopt;
  const std::string opens(trimmed(CodeLine::at(options_.line_text, before->autocast.entered).text));
  const bool is_block = opens.starts_with("with ") && opens.ends_with(':');
  if (!is_block || opens.find('\n') != opens.npos) return std::nullopt;
  cure->kind = CureKind::kMoveAutocast;
  cure->operand.clear();
  cure->code = opens;
  cure->text = fmt::format("let the autocast of {} take in the line{}: {}",
                           place(Site{.line = before->autocast.entered}), at(call.site), opens);
  return cure;
}

bool CureWriter::has_framework(const OpCall& call, std::string_view name) const {
  const std::string folder = fmt::format("/{}/", name);
  const std::vector<OpCall>& calls = index_.run().calls;
  return std::any_of(calls.begin(), calls.end(), [&](const OpCall& other) {
    return other.process == call.process && other.site.inner.file.find(folder) != std::string::npos;
  });
}

Cure CureWriter::master_weights(const OpCall& call) const {
  Cure cure = cure_of(CureKind::kMasterWeights, call, "", Dtype::kFloat);
  cure.where = {};
  if (is_in_cpp(call)) {
    cure.text =
        "keep trainable parameters in Float and let autocast lower the compute: cast each with "
        "parameter.set_data(parameter.to(torch::kFloat)) before the optimizer is made";
  } else if (has_framework(call, "diffusers")) {
    cure.text =
        "keep trainable parameters in Float and let autocast lower the compute: "
        "cast_training_params(model, dtype=torch.float32), diffusers.training_utils, before the "
        "optimizer is made";
  } else {
    cure.text =
        "keep trainable parameters in Float and let autocast lower the compute: "
        "p.data = p.data.to(torch.float32) for each trainable p before the optimizer is made";
  }
  return cure;
}

std::vector<Cure> CureWriter::masters_of(const OpCall& call, const Operand* parameter) const {
  std::vector<Cure> cures;
  if (parameter != nullptr && is_in_cpp(call)) {
    const OpCall* maker = index_.provenance().of(call, *parameter).maker;
    auto cure = maker == nullptr ? std::nullopt : cast_result(*maker, Dtype::kFloat);
    const bool is_lowered = cure && index_.has(*maker, ops::kCast) && !cure->replaces.empty();
    if (is_lowered) {
      cure->text =
          fmt::format("keep trainable parameters in Float{}: {}", at(maker->site), cure->code);
      cures.push_back(*std::move(cure));
    }
  }
  const bool has_autocast = index_.autocast_elsewhere(call.process, call.device_type()) != nullptr;
  if (parameter != nullptr && !parameter->parameter.empty()) {
    Cure cure = cast_parameters(call, *parameter, root_module(parameter->parameter), Dtype::kFloat);
    if (has_autocast) {
      cure.kind = CureKind::kMasterWeights;
      cure.operand.clear();
    } else {
      cure.text += fmt::format(", and open autocast to compute in {}", dtype_word(*parameter));
    }
    if (!cure.replaces.empty()) cures.push_back(std::move(cure));
  }
  cures.push_back(master_weights(call));
  return cures;
}

}  // namespace dtypecheck::rules
