#include "rules/engine/mix_reason.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/arguments.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {
namespace {

std::string device_of(const Mix& mix) {
  const std::string& type = mix.odd.operand->device.type;
  return type.empty() ? "cpu" : type;
}

bool is_cpu_norm(const RunIndex& index, const OpCall& call, const Mix& mix) {
  return index.has(call, ops::kNorm) && device_of(mix) == "cpu";
}

// "the parameter unet.conv_in.weight was cast to Half by aten::_to_copy at load.py:5, while 12
// others are Float"
std::string parameter_reason(const RunIndex& index, const OpCall& call, const Mix& mix,
                             const Provenance& source) {
  if (mix.odd.parameter.empty()) {
    const std::string made = how_made(source);
    return made.empty() ? "" : fmt::format("the {} {}", mix.odd.noun(), made);
  }
  auto around = index.parameter_dtypes(call.process, mix.odd.parameter);
  const bool is_alone = around[mix.met.dtype] >= 4;
  const std::string others = is_alone
                                 ? fmt::format(", while {} others are {}", around[mix.met.dtype],
                                               dtype_name(mix.met.dtype))
                                 : "";
  const std::string made = made_text(source);
  const char* unknown = is_alone ? "was loaded or made in" : "is";
  return fmt::format(
      "the parameter {} {}{}", mix.odd.parameter,
      made.empty() ? fmt::format("{} {}", unknown, dtype_name(mix.odd.dtype)) : "was " + made,
      others);
}

// How the odd operand came to its dtype; "" when that is not known.
std::string origin_reason(const RunIndex& index, const OpCall& call, const Mix& mix,
                          const Provenance& source) {
  const std::string dtype = dtype_name(mix.odd.dtype);
  if (mix.odd.is_parameter()) return parameter_reason(index, call, mix, source);
  if (source.promotion != nullptr) {
    return fmt::format("{} promoted it to {}, because its {} is {}{}", made_by(*source.promotion),
                       dtype, source.promoted_by->name, dtype, made_from(source));
  }
  const std::string made = how_made(source);
  return made.empty() ? "" : fmt::format("the {} {}", mix.odd.noun(), made);
}

std::string autocast_reason(const RunIndex& index, const OpCall& call, const Mix& mix) {
  const std::string device = device_of(mix);
  if (index.has(call, ops::kBackward)) {
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

// Of a parameter whose name is not known.
std::string cast_holder(const OpCall& call, const Side& side, Dtype wanted) {
  return fmt::format("the module that holds the {}: module{}{}", side.noun(),
                     is_in_cpp(call) ? "->" : ".", to_dtype(call, wanted).substr(1));
}

std::string fix_table(const OpCall& call, const Provenance& source, Dtype wanted) {
  const std::string owner = owner_module(source.parameter->parameter);
  const std::string whole = fmt::format("{}.to(dtype={})", owner, torch_dtype(wanted));
  const bool is_told = source.maker != nullptr && is_users_own(source.maker->site);
  const std::string since = is_told ? ", " + place(source.maker->site) : "";
  if (!source.parameter->requires_grad) return whole + since;
  return fmt::format("cast what {} gives: {}; or, if it is not trained, {}{}", owner,
                     to_dtype(call, wanted), whole, since);
}

// Where the dtype came in, when that is a line that the user can edit.
std::string fix_at_origin(const OpCall& call, const Mix& mix, const Provenance& source) {
  if (source.promotion == nullptr) return "";
  const std::string cast = to_dtype(call, mix.met.dtype);
  if (source.parameter != nullptr) return fix_table(call, source, mix.met.dtype);
  if (source.maker != nullptr && is_users_own(source.maker->site)) {
    return fmt::format("cast it where it is made: {}: append {}", place(source.maker->site), cast);
  }
  if (!is_users_own(source.promotion->site)) return "";
  return fmt::format("cast {} before it is mixed in: {}: {}{}", source.promoted_by->name,
                     place(source.promotion->site), source.promoted_by->name, cast);
}

std::string module_of(const OpCall& call, const Mix& mix) {
  const std::string& parameter = mix.odd.is_parameter() ? mix.odd.parameter : mix.met.parameter;
  return call.site.module.empty() ? root_module(owner_module(parameter))
                                  : root_module(call.site.module);
}

bool is_trainable(const Mix& mix) {
  return mix.odd.operand->requires_grad && mix.odd.operand->is_leaf;
}

std::string fix_parameter(const OpCall& call, const Mix& mix) {
  const std::string owner = owner_module(mix.odd.parameter);
  const std::string whole = fmt::format("{}.to(dtype={})", owner, torch_dtype(mix.met.dtype));
  if (owner.empty()) {
    return fmt::format("cast the {}, {}{}, or {}", mix.odd.noun(), mix.odd.operand->name,
                       to_dtype(call, mix.met.dtype), cast_holder(call, mix.odd, mix.met.dtype));
  }
  if (!is_trainable(mix)) return whole;
  return fmt::format("cast the {}: {}{}; or, if {} is not trained, {}", mix.met.noun(),
                     mix.met.operand->name, to_dtype(call, mix.odd.dtype), owner, whole);
}

// Half or BFloat16 flows into Float weights: autocast would lower the weights; a frozen model can
// be lowered once. Trainable weights must stay Float, so for them only autocast is named.
std::string fix_low_input(const RunIndex& index, const OpCall& call, const Mix& mix) {
  const std::string module = module_of(call, mix);
  const std::string device = device_of(mix);
  const std::string autocast =
      fmt::format("torch.autocast(\"{}\", dtype={})", device, torch_dtype(mix.odd.dtype));
  const std::string subject = module.empty() ? "it" : module;
  if (is_cpu_norm(index, call, mix) || mix.met.parameter.empty()) return "";
  if (mix.met.operand->requires_grad) return fmt::format("run {} under {}", subject, autocast);
  return fmt::format("run {} under {}, or load it in the same dtype: {}.to(dtype={})", subject,
                     autocast, subject, torch_dtype(mix.odd.dtype));
}

// Neither side is known to be a parameter, or to have been cast or promoted: either may be meant.
bool is_open_which_is_odd(const OpCall& call, const Mix& mix, const Provenance& source) {
  const bool is_known = source.promotion != nullptr || source.maker != nullptr ||
                        source.parameter != nullptr || mix.met.is_parameter();
  const auto is_factor = [](const Side& side) {
    return (ops::argument_facts(side.operand->name) & ops::kFactor) != 0;
  };
  const auto tensors = std::count_if(call.operands.begin(), call.operands.end(),
                                     [](const Operand& operand) { return operand.is_floating(); });
  return !is_known && tensors == 2 && call.site.module.empty() && is_factor(mix.odd) &&
         is_factor(mix.met);
}

// Where the batch can be made in the right dtype at once.
std::string in_worker(const Provenance& source) {
  const bool is_known = source.is_from_worker && source.maker != nullptr;
  if (!is_known || !is_users_own(source.maker->site)) return "";
  return fmt::format("; or where the DataLoader's worker makes it, {}", place(source.maker->site));
}

// Inside of a model there is no line to edit: what it is called with has to change.
std::string fix_input(const OpCall& call, const Mix& mix, const Provenance& source) {
  const std::string cast = to_dtype(call, mix.met.dtype);
  const auto& [odd, met] = mix;
  if (is_open_which_is_odd(call, mix, source)) {
    return fmt::format("give both sides one dtype: {}{}, or {}{}", odd.operand->name, cast,
                       met.operand->name, to_dtype(call, odd.dtype));
  }
  if (met.is_parameter() && met.parameter.empty()) {
    return fmt::format("cast the {}, {}{}, or {}", odd.noun(), odd.operand->name, cast,
                       cast_holder(call, met, odd.dtype));
  }
  const bool came_from_outside = source.promotion == nullptr && !call.site.module.empty();
  if (!came_from_outside || !mix.met.is_parameter()) {
    return fmt::format("cast the {}: {}{}", mix.odd.noun(), mix.odd.operand->name, cast);
  }
  const std::string where = place(call.site);
  return fmt::format("cast what {} is called with{}: x{}{}", root_module(call.site.module),
                     where.empty() ? "" : ", " + where, cast, in_worker(source));
}

}  // namespace

std::string mix_fix(const RunIndex& index, const OpCall& call, const Mix& mix,
                    const Provenance& source) {
  if (const std::string text = fix_at_origin(call, mix, source); !text.empty()) return text;
  if (ops::facts_of_forward(call.op) & ops::kLoss) {
    return "cast both sides before the loss: prediction.float(), target.float()";
  }
  if (mix.odd.is_parameter()) return fix_parameter(call, mix);
  if (kLowPrecision.contains(mix.odd.dtype) && mix.met.dtype == Dtype::kFloat) {
    if (const std::string text = fix_low_input(index, call, mix); !text.empty()) return text;
  }
  return fix_input(call, mix, source);
}

std::string mix_why(const RunIndex& index, const OpCall& call, const Mix& mix,
                    const Provenance& source) {
  const std::string origin = origin_reason(index, call, mix, source);
  const std::string autocast = autocast_reason(index, call, mix);
  return origin.empty() ? autocast : origin + "; " + autocast;
}

}  // namespace dtypecheck::rules
