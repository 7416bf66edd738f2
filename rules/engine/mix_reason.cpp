#include "rules/engine/mix_reason.h"

#include <fmt/format.h>

#include <algorithm>

#include "rules/engine/formatting.h"

namespace dtypecheck::rules {
namespace {

// "the input", and "tensors1[0]", which is a name; one operand, whatever it is called.
std::string subject_of(const Side& side) {
  const std::string noun = side.noun();
  const bool is_plural = noun == "values" || noun == "indices" || noun == "weights";
  return noun.find_first_of("[.") != noun.npos ? noun
         : is_plural                           ? "the operand " + noun
                                               : "the " + noun;
}

bool is_cpu_norm(const RunIndex& index, const OpCall& call) {
  return index.has(call, ops::kNorm) && call.device_type() == "cpu";
}

// "the parameter unet.conv_in.weight was cast to Half by aten::_to_copy at load.py:5, while 12
// others are Float"
std::string parameter_reason(const RunIndex& index, const OpCall& call, const Mix& mix,
                             const Provenance& source) {
  if (mix.odd.parameter.empty()) {
    const std::string made = how_made(source);
    return made.empty() ? "" : fmt::format("{} {}", subject_of(mix.odd), made);
  }
  auto around = index.parameter_dtypes(call.process, mix.odd.parameter);
  const bool is_alone = around[mix.other.dtype] >= 4;
  const std::string others = is_alone
                                 ? fmt::format(", while {} others are {}", around[mix.other.dtype],
                                               dtype_name(mix.other.dtype))
                                 : "";
  const std::string made = made_text(source);
  const char* since = raised_since(index, call, mix.odd)
                          ? ", in an earlier call, and nothing lowered it again"
                      : replaced_since(index, call, mix.odd) ? ", and was Float before"
                                                             : "";
  const char* unknown = is_alone ? "was loaded or made in" : "is";
  return fmt::format(
      "the parameter {} {}{}{}", mix.odd.parameter,
      made.empty() ? fmt::format("{} {}", unknown, dtype_name(mix.odd.dtype)) : "was " + made,
      since, others);
}

// What was cast is named: that may be a weight, as whatever the op takes it.
std::string cast_parameter_reason(const RunIndex& index, const Mix& mix, const Provenance& source) {
  const OpCall* cast = source.maker;
  if (cast == nullptr || !index.has(*cast, ops::kCast) || cast->operands.empty()) return "";
  const Operand& parameter = cast->operands.front();
  if (!is_parameter(parameter)) return "";
  const bool is_it = std::all_of(source.steps.begin(), source.steps.end() - 1,
                                 [&](auto& step) { return index.has(*step.call, ops::kPassesOn); });
  return fmt::format("{}{} was {}", is_it ? "" : subject_of(mix.odd) + " comes of ",
                     parameter.parameter + (is_it ? "" : ", which"), made_text(source));
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
  if (const std::string cast = cast_parameter_reason(index, mix, source); !cast.empty())
    return cast;
  const std::string made = how_made(source);
  return made.empty() ? "" : fmt::format("{} {}", subject_of(mix.odd), made);
}

// "the weight was cast to BFloat16 by aten::_to_copy at train.py:13": also what was met did not
// have its dtype by default, or has it among parameters that have the other: an adapter that was
// made after its model was lowered.
std::string met_reason(const RunIndex& index, const OpCall& call, const Mix& mix) {
  if (!mix.other.is_parameter()) return "";
  const Provenance provenance = index.provenance().trace_back(call, *mix.other.operand);
  if (provenance.maker == nullptr || provenance.parameter != nullptr) return "";
  const std::string made = fmt::format("; {} was {}", subject_of(mix.other), made_text(provenance));
  if (mix.other.dtype != Dtype::kFloat || index.has(*provenance.maker, ops::kCast)) return made;
  const bool is_among = index.has_parameters_in(call.process, mix.odd.dtype);
  return is_among ? made + ", beside parameters in " + dtype_name(mix.odd.dtype) : "";
}

std::string autocast_reason(const RunIndex& index, const OpCall& call,
                            contracts::Acceptance under_autocast) {
  const std::string device = call.device_type();
  if (index.has(call, ops::kBackward)) {
    return "the forward op accepted the mix, its backward does not";
  }
  if (const AutocastState::Region* region = call.autocast.region_for(device)) {
    if (is_cpu_norm(index, call)) {
      return fmt::format(
          "autocast is on for cpu, but CPU autocast has no rule for {}, so nothing "
          "casts its operands",
          call.short_op());
    }
    return fmt::format("autocast is on for {}:{}, but did not cast the operands of this call",
                       device, dtype_name(region->dtype));
  }
  if (const OpCall* then = index.autocast_then(call)) {
    const bool is_same_line = then->site.line == call.site.line;
    return fmt::format("autocast is off for {} here; {} ran before in the region of {}", device,
                       is_same_line ? "the same line" : root_module(call.site.module),
                       place(Site{.line = then->autocast.entered}));
  }
  if (const OpCall* elsewhere = index.autocast_elsewhere(call.process, device)) {
    return fmt::format("autocast is off for {} here, though it is on elsewhere in this run{}",
                       device, at_place(elsewhere->site));
  }
  switch (under_autocast) {
    case contracts::Acceptance::kAccepts:
      return fmt::format(
          "autocast is off for {} here, so nothing casts one side to the other's dtype", device);
    case contracts::Acceptance::kRejects:
      return "nothing casts one side to the other's dtype, and autocast would not either";
    case contracts::Acceptance::kUnknown:
      break;
  }
  return "nothing casts one side to the other's dtype";
}

}  // namespace

std::string mix_why(const RunIndex& index, const OpCall& call, const Mix& mix,
                    const Provenance& source, contracts::Acceptance under_autocast) {
  const std::string origin = origin_reason(index, call, mix, source) + met_reason(index, call, mix);
  const std::string autocast = autocast_reason(index, call, under_autocast);
  if (origin.empty()) return autocast;
  return (origin.starts_with("; ") ? origin.substr(2) : origin) + "; " + autocast;
}

}  // namespace dtypecheck::rules
