#include "cli/op_call_json.h"

#include <nlohmann/json.hpp>

namespace dtypecheck::cli {

using Json = nlohmann::ordered_json;

static void add_text(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

static void add_flag(Json& json, const char* key, bool flag) {
  if (flag) json[key] = true;
}

static Json operand_json(const Operand& operand) {
  Json json;
  add_text(json, "name", operand.name);
  if (!operand.name.empty()) json["role"] = role_name(operand.role);
  if (!operand.dtypes.empty()) json["dtype"] = operand.dtypes.to_string();
  if (operand.has_shape) json["shape"] = operand.shape;
  json["device"] = operand.device.to_string();
  if (operand.kind != TensorKind::kDense) json["kind"] = tensor_kind_name(operand.kind);
  add_flag(json, "requires_grad", operand.requires_grad);
  add_flag(json, "leaf", operand.is_leaf);
  add_flag(json, "written", operand.is_written);
  add_flag(json, "wrapped_number", operand.is_wrapped_number);
  add_text(json, "parameter", operand.parameter);
  if (operand.origin != kNoOpCall) json["origin"] = operand.origin;
  return json;
}

static Json operands_json(const std::vector<Operand>& operands) {
  Json json = Json::array();
  for (const Operand& operand : operands) json.push_back(operand_json(operand));
  return json;
}

static void add_line(Json& json, const char* key, const SourceLine& line) {
  if (!line.known() && line.function.empty()) return;
  Json place;
  add_text(place, "file", line.file);
  if (line.line > 0) place["line"] = line.line;
  add_text(place, "function", line.function);
  json[key] = place;
}

static void add_site(Json& json, const Site& site) {
  add_line(json, "at", site.line);
  if (site.inner != site.line) add_line(json, "inside", site.inner);
  add_text(json, "module", site.module);
  add_text(json, "module_class", site.module_class);
  if (site.phase != Phase::kUnknown) json["phase"] = phase_name(site.phase);
}

static void add_scalars(Json& json, const OpCall& call) {
  for (const ScalarArgument& scalar : call.scalars) {
    json["scalars"][scalar.name] =
        scalar.dtype ? Json(dtype_name(*scalar.dtype)) : Json(scalar.value);
  }
}

static void add_autocast(Json& json, const AutocastState& autocast) {
  for (const AutocastState::Region& region : autocast.enabled) {
    json["autocast"][region.device] = dtype_name(region.dtype);
  }
  add_line(json, "autocast_entered", autocast.entered);
  add_flag(json, "autocast_wrapper", autocast.is_wrapper);
  add_flag(json, "autocast_inner", autocast.is_inner);
}

static void add_outcome(Json& json, const OpCall& call) {
  json["outcome"] = outcome_name(call.outcome);
  add_text(json, "error", call.error);
  add_text(json, "error_type", call.error_type);
  if (call.throws > 0) json["throws"] = call.throws;
  if (call.result_non_finite) json["non_finite"] = call.result_nan ? "nan" : "inf";
  add_flag(json, "operands_were_finite", call.result_non_finite && call.operands_were_finite);
  if (call.inexact) json["inexact"] = {{"from", call.inexact->from}, {"to", call.inexact->to}};
  add_flag(json, "compiled", call.in_compiled_region);
}

std::string op_call_json(const OpCall& call, const Run& run) {
  Json json;
  json["id"] = call.id;
  json["op"] = call.op;
  add_text(json, "overload", call.overload);
  json["operands"] = operands_json(call.operands);
  json["results"] = operands_json(call.results);
  add_scalars(json, call);
  add_site(json, call.site);
  add_autocast(json, call.autocast);
  if (call.parent != kNoOpCall) json["parent"] = call.parent;
  if (call.follows != kNoOpCall) json["follows"] = call.follows;
  add_outcome(json, call);
  json["count"] = call.count;
  json["first_step"] = call.first_step;
  json["last_step"] = call.last_step;
  json["process"] = call.process;
  if (call.process < run.processes.size()) json["pid"] = run.process_of(call).pid;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dtypecheck::cli
