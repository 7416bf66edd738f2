// Finds: an op that was refused because its operands disagree in floating dtype, or because an
// index or target is not an integer.
// Misses: refusals in Python code whose tensors are no local variables (nn.LSTM's own check).
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "rules/mix.h"
#include "rules/provenance.h"
#include "rules/rule.h"
#include "rules/throws.h"
#include "rules/words.h"

namespace dtypecheck::rules {
namespace {

constexpr int kMaxNesting = 64;

struct Refusal {
  const OpCall& call;
  Mix mix;
};

bool is_cpu_norm(const RunIndex& index, const OpCall& call, const Mix& mix) {
  return index.has(call, kIsNorm) && mix.odd.operand->device.type == "cpu";
}

std::string made_by(const OpCall& call) {
  return fmt::format("{}{}", call.op, at_place(call.site));
}

std::string parameter_reason(const RunIndex& index, const OpCall& call, const Mix& mix) {
  if (!mix.odd.is_parameter() || mix.odd.parameter.empty()) return "";
  auto around = index.parameter_dtypes(call.process, mix.odd.parameter);
  if (around[mix.met.dtype] < 4)
    return fmt::format("the parameter {} is {}", mix.odd.parameter, dtype_name(mix.odd.dtype));
  return fmt::format("the parameter {} was loaded or made in {}, while {} others are {}",
                     mix.odd.parameter, dtype_name(mix.odd.dtype), around[mix.met.dtype],
                     dtype_name(mix.met.dtype));
}

// How the odd operand came to its dtype; "" when that is not known.
std::string origin_reason(const RunIndex& index, const OpCall& call, const Mix& mix,
                          const DtypeSource& source) {
  const std::string dtype = dtype_name(mix.odd.dtype);
  if (source.promotion != nullptr) {
    std::string text =
        fmt::format("{} promoted it to {}, because its {} is {}", made_by(*source.promotion), dtype,
                    source.promoted_by->name, dtype);
    if (source.maker != nullptr) text += fmt::format(" (from {})", made_by(*source.maker));
    if (source.parameter != nullptr) text += fmt::format(" (from {})", source.parameter->parameter);
    return text;
  }
  if (source.maker != nullptr) {
    const char* verb = index.has(*source.maker, kCasts) ? "was cast to" : "was made in";
    return fmt::format("the {} {} {} by {}", mix.odd.noun(), verb, dtype, made_by(*source.maker));
  }
  if (source.parameter != nullptr) {
    return fmt::format("the {} is {} because {} is", mix.odd.noun(), dtype,
                       source.parameter->parameter);
  }
  return parameter_reason(index, call, mix);
}

std::string autocast_reason(const RunIndex& index, const OpCall& call, const Mix& mix) {
  const std::string& device = mix.odd.operand->device.type;
  if (index.has(call, kIsBackward)) {
    return "the forward op accepted the mix, its backward does not";
  }
  if (const AutocastState::Region* region = call.autocast.region_for(device)) {
    if (is_cpu_norm(index, call, mix)) {
      return fmt::format(
          "autocast is on for cpu, but CPU autocast has no rule for {}, so nothing "
          "casts its operands",
          call.short_op());
    }
    return fmt::format("autocast is on for {}:{}, but did not cast the operands of this call",
                       device, dtype_name(region->dtype));
  }
  if (const OpCall* elsewhere = index.autocast_elsewhere(call.process, device)) {
    return fmt::format("autocast is off for {} here, though it is on elsewhere in this run{}",
                       device, at_place(elsewhere->site));
  }
  return fmt::format("autocast is off for {} here, so nothing casts one side to the other's dtype",
                     device);
}

std::string why(const RunIndex& index, const OpCall& call, const Mix& mix,
                const DtypeSource& source) {
  const std::string origin = origin_reason(index, call, mix, source);
  const std::string autocast = autocast_reason(index, call, mix);
  return origin.empty() ? autocast : origin + "; " + autocast;
}

std::string to_dtype(Dtype dtype) { return fmt::format(".to({})", torch_dtype(dtype)); }

// The line that brought the dtype in, when the run shows one.
std::string fix_at_origin(const Mix& mix, const DtypeSource& source) {
  const std::string cast = to_dtype(mix.met.dtype);
  if (source.promotion == nullptr) return "";
  const std::string promotion = place(source.promotion->site);
  if (source.maker != nullptr && !place(source.maker->site).empty()) {
    return fmt::format("cast it where it is made: {}: append {}", place(source.maker->site), cast);
  }
  if (source.parameter != nullptr && !source.parameter->requires_grad) {
    return fmt::format("{}.to(dtype={})", owner_module(source.parameter->parameter),
                       torch_dtype(mix.met.dtype));
  }
  if (promotion.empty()) return "";
  return fmt::format("cast {} before it is mixed in: {}: {}{}", source.promoted_by->name, promotion,
                     source.promoted_by->name, cast);
}

std::string module_of(const OpCall& call, const Mix& mix) {
  const std::string& parameter = mix.odd.is_parameter() ? mix.odd.parameter : mix.met.parameter;
  return call.site.module.empty() ? root_module(owner_module(parameter))
                                  : root_module(call.site.module);
}

bool is_trainable(const Mix& mix) {
  return mix.odd.operand->requires_grad && mix.odd.operand->is_leaf;
}

std::string fix_parameter(const Mix& mix) {
  const std::string owner = owner_module(mix.odd.parameter);
  if (owner.empty() || is_trainable(mix)) {
    return fmt::format("cast the {}: {}{}", mix.odd.noun(), mix.odd.operand->name,
                       to_dtype(mix.met.dtype));
  }
  return fmt::format("{}.to(dtype={})", owner, torch_dtype(mix.met.dtype));
}

// Half or BFloat16 flows into Float weights: autocast would lower the weights; a frozen model can
// be lowered once. Trainable weights must stay Float, so for them only autocast is named.
std::string fix_low_input(const RunIndex& index, const OpCall& call, const Mix& mix) {
  const std::string module = module_of(call, mix);
  const std::string& device = mix.odd.operand->device.type;
  const std::string autocast =
      fmt::format("torch.autocast(\"{}\", dtype={})", device, torch_dtype(mix.odd.dtype));
  const std::string subject = module.empty() ? "it" : module;
  if (is_cpu_norm(index, call, mix) || mix.met.parameter.empty()) return "";
  if (mix.met.operand->requires_grad) return fmt::format("run {} under {}", subject, autocast);
  return fmt::format("run {} under {}, or load it in the same dtype: {}.to(dtype={})", subject,
                     autocast, subject, torch_dtype(mix.odd.dtype));
}

std::string fix(const RunIndex& index, const OpCall& call, const Mix& mix,
                const DtypeSource& source) {
  if (const std::string text = fix_at_origin(mix, source); !text.empty()) return text;
  if (index.has(call, kIsBackward) && call.op.find("_loss_") != std::string::npos) {
    return "cast both sides before the loss: prediction.float(), target.float()";
  }
  if (mix.odd.is_parameter()) return fix_parameter(mix);
  if (kLowPrecision.contains(mix.odd.dtype) && mix.met.dtype == Dtype::kFloat) {
    if (const std::string text = fix_low_input(index, call, mix); !text.empty()) return text;
  }
  return fmt::format("cast the {}: {}{}", mix.odd.noun(), mix.odd.operand->name,
                     to_dtype(mix.met.dtype));
}

// The loss whose backward refuses: it took the mix at the same line without a word.
void link_to_forward_loss(const OpCall& call, const Finding& finding, Findings& out) {
  const Run& run = out.index().run();
  for (const Operand& operand : call.operands) {
    const OpCall* origin = run.call(operand.origin);
    if (origin == nullptr) continue;
    for (const OpCallId id : out.index().consumers(*origin)) {
      if (out.index().has(run.calls[id - 1], kLossRefusesBackward)) {
        out.follows(finding, "silent-promotion", id);
      }
    }
  }
}

std::string message(const Mix& mix) {
  const auto [odd, met] = std::pair(mix.odd.noun(), mix.met.noun());
  const bool alike = odd == met;  // two inputs: their names tell them apart
  return fmt::format("{} {} meets a {} {}", dtype_name(mix.odd.dtype),
                     alike ? mix.odd.operand->name : odd, dtype_name(mix.met.dtype),
                     alike ? mix.met.operand->name : met);
}

void report(const Refusal& refusal, Findings& out) {
  const auto& [call, mix] = refusal;
  const RunIndex& index = out.index();
  Finding& finding = out.add(call, message(mix));
  if (!finding.why.empty()) return;
  const DtypeSource source = dtype_source(index, *mix.odd.operand);
  finding.odd_operand = mix.odd.operand->name;
  finding.why = why(index, call, mix, source);
  finding.fix = fix(index, call, mix, source);
  if (source.promotion != nullptr) out.follows(finding, "silent-promotion", source.promotion->id);
  if (index.has(call, kIsBackward)) link_to_forward_loss(call, finding, out);
}

// "expected scalar type Long but found Float": an index or a class label in a floating dtype.
void check_integer(const OpCall& call, Findings& out) {
  if (!was_refused(call) || call.error.empty()) return;
  const auto wanted = wanted_integer(call.error);
  if (!wanted) return;
  const auto is_found = [&](const Operand& operand) {
    return operand.dtypes == DtypeSet(wanted->found) &&
           (operand.name.starts_with("ind") || operand.name.starts_with("target") ||
            operand.name == "labels");
  };
  const auto odd = std::find_if(call.operands.begin(), call.operands.end(), is_found);
  if (odd == call.operands.end()) return;
  Finding& finding =
      out.add(call, fmt::format("{} is {}, and {} needs {}", odd->name, dtype_word(*odd), call.op,
                                dtype_name(wanted->wanted)));
  if (!finding.why.empty()) return;
  finding.odd_operand = odd->name;
  finding.why =
      "indices and class labels are integers to LibTorch; it never rounds a floating tensor to "
      "them";
  finding.fix = fmt::format("{} = {}.long(), and keep it out of casts such as batch.to(dtype)",
                            odd->name, odd->name);
}

// A second sight of one failure: what left the program as an exception of an op inside.
bool is_echo(const RunIndex& index, const OpCall& call) {
  return call.op.starts_with("python::") && index.is_raised_by_an_op(call.process, call.error);
}

std::vector<Refusal> refusals(const Run& run, const RunIndex& index) {
  std::vector<Refusal> all;
  for (const OpCall& call : run.calls) {
    if (!was_refused(call) || !index.is_judged(call) || is_echo(index, call)) continue;
    if (const auto mix = refused_mix(index, call)) all.push_back({call, *mix});
  }
  return all;
}

// A composite op and the op inside it are one refusal: the inner one is the culprit.
void check_run(const Run& run, Findings& out) {
  const std::vector<Refusal> all = refusals(run, out.index());
  std::unordered_set<OpCallId> around;
  for (const Refusal& refusal : all) {
    const OpCall* outer = run.call(refusal.call.parent);
    for (int depth = 0; outer != nullptr && depth < kMaxNesting; ++depth) {
      if (!around.insert(outer->id).second) break;
      outer = run.call(outer->parent);
    }
  }
  for (const Refusal& refusal : all) {
    if (!around.contains(refusal.call.id)) report(refusal, out);
  }
  for (const OpCall& call : run.calls) {
    if (out.index().is_judged(call)) check_integer(call, out);
  }
}

}  // namespace

const Rule mixed_operands = {
    .doc = {.id = "mixed-operands",
            .severity = Severity::kError,
            .summary = "an op is refused because its operands disagree in floating dtype",
            .why = "LibTorch picks a kernel by one operand and refuses the others; outside of "
                   "autocast nothing casts them.",
            .fix = "Give both sides one dtype where the odd one is made, or run the module under "
                   "torch.autocast."},
    .check_run = check_run,
    .example = R"(
# A Float UNet is handed the Half time embedding. The norm below accepts Half data with Float parameters.
op aten::addmm self=Float[320]%unet.time_embedding.linear_1.bias mat1=Half[2,320] mat2=Float[320,1280]%unet.time_embedding.linear_1.weight raised "mat1 and mat2 must have the same dtype, but got Half and Float" at train.py:1065 in unet.time_embedding.linear_1 (Linear) phase forward
# EXPECT train.py:1065: error: Half input meets a Float weight [mixed-operands]
# EXPECT-ODD mat1
# EXPECT-FIX unet.to(dtype=torch.float16)
op aten::native_layer_norm input=Float[2,77,64] weight=Float[64] bias=Float[64] -> Float[2,77,64] at train.py:1066
)",
};

}  // namespace dtypecheck::rules
