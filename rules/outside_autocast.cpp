// Finds: a training process that was asked for mixed precision and never opened autocast.
// Misses: runs whose mixed precision is not accelerate's. Silent for DeepSpeed and Megatron, which
// lower the model themselves, and where the trace has lost calls.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {
namespace {

struct Training {
  const OpCall* forward = nullptr;   // the first call of the forward pass that is trained
  const OpCall* step = nullptr;      // the first call of an optimizer
  const OpCall* backward = nullptr;  // … of a backward pass
  bool has_autocast = false;
};

std::string fact(const Process& process, const char* key) {
  const auto found = process.facts.find(key);
  return found == process.facts.end() ? "" : found->second;
}

std::string asked_for(const Process& process) {
  const std::string precision = fact(process, "accelerate.mixed_precision");
  return precision == "fp16" || precision == "bf16" ? precision : "";
}

bool lowers_by_itself(const Process& process) {
  const std::string kind = fact(process, "accelerate.distributed_type") + process.command;
  for (const char* name : {"deepspeed", "DEEPSPEED", "DeepSpeed", "MEGATRON", "megatron"}) {
    if (kind.find(name) != std::string::npos) return true;
  }
  return false;
}

// How much a call looks like the forward pass that is trained: a frozen encoder before it needs no
// gradient, a loss after it is in no module.
int forward_rank(const OpCall* call) {
  if (call == nullptr || call->site.phase != Phase::kForward || !call->site.line.known()) return 0;
  const bool is_trained = std::any_of(call->operands.begin(), call->operands.end(),
                                      [](const Operand& operand) { return operand.requires_grad; });
  return 1 + (call->site.module.empty() ? 0 : 1) + (is_trained ? 2 : 0);
}

std::vector<Training> training_of(const RunIndex& index) {
  const Run& run = index.run();
  std::vector<Training> processes(run.processes.size());
  for (const OpCall& call : run.calls) {
    Training& training = processes.at(call.process);
    training.has_autocast |= !call.autocast.enabled.empty() || call.autocast.is_wrapper ||
                             call.autocast.is_inner || call.in_compiled_region;
    if (!index.is_judged(call)) continue;
    if (forward_rank(&call) > forward_rank(training.forward)) training.forward = &call;
    if (call.site.phase == Phase::kOptimizer && training.step == nullptr) training.step = &call;
    if (call.site.phase == Phase::kBackward && training.backward == nullptr)
      training.backward = &call;
  }
  return processes;
}

// The line that calls the model: what is below it is not the user's to change.
Site where_it_trains(const Training& training) {
  if (training.forward == nullptr) {
    return training.step != nullptr ? training.step->site : training.backward->site;
  }
  Site site;
  site.line = training.forward->site.line;
  site.phase = Phase::kForward;
  site.module = root_module(training.forward->site.module);
  return site;
}

bool is_fp16_on_cpu(const Process& process, const std::string& precision) {
  const auto is_cpu = [](const std::string& device) { return device == "cpu" || device == "meta"; };
  return precision == "fp16" && std::all_of(process.devices.begin(), process.devices.end(), is_cpu);
}

Details explain(const Process& process, const std::string& precision, const Training& training) {
  Details details;
  details.site = where_it_trains(training);
  if (is_fp16_on_cpu(process, precision)) {
    details.why =
        "accelerate accepts fp16 on a CPU, and there enters no autocast and makes no GradScaler, "
        "without a word; scripts still cast their weights to Half by it";
    const std::string code = "Accelerator(mixed_precision=\"bf16\")";
    details.cures = {{.kind = CureKind::kSetting,
                      .dtype = Dtype::kBFloat16,
                      .code = code,
                      .text = "on a CPU ask for bf16, for which accelerate opens autocast there: " +
                              code + ", or accelerate launch --mixed_precision bf16"}};
  } else {
    details.why =
        "the forward pass runs outside of the prepared model and of accelerator.autocast(), so "
        "every op computes in the dtype of its operands";
    details.fix =
        "prepare the model, model = accelerator.prepare(model), or compute the loss inside with "
        "accelerator.autocast():";
  }
  return details;
}

void check_run(const RunIndex& index, Findings& out) {
  const Run& run = index.run();
  const std::vector<Training> processes = training_of(index);
  for (size_t i = 0; i < processes.size(); ++i) {
    const Process& process = run.processes[i];
    const Training& training = processes[i];
    const std::string precision = asked_for(process);
    if (precision.empty() || training.has_autocast || lowers_by_itself(process)) continue;
    if (process.signatures_lost > 0) continue;
    if (training.step == nullptr && training.backward == nullptr) continue;
    const std::string message = fmt::format(
        "accelerate was given mixed_precision=\"{}\", but autocast never opened", precision);
    out.add_for_run(static_cast<uint32_t>(i), message,
                    [&] { return explain(process, precision, training); });
  }
}

}  // namespace

const Rule outside_autocast = {
    .doc = {.id = "outside-autocast",
            .severity = Severity::kWarning,
            .summary = "a run asked for mixed precision and never opened autocast",
            .why = "accelerate accepts fp16 on a CPU but enters no autocast and makes no "
                   "GradScaler there, "
                   "without a word, while the script goes on to cast its weights to Half.",
            .fix = "Ask for bf16 on a CPU, or run the forward pass in the prepared model or in "
                   "accelerator.autocast().",
            .example = R"(
process pid=1 fact:accelerate.mixed_precision="fp16"
op aten::mm self=Float[2,4] mat2=Float[4,4] -> Float[2,4] at train.py:80 phase forward
op aten::add_ self=Float[4,4]%net.weight!out^^ other=Float[4,4] -> Float[4,4] at train.py:90 phase optimizer step 1
# EXPECT train.py:80: warning: accelerate was given mixed_precision="fp16", but autocast never opened [outside-autocast]
process pid=2 fact:accelerate.mixed_precision="bf16"
op aten::mm self=BFloat16[2,4] mat2=BFloat16[4,4] -> BFloat16[2,4] at train.py:80 phase forward autocast cpu:BFloat16 inner
op aten::add_ self=Float[4,4]%net.weight!out^^ other=Float[4,4] -> Float[4,4] at train.py:90 phase optimizer step 1
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
