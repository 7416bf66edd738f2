// Finds: a training process that was meant to compute in mixed precision and never opened autocast:
// accelerate was given it, a GradScaler scales its gradients, or low-precision and Float layers
// meet; as a note, a model that is called above the region that reads what it gives.
// Misses: autocast that was opened for another part of the model, where another function calls that
// part. Silent for DeepSpeed and Megatron, which lower the model themselves, and where the trace
// has lost calls.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/follow_links.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/mix.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/source_text.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

struct TrainingAskedFor {
  const OpCall* forward = nullptr;   // the first call of the forward pass that is trained
  const OpCall* step = nullptr;      // the first call of an optimizer
  const OpCall* backward = nullptr;  // … of a backward pass
  const OpCall* scaler = nullptr;    // … of a GradScaler
  const OpCall* lower = nullptr;     // … that is given a low-precision parameter
  const OpCall* refusal = nullptr;   // … that was refused because a layer meets another dtype
  Dtype low = Dtype::kUndefined;     // the lower one of the two
  std::set<std::string> refusing;    // modules
  bool refuses_trained = false;      // a layer that is trained
  bool has_autocast = false;
  bool lowers_by_hand = false;  // weights by casts where they are used, or frozen layers in Half

  bool is_there() const { return step != nullptr || backward != nullptr; }
};

std::string asked_for(const Process& process) {
  const std::string& precision = process.fact(FactKey::kAcceleratePrecision);
  return precision == "fp16" || precision == "bf16" ? precision : "";
}

bool lowers_by_itself(const Process& process) {
  const std::string kind = process.fact(FactKey::kAccelerateDistributed) + process.command;
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

// The layer computed before, outside of autocast: the program casts by hand what it is given, and
// forgot to here.
bool has_computed(const RunIndex& index, const OpCall& refused, const Operand& weight) {
  const auto& calls = index.run().calls;
  return std::any_of(calls.begin(), calls.end(), [&](const OpCall& call) {
    return call.id < refused.id && call.process == refused.process && call.op == refused.op &&
           call.outcome == Outcome::kReturned && call.follows == kNoOpCall &&
           std::any_of(
               call.operands.begin(), call.operands.end(),
               [&](const Operand& operand) {
                 return operand.parameter == weight.parameter && operand.dtypes == weight.dtypes;
               });
  });
}

// A lower layer that is given Float, or a trained Float layer that is given something lower:
// autocast would have given both one dtype. What came of a repair or of a promotion says nothing by
// itself.
void note_refusal(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                  TrainingAskedFor& training) {
  const bool is_first = was_refused(call) && call.follows == kNoOpCall;
  const bool is_layer = !ops::parse_op_name(call.op).in_place;
  const bool is_python = !is_in_cpp(call) || call.site.caller.known();  // C++ seldom opens it
  if (!is_first || !is_layer || !is_python || call.site.phase != Phase::kForward) return;
  const auto mix = refused_mix(index, call);
  if (!mix || mix->odd.is_parameter() == mix->other.is_parameter()) return;
  const bool odd_is_low = kLowPrecision.contains(mix->odd.dtype);
  const Side& wide = odd_is_low ? mix->other : mix->odd;
  const Dtype low = (odd_is_low ? mix->odd : mix->other).dtype;
  if (wide.dtype != Dtype::kFloat || !kLowPrecision.contains(low)) return;
  if (wide.is_parameter() && !wide.operand->requires_grad) return;
  const Provenance source = index.provenance().trace_back(call, *mix->odd.operand);
  // A line of the user's own raised it on the way: "x.to(scale.dtype)".
  const bool is_raised = source.maker != nullptr && index.has(*source.maker, ops::kCast) &&
                         source.maker->site.phase == Phase::kForward &&
                         is_users_own(source.maker->site) && !odd_is_low;
  if (source.promotion != nullptr || is_raised) return;
  // One table of a checkpoint is not what all layers compute in.
  if (comes_of_lone_parameter(index, call, mix->odd, mix->other, source)) return;
  // A copy that is lowered once the model was trained without it, to evaluate or to save it.
  const Side& lower = odd_is_low ? mix->odd : mix->other;
  const OpCall* lowered =
      lower.is_parameter() ? index.provenance().trace_back(call, *lower.operand).maker : nullptr;
  if (training.step != nullptr && lowered != nullptr && index.has(*lowered, ops::kCast) &&
      lowered->first_step > training.step->first_step)
    return;
  const Side& weight = mix->odd.is_parameter() ? mix->odd : mix->other;
  if (!weight.operand->parameter.empty() && has_computed(index, call, *weight.operand)) return;
  // A moving average of weights is no layer: autocast leaves it as it is.
  const bool is_layer_of_model = !call.site.module.empty();
  if (!is_layer_of_model &&
      under_autocast(index, options, call, low) != contracts::Acceptance::kAccepts)
    return;
  if (training.refusal == nullptr) training.refusal = &call, training.low = low;
  training.refuses_trained |= weight.operand->requires_grad;
  training.refusing.insert(call.site.module);
}

bool is_gradient_of_frozen_half(const RunIndex& index, const OpCall& call) {
  return call.site.phase == Phase::kBackward && index.has(call, ops::kMultiplies) &&
         std::any_of(call.operands.begin(), call.operands.end(), [](const Operand& operand) {
           return is_parameter(operand) && !operand.requires_grad &&
                  operand.dtypes == DtypeSet(Dtype::kHalf);
         });
}

bool is_scaler(const RunIndex& index, const OpCall& call) {
  return index.has(call, ops::kScalesGradients) || call.op.starts_with("python::GradScaler.");
}

const Operand* low_parameter(const OpCall& call) {
  const auto found =
      std::find_if(call.operands.begin(), call.operands.end(), [](const Operand& operand) {
        return is_parameter(operand) && operand.dtypes.within(kLowPrecision);
      });
  return found == call.operands.end() ? nullptr : &*found;
}

// Float weights that are cast where they are used are what autocast does, and their gradients are
// computed in Half as well.
bool lowers_weights(const RunIndex& index, const OpCall& call) {
  if (call.site.phase != Phase::kForward || !index.has(call, ops::kMultiplies)) return false;
  return std::any_of(call.operands.begin(), call.operands.end(), [&](const Operand& operand) {
    const OpCall* cast = index.run().call(operand.origin);
    return operand.requires_grad && operand.dtypes == DtypeSet(Dtype::kHalf) && cast != nullptr &&
           index.has(*cast, ops::kCast) && !cast->operands.empty() &&
           cast->operands.front().is_leaf && cast->operands.front().requires_grad &&
           cast->operands.front().dtypes == DtypeSet(Dtype::kFloat);
  });
}

std::vector<TrainingAskedFor> training_of(const RunIndex& index, const JudgeOptions& options) {
  const Run& run = index.run();
  std::vector<TrainingAskedFor> processes(run.processes.size());
  for (const OpCall& call : run.calls) {
    TrainingAskedFor& training = processes.at(call.process);
    training.has_autocast |= !call.autocast.enabled.empty() || call.autocast.is_wrapper ||
                             call.autocast.is_inner || call.in_compiled_region;
    if (!index.is_judged(call)) continue;
    training.lowers_by_hand |=
        lowers_weights(index, call) || is_gradient_of_frozen_half(index, call);
    if (forward_rank(&call) > forward_rank(training.forward)) training.forward = &call;
    if (call.site.phase == Phase::kOptimizer && training.step == nullptr) training.step = &call;
    if (call.site.phase == Phase::kBackward && training.backward == nullptr)
      training.backward = &call;
    if (is_scaler(index, call) && training.scaler == nullptr) training.scaler = &call;
    const bool may_be_lower = training.lower == nullptr && call.site.phase == Phase::kForward;
    if (may_be_lower && low_parameter(call) != nullptr) training.lower = &call;
    note_refusal(index, options, call, training);
  }
  return processes;
}

// The line that calls the model: what is below it is not the user's to change.
const OpCall& where_it_trains(const TrainingAskedFor& training) {
  for (const OpCall* call : {training.refusal, training.forward, training.step, training.backward})
    if (call != nullptr) return *call;
  return *training.scaler;
}

Site site_of(const OpCall& call) {
  if (call.site.phase != Phase::kForward) return call.site;
  Site site;
  site.line = call.site.line;
  site.phase = Phase::kForward;
  site.module = root_module(call.site.module);
  return site;
}

bool is_fp16_on_cpu(const Process& process, const std::string& precision) {
  const auto is_cpu = [](const std::string& device) { return device == "cpu" || device == "meta"; };
  return precision == "fp16" && std::all_of(process.devices.begin(), process.devices.end(), is_cpu);
}

// A finding as a cause: what it is, by what it is known, and in which dtype autocast was meant.
struct Reason {
  std::string message;
  std::string why;
  Dtype dtype = Dtype::kUndefined;
};

Dtype meant_dtype(const Process& process) {
  return process.has_gpu() ? Dtype::kHalf : Dtype::kBFloat16;
}

// Without a framework that was asked for mixed precision.
Reason reason_of(const Process& process, const TrainingAskedFor& training) {
  if (training.scaler != nullptr && !training.lowers_by_hand &&
      forward_rank(training.forward) > 1) {
    return {"a GradScaler scales the gradients, but autocast never opened",
            "the scaler is there for gradients that autocast computes in Half; without autocast "
            "every op computes in the dtype of its operands",
            training.low == Dtype::kUndefined ? meant_dtype(process) : training.low};
  }
  // One layer may have got a wrong tensor; that several did, or that the model was trained before,
  // is what autocast is for.
  const bool is_mixed = training.refusing.size() > 1 || training.is_there();
  if (training.refusal == nullptr || !is_mixed) return {};
  return {fmt::format("{} and Float meet in layers, but autocast never opened",
                      dtype_name(training.low)),
          "layers of one dtype are given tensors of the other; what they compute with gets one "
          "dtype from autocast, or from casts by hand",
          training.low};
}

// Where what is Half became so: "; unet.conv_in.weight was cast to Half by … at train.py:12".
std::string made_low(const RunIndex& index, const TrainingAskedFor& training) {
  if (training.lower == nullptr) return "";
  const Operand& parameter = *low_parameter(*training.lower);
  const std::string made = how_made(index.provenance().trace_back(*training.lower, parameter));
  return made.empty() ? "" : fmt::format("; {} {}", parameter.parameter, made);
}

Details explain(const RunIndex& index, const JudgeOptions& options,
                const TrainingAskedFor& training, const Reason& reason) {
  const OpCall& call = where_it_trains(training);
  Details details;
  details.site = site_of(call);
  details.why = reason.why + made_low(index, training);
  add(details.cures, CureProposer(index, options).open_autocast(call, reason.dtype));
  return details;
}

// The line of the script that makes the Accelerator.
SourceLine where_it_is_made(const JudgeOptions& options, const std::string& file) {
  const auto found = lines_with(options.line_text, file, "Accelerator(");
  return found.empty() ? SourceLine{} : found.front().line;
}

// What is trained was cast to Float below a question for fp16: with bf16 it stays in 16 bits.
const OpCall* masters_for_half_alone(const RunIndex& index, const JudgeOptions& options,
                                     uint32_t process) {
  for (const OpCall& call : index.run().calls) {
    const bool raises = call.process == process && index.has(call, ops::kCast) &&
                        call.result_dtype() == Dtype::kFloat && !call.operands.empty() &&
                        call.operands.front().dtypes == DtypeSet(Dtype::kHalf) &&
                        call.operands.front().requires_grad && call.operands.front().is_leaf;
    if (!raises || call.site.phase != Phase::kLoad) continue;
    if (question_above(options.line_text, call.site.line).find("fp16") != std::string::npos)
      return &call;
  }
  return nullptr;
}

// What the script casts to Half by the setting it would cast to BFloat16 then, and what leaves the
// prepared model accelerate casts to Float. Neither is in the run, so no replay tells; a try does.
Cure ask_for_bfloat16(const RunIndex& index, const JudgeOptions& options,
                      const TrainingAskedFor& training) {
  const OpCall& call = where_it_trains(training);
  Cure cure{.kind = CureKind::kSetting, .dtype = Dtype::kBFloat16, .call = call.id};
  cure.where = where_it_is_made(options, call.site.line.file);
  cure.operand = "Accelerator(mixed_precision=\"bf16\")";
  const std::string line = place(Site{.line = cure.where});
  cure.text = fmt::format(
      "on a CPU ask for bf16, for which accelerate opens autocast there{}{}: {}, or "
      "accelerate launch --mixed_precision bf16",
      line.empty() ? "" : ", ", line, cure.operand);
  if (const OpCall* masters = masters_for_half_alone(index, options, call.process)) {
    cure.text += fmt::format(
        "; with it {} keeps what is trained in BFloat16, where steps are lost: let its test for "
        "fp16 accept bf16 too",
        place(masters->site));
  }
  return cure;
}

Details explain(const RunIndex& index, const JudgeOptions& options, const Process& process,
                const std::string& precision, const TrainingAskedFor& training) {
  Details details;
  details.site = site_of(where_it_trains(training));
  if (is_fp16_on_cpu(process, precision)) {
    details.why =
        "on a CPU accelerate accepts fp16, but silently opens no autocast and makes no GradScaler; "
        "scripts still cast their weights to Half";
    details.cures = {ask_for_bfloat16(index, options, training)};
    details.why += made_low(index, training);
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

// "'NoneType' object has no attribute 'get_scale'": the script asks for a GradScaler's method.
bool wants_scaler(const OpCall& call) {
  constexpr std::string_view kMethods[] = {
      "scale",      "unscale_",   "_unscale_grads_",   "step",
      "update",     "get_scale",  "get_growth_factor", "_check_inf_per_device",
      "is_enabled", "state_dict", "load_state_dict"};
  constexpr std::string_view kNone = "'NoneType' object has no attribute '";
  if (call.outcome != Outcome::kThrew || !call.error.starts_with(kNone)) return false;
  std::string_view method = std::string_view(call.error).substr(kNone.size());
  method = method.substr(0, method.find('\''));
  return std::find(std::begin(kMethods), std::end(kMethods), method) != std::end(kMethods);
}

// On a CPU neither fp16 nor bf16 has a scaler: the line has to do without.
Details explain_scaler(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                       const TrainingAskedFor& training) {
  Details details{.odd = "",
                  .why =
                      "on a CPU accelerate accepts fp16, but silently opens no autocast and makes "
                      "no GradScaler: accelerator.scaler is None",
                  .fix = ""};
  details.severity = Severity::kError;
  const CureProposer propose(index, options);
  if (propose.line_of(call).find("scaler") != std::string::npos) {
    details.cures.push_back(
        propose.rewrite(call, Dtype::kUndefined, "scaler", "skip the scaler where there is none"));
  }
  if (forward_rank(training.forward) > 0)
    details.cures.push_back(ask_for_bfloat16(index, options, training));
  if (details.cures.empty()) {
    details.fix =
        "on a CPU ask for bf16, for which accelerate opens autocast there, and skip what needs the "
        "scaler where accelerator.scaler is None";
  }
  return details;
}

void check_scalers(const RunIndex& index, const std::vector<TrainingAskedFor>& processes,
                   Findings& out) {
  for (const OpCall& call : index.run().calls) {
    const Process& process = index.run().process_of(call);
    if (!wants_scaler(call) || !is_fp16_on_cpu(process, asked_for(process))) continue;
    const std::string message = fmt::format(
        "accelerate was given mixed_precision=\"fp16\", but made no GradScaler: {}", call.error);
    const TrainingAskedFor& training = processes.at(call.process);
    out.add(call, message, [&] { return explain_scaler(index, out.options(), call, training); });
  }
}

// The line that called the model that the layer is in.
const SourceLine& line_of_model(const OpCall& layer) {
  return layer.site.caller.known() ? layer.site.caller : layer.site.line;
}

bool is_trained_in_float(const RunIndex& index, const OpCall& call) {
  return index.has(call, ops::kMultiplies) && call.parent == kNoOpCall &&
         call.outcome == Outcome::kReturned && call.site.phase == Phase::kForward &&
         !call.site.module.empty() && call.result_dtype() == Dtype::kFloat &&
         call.results.front().requires_grad && !call.in_compiled_region &&
         std::any_of(call.operands.begin(), call.operands.end(), [](const Operand& operand) {
           return is_weight(operand) && operand.requires_grad &&
                  operand.dtypes == DtypeSet(Dtype::kFloat);
         });
}

bool is_above(const SourceLine& line, const SourceLine& region) {
  return line.known() && line.file == region.file && line.function == region.function &&
         line.line < region.line;
}

// What reads the layer's result, over ops outside of any region, in one that the function which
// called the model opens below that.
const OpCall* read_in_region_below(const RunIndex& index, const OpCall& layer) {
  std::vector<const OpCall*> reached = {&layer};
  std::set<OpCallId> seen = {layer.id};
  for (size_t next = 0; next < reached.size() && next < kMaxFollowed; ++next) {
    for (const OpCallId id : index.consumers(*reached[next])) {
      const OpCall& consumer = *index.run().call(id);
      if (consumer.site.phase != Phase::kForward || !seen.insert(id).second) continue;
      const bool is_lowered = consumer.autocast.region_for(consumer.device_type()) != nullptr;
      if (is_lowered && is_above(line_of_model(layer), consumer.autocast.entered)) return &consumer;
      if (!consumer.autocast.entered.known()) reached.push_back(&consumer);
    }
  }
  return nullptr;
}

// "embed = encoder(x)" above "with autocast():". The numbers are right, and may be meant so.
void check_above_regions(const RunIndex& index, Findings& out) {
  std::set<std::pair<uint32_t, std::string>> told;
  for (const OpCall& call : index.judged_calls()) {
    if (call.autocast.entered.known() || !is_trained_in_float(index, call)) continue;
    const SourceLine& line = line_of_model(call);
    const std::string model = root_module(call.site.module);
    if (told.contains({call.process, model})) continue;
    const OpCall* reader = read_in_region_below(index, call);
    if (reader == nullptr) continue;
    told.insert({call.process, model});
    const SourceLine& region = reader->autocast.entered;
    const std::string at_region = place(Site{.line = region});
    const std::string message = fmt::format(
        "{} computes in Float: it is called above the region of autocast at {}", model, at_region);
    out.add(call, message, [&] {
      Details details;
      details.why = fmt::format(
          "{} has layers that are trained, and what they give is read in that region, in {}; "
          "outside of it they take twice the memory and a part of the speed",
          model, dtype_name(reader->autocast.region_for(reader->device_type())->dtype));
      details.fix = fmt::format("call {} in the region, if it is not to be Float", model);
      details.severity = Severity::kNote;
      details.site = Site{.line = line, .module = model, .phase = Phase::kForward};
      return details;
    });
  }
}

void check_run(const RunIndex& index, Findings& out) {
  check_above_regions(index, out);
  const Run& run = index.run();
  const std::vector<TrainingAskedFor> processes = training_of(index, out.options());
  check_scalers(index, processes, out);
  for (size_t i = 0; i < processes.size(); ++i) {
    const Process& process = run.processes[i];
    const TrainingAskedFor& training = processes[i];
    if (training.has_autocast || lowers_by_itself(process) || process.signatures_lost > 0) continue;
    const auto id = static_cast<uint32_t>(i);
    const std::string precision = asked_for(process);
    if (!precision.empty()) {
      // A frozen encoder that refuses what it is given comes before the prepared model: whether
      // that would open autocast is not known.
      const bool is_known = training.is_there() || training.refuses_trained ||
                            (training.refusal != nullptr && is_fp16_on_cpu(process, precision));
      if (!is_known) continue;
      const std::string message = fmt::format(
          "accelerate was given mixed_precision=\"{}\", but autocast never opened", precision);
      out.add_for_run(id, message,
                      [&] { return explain(index, out.options(), process, precision, training); });
    } else if (const Reason reason = reason_of(process, training); !reason.message.empty()) {
      out.add_for_run(id, reason.message,
                      [&] { return explain(index, out.options(), training, reason); });
    }
  }
}

}  // namespace

const Rule outside_autocast = {
    .doc = {.id = "outside-autocast",
            .severity = Severity::kWarning,
            .summary = "a run that was meant for mixed precision never opened autocast",
            .why = "On a CPU accelerate accepts fp16, but silently opens no autocast and makes no "
                   "GradScaler, while the script still casts its weights to Half. A GradScaler, or "
                   "Float layers beside lower ones, need autocast too.",
            .fix = "Run the forward pass and the loss under torch.autocast, with accelerate in the "
                   "prepared model or in accelerator.autocast(); on a CPU ask it for bf16.",
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
    .costs_only = true,
};

}  // namespace dtypecheck::rules
