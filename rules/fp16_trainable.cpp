// Finds: an optimizer that does its arithmetic on Half parameters, and GradScaler's refusal of
// their gradients. Reported once a run, however many parameters there are. Misses: a Half parameter
// whose optimizer runs in code that calls no op (a fused kernel of one's own).
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>

#include "ops/ops.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/half_weights.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/throws.h"
#include "rules/engine/vanishing_number.h"

namespace dtypecheck::rules {
namespace {

struct Trained {
  const OpCall* step = nullptr;  // the first step of a Half parameter
  const Operand* first = nullptr;
  const OpCall* refusal = nullptr;  // GradScaler's
  std::set<std::string> parameters;
};

bool is_scaler_refusal(const OpCall& call) {
  return was_refused(call) && call.error.find("unscale FP16 gradients") != std::string::npos;
}

void note_parameters(const RunIndex& index, const OpCall& call, Trained& trained) {
  const Operand* first = index.stepped_parameter(call, Dtype::kHalf);
  if (first == nullptr) return;
  const bool is_decay = trained.step != nullptr && index.has(*trained.step, ops::kScales);
  if (trained.step == nullptr || (is_decay && !index.has(call, ops::kScales))) {
    trained.step = &call;
    trained.first = first;
  }
  for (const Operand& operand : call.operands) {
    const bool trainable = operand.is_leaf && operand.requires_grad;
    if (trainable && operand.dtypes == DtypeSet(Dtype::kHalf) && !operand.parameter.empty()) {
      trained.parameters.insert(operand.parameter);
    }
  }
}

const Operand* refused_parameter(const OpCall& call) {
  for (const Operand& operand : call.operands) {
    if (operand.dtypes == DtypeSet(Dtype::kHalf)) return &operand;
  }
  return nullptr;
}

std::string name_of(const Operand* operand) {
  return operand == nullptr || operand->parameter.empty()
             ? "a Half parameter"
             : "the Half parameter " + operand->parameter;
}

void report_refusal(const RunIndex& index, const Trained& trained, Findings& out) {
  const Operand* parameter = refused_parameter(*trained.refusal);
  const std::string message =
      fmt::format("GradScaler refuses the gradient of {}", name_of(parameter));
  const auto asked = parameter == nullptr
                         ? std::nullopt
                         : who_asked(index, out.options(), *trained.refusal, *parameter);
  out.add(*trained.refusal, message, [&] {
    return Details{
        .odd = parameter == nullptr ? "" : parameter->name,
        .why = fmt::format(
            "{}gradients have their parameter's dtype, and dividing a Half gradient by the scale "
            "would flush small values to 0; so the trainable parameters themselves must not be "
            "Half",
            asked ? asked_text(*asked) + " asked for it; " : ""),
        .cures = CureProposer(index, out.options()).masters_of(*trained.refusal, parameter),
        .follows = {{&outside_autocast}}};
  });
}

// The fused optimizers read 16 bits, compute in Float, and write 16 bits.
bool is_in_float(const OpCall& step) { return step.op.starts_with("aten::_fused_"); }

// What the optimizer of this process does that Half is too small for, beside the step itself.
std::string lost_of_state(const RunIndex& index, const OpCall& step) {
  if (is_in_float(step)) return ", though the optimizer computes in Float";
  bool has_root = false;
  std::optional<double> eps;
  for (const OpCall& call : index.judged_calls()) {
    if (call.process != step.process || call.site.phase != Phase::kOptimizer) continue;
    has_root |= ops::parse_op_name(call.op).base == "sqrt";
    const auto vanishing = vanishing_number(call);
    if (vanishing && vanishing->dtypes == DtypeSet(Dtype::kHalf)) eps = vanishing->scalar->value;
  }
  const std::string squares = has_root ? ", squared gradients below 6e-8 are 0" : "";
  if (!eps) return squares;
  if (!has_root) return fmt::format(", and an eps of {} is 0", number(*eps));
  return fmt::format("{}, and so is an eps of {}: where both are, a step gives NaN", squares,
                     number(*eps));
}

void report_step(const RunIndex& index, const Trained& trained, Findings& out) {
  const HalfWeights weights = half_weights(index, out.options(), *trained.step, *trained.first);
  const std::string message = weights.message(
      fmt::format("{} steps {} in place", trained.step->op, name_of(trained.first)));
  out.add(*trained.step, message, [&] {
    const size_t others = trained.parameters.empty() ? 0 : trained.parameters.size() - 1;
    Details details{
        .odd = trained.first->name,
        .why = weights.why(
            fmt::format("{}Half has 11 bits: small steps round away{}",
                        others == 0 ? "" : fmt::format("so are {} or more others; ", others),
                        lost_of_state(index, *trained.step))),
        .cures = CureProposer(index, out.options()).masters_of(*trained.step, trained.first),
        .is_loaded_low = weights.is_loaded};
    if (weights.moves && weights.moves->non_finite == 0)
      details.severity = weights.is_damaged() ? Severity::kWarning : Severity::kNote;
    // What was measured is a damage of its own, whatever else went wrong before.
    if (!weights.is_damaged()) details.follows = {{&outside_autocast}};
    return details;
  });
}

void check_run(const RunIndex& index, Findings& out) {
  std::map<uint32_t, Trained> processes;
  for (const OpCall& call : index.judged_calls()) {
    if (is_scaler_refusal(call) && processes[call.process].refusal == nullptr) {
      processes[call.process].refusal = &call;
    }
    if (index.has(call, ops::kSteps)) note_parameters(index, call, processes[call.process]);
  }
  for (const auto& [process, trained] : processes) {
    if (trained.refusal != nullptr) {
      report_refusal(index, trained, out);
    } else if (trained.step != nullptr) {
      report_step(index, trained, out);
    }
  }
}

}  // namespace

const Rule fp16_trainable = {
    .doc =
        {.id = "fp16-trainable",
         .severity = Severity::kError,
         .summary = "the optimizer updates Half parameters that have no Float masters",
         .why =
             "Half has 11 bits and a smallest number of 6e-8: steps round away, squared gradients "
             "become 0, and GradScaler refuses such gradients.",
         .fix = "Keep trainable parameters in Float and let autocast lower the compute.",
         .example = R"(
op aten::addcdiv_ self=Half[4,320]%unet.lora_A.weight!out^^ tensor1=Half[4,320] tensor2=Half[4,320] -> Half[4,320] at train.py:205 phase optimizer step 1-3 count 3
# EXPECT train.py:205: error: aten::addcdiv_ steps the Half parameter unet.lora_A.weight in place [fp16-trainable]
# EXPECT-FIX keep trainable parameters in Float and let autocast lower the compute: cast the data of each before the optimizer is made
# EXPECT train.py:205: warning: Half parameters are stepped in place, unet.lora_A.weight among them [lost-update]
# A Half copy that is written from Float masters is sound.
op aten::copy_ self=Half[4,320]%unet.lora_B.weight!out^^ src=Float[4,320] -> Half[4,320] at train.py:207 phase optimizer step 1-3 count 3
)",
         .alias = "scaler-half-params"},
    .check_run = check_run,
    .judges_source = true,
    .loses_steps = true,
    .says_shares = true,
};

}  // namespace dtypecheck::rules
