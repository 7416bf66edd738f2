// json.cpp: the report for programs. docs/report-schema.json describes every field; a field that is
// renamed, removed or given another meaning raises kSchema.
#include <nlohmann/json.hpp>
#include <ostream>

#include "core/autocast_record.h"
#include "core/cast_bill.h"
#include "reports/formatting.h"
#include "reports/report.h"
#include "reports/summary.h"
#include "trace/op_call_fields.h"

namespace dtypecheck::reports {

namespace {

using trace::text_or_null;
using Json = nlohmann::ordered_json;  // fields stand in the order in which people read them

constexpr int kSchema = 1;

// How the report shows paths in the JSON of op calls.
trace::PathText paths(const Report& report) {
  return [&report](const std::string& file) { return path_below(report.base_folder, file); };
}

Json line_json(const Report& report, const SourceLine& line) {
  return trace::line_json(line, paths(report));
}

Json location_json(const Report& report, const Site& site, uint32_t step) {
  return trace::location_json(site, step, paths(report));
}

Json origin_json(const Report& report, const OpCall& reader, const Operand& operand) {
  Json chain = Json::array();
  const Provenance provenance = report.provenance.trace_back(reader, operand);
  for (const auto& [step, left_out_before] : shown_steps(provenance)) {
    const OpCall* call = step->call;
    Json link = {{"op", call->op}};
    link.update(line_json(report, call->site.line));
    link["code"] = text_or_null(code_at(report, call->site.line));
    link["module"] = text_or_null(call->site.module);
    link["phase"] = phase_name(call->site.phase);
    link["step"] = call->first_step;
    link["kind"] = step_kind_name(step->kind);
    link["operand"] = step->from == nullptr ? Json() : Json(step->from->name);
    link["parameter"] = step->from == nullptr ? Json() : text_or_null(step->from->parameter);
    link["process"] = call->process;
    link["probable"] = step->is_in_worker && provenance.is_probable;
    link["left_out_before"] = left_out_before;
    chain.push_back(std::move(link));
  }
  return chain;
}

void add_call(const Report& report, const Finding& finding, const OpCall& call, Json& json) {
  trace::add_call_json(call, json);
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Operand& operand = call.operands[i];
    Json& one = json["operands"][i];
    one["odd"] = !finding.odd_operand.empty() && operand.name == finding.odd_operand;
    one["origin"] = origin_json(report, call, operand);
  }
}

// Where on the line: of source always, of a run where the interpreter tells it; and the places that
// only a finding about source has.
void add_columns(const Report& report, const Finding& finding, Json& json) {
  const Extent& extent = finding.site.line.extent;
  if (finding.column == 0 && extent.known()) {
    json["location"]["column"] = extent.column;
    json["location"]["end_line"] = extent.end_line;
    json["location"]["end_column"] = extent.end_column;
  }
  if (finding.column == 0) return;
  json["location"]["column"] = finding.column;
  json["location"]["end_column"] = finding.end_column;
  json["places"] = Json::array();
  for (const NotedPlace& place : finding.places) {
    Json one = line_json(report, place.line);
    one["column"] = place.column;
    one["end_column"] = place.end_column;
    one["note"] = place.note;
    json["places"].push_back(std::move(one));
  }
}

Json source_json(const SourceScan& scan) {
  return {{"analysed", scan.analysed},       {"partly", scan.partly},
          {"mostly_lost", scan.mostly_lost}, {"not_analysed", scan.not_analysed},
          {"functions", scan.functions},     {"headers", text_or_null(scan.headers)}};
}

Json related_json(const Report& report, const Finding& finding) {
  Json related = Json::array();
  for (const OpCallId id : finding.related) {
    const OpCall* call = report.run.call(id);
    if (call == nullptr) continue;
    related.push_back({{"op", call->op},
                       {"location", location_json(report, call->site, call->first_step)},
                       {"outcome", outcome_name(call->outcome)},
                       {"count", call->count}});
  }
  return related;
}

Json cures_json(const Report& report, const Finding& finding) {
  Json cures = Json::array();
  for (const Cure& cure : finding.cures) {
    Json json = {
        {"kind", cure_kind_name(cure.kind)},
        {"dtype", cure.dtype == Dtype::kUndefined ? Json() : Json(dtype_name(cure.dtype))}};
    json.update(line_json(report, cure.where));
    json["operand"] = text_or_null(cure.operand);
    json["text"] = cure.text;
    cures.push_back(std::move(json));
  }
  return cures;
}

Json finding_json(const Report& report, const Finding& finding) {
  Json json = {{"id", finding.id},
               {"rule", finding.rule},
               {"severity", severity_name(finding.severity)},
               {"message", finding.message},
               {"why", finding.why},
               {"fix", finding.fix},
               {"proof", text_or_null(finding.proof)},
               {"diff", text_or_null(finding.diff)},
               {"origin", line_json(report, finding.origin)},
               {"cures", cures_json(report, finding)},
               {"count", finding.count},
               {"follows", text_or_null(finding.follows)},
               {"process", finding.process},
               {"location", location_json(report, finding.site, finding.first_step)}};
  const OpCall* call = report.run.call(finding.call);
  call == nullptr ? trace::add_no_call_json(json) : add_call(report, finding, *call, json);
  json["related"] = related_json(report, finding);
  add_columns(report, finding, json);
  return json;
}

// The one version that the processes agree on; null when they do not, or when none is known.
Json agreed(const Run& run, std::string Process::* field) {
  const std::vector<std::string> values = values_of(run, field);
  return values.size() == 1 ? Json(values.front()) : Json();
}

Json runtime_json(const Run& run) {
  return {{"libtorch", agreed(run, &Process::libtorch)},
          {"python", agreed(run, &Process::python)},
          {"devices", devices(run)},
          {"values_checked", run.values_checked}};
}

struct Totals {
  uint64_t op_calls = 0;
  uint64_t signatures = 0;
};

std::vector<Totals> totals_by_process(const Run& run) {
  std::vector<Totals> totals(run.processes.size());
  for (const OpCall& call : run.calls) {
    if (call.process >= totals.size()) continue;
    totals[call.process].op_calls += call.count;
    totals[call.process].signatures += 1;
  }
  return totals;
}

Json process_json(const Report& report, const Process& process, const Totals& totals) {
  const std::optional<double> seconds = seconds_of(process);
  return {{"file", path_below(report.base_folder, process.file)},
          {"host", text_or_null(process.host)},
          {"pid", process.pid},
          {"parent_pid", process.parent_pid},
          {"rank", process.rank < 0 ? Json() : Json(process.rank)},
          {"command", process.command},
          {"executable", process.executable},
          {"libtorch", text_or_null(process.libtorch)},
          {"python", text_or_null(process.python)},
          {"devices", process.devices},
          {"started", text_or_null(time_text(process.started_unix_ns))},
          {"seconds", seconds ? Json(*seconds) : Json()},
          {"end", end_state_name(process.end)},
          {"complete", process.complete()},
          {"damaged", text_or_null(process.damaged)},
          {"events", process.events},
          {"op_calls", totals.op_calls},
          {"signatures", totals.signatures},
          {"signatures_lost", process.signatures_lost},
          {"steps", process.steps},
          {"steps_traced", process.steps_traced},
          {"facts", process.facts}};
}

Json processes_json(const Report& report) {
  Json processes = Json::array();
  const std::vector<Totals> totals = totals_by_process(report.run);
  for (size_t i = 0; i < totals.size(); ++i) {
    processes.push_back(process_json(report, report.run.processes[i], totals[i]));
  }
  return processes;
}

Json rules_json(const Report& report) {
  Json rules = Json::array();
  for (const Doc& rule : report.rules) {
    rules.push_back({{"id", rule.id},
                     {"severity", severity_name(rule.severity)},
                     {"summary", rule.summary},
                     {"why", rule.why},
                     {"fix", rule.fix},
                     {"example", rule.example}});
  }
  return rules;
}

Json autocast_call_json(const Report& report, const AutocastRecord& record) {
  const OpCall& call = *report.run.call(record.call);
  Json region = {{"device", record.device},
                 {"dtype", record.region_dtype ? Json(dtype_name(*record.region_dtype)) : Json()},
                 {"entered", line_json(report, record.entered)}};
  return {{"op", call.op},
          {"location", location_json(report, call.site, call.first_step)},
          {"process", call.process},
          {"count", call.count},
          {"decision", decision_name(record.decision)},
          {"region", std::move(region)},
          {"casts", record.casts ? Json(*record.casts) : Json()},
          {"cache_hits", record.cache_hits ? Json(*record.cache_hits) : Json()},
          {"why", text_or_null(record.why)}};
}

// Where it is, of what, and how often: of each cast, whoever made it.
Json cast_place_json(const Report& report, const CastLine& cast) {
  return {{"location", line_json(report, cast.site.line)},
          {"inner", has_inner(cast.site) ? line_json(report, cast.site.inner) : Json()},
          {"from", dtype_name(cast.from)},
          {"to", dtype_name(cast.to)},
          {"count", cast.count}};
}

void add_weights(const CastLine& cast, Json& json) {
  json["weights_per_step"] = trace::number_json(cast.weights_per_step);
  json["weights"] = cast.weights;
  json["repeats_every_step"] = cast.repeats;
  json["uncached"] = cast.uncached;
}

Json autocast_cast_json(const Report& report, const CastLine& cast) {
  Json json = cast_place_json(report, cast);
  json["per_step"] = trace::number_json(cast.cost.casts);
  json["bytes_per_step"] = trace::number_json(cast.cost.written_bytes);
  add_weights(cast, json);
  return json;
}

Json autocast_json(const Report& report, const CastBill& bill) {
  Json json = {{"casts", Json::array()}, {"calls", Json::array()}};
  for (const CastLine& cast : bill.lines) {
    if (cast.reason == CastReason::kAutocast && !cast.is_backward)
      json["casts"].push_back(autocast_cast_json(report, cast));
  }
  for (const AutocastRecord& record : autocast_records(report.run)) {
    json["calls"].push_back(autocast_call_json(report, record));
  }
  return json;
}

Json optional_json(const std::optional<double>& value) {
  return value ? trace::number_json(*value) : Json();
}

Json cost_json(const CastCost& cost) {
  return {{"casts", trace::number_json(cost.casts)},
          {"bytes_read", trace::number_json(cost.read_bytes)},
          {"bytes_written", trace::number_json(cost.written_bytes)},
          {"cpu_ns", optional_json(cost.cpu_ns)},
          {"gpu_ns", optional_json(cost.gpu_ns)}};
}

Json cast_line_json(const Report& report, const CastLine& cast) {
  Json json = cast_place_json(report, cast);
  add_weights(cast, json);
  json["reason"] = cast_reason_name(cast.reason);
  json["backward"] = cast.is_backward;
  json["once"] = cast.is_once;
  json["cost"] = cost_json(cast.cost);
  return json;
}

Json casts_json(const Report& report, const CastBill& bill) {
  Json json = {{"per_step", cost_json(bill.per_step)}, {"by_reason", Json::object()}};
  for (uint8_t reason = 0; reason <= static_cast<uint8_t>(kLastCastReason); ++reason)
    json["by_reason"][cast_reason_name(static_cast<CastReason>(reason))] =
        cost_json(bill.by_reason[reason]);
  json["cpu_share"] = optional_json(bill.cpu_share);
  json["gpu_share"] = optional_json(bill.gpu_share);
  json["lines"] = Json::array();
  for (const CastLine& cast : bill.lines) json["lines"].push_back(cast_line_json(report, cast));
  json["modules"] = Json::array();
  for (const ModuleCasts& module : bill.modules)
    json["modules"].push_back(
        {{"module", text_or_null(module.module)}, {"cost", cost_json(module.cost)}});
  return json;
}

Json summary_json(const Summary& summary) {
  return {{"op_calls", summary.op_calls},
          {"signatures", summary.signatures},
          {"steps", summary.steps},
          {"steps_traced", summary.steps_traced},
          {"processes", summary.processes},
          {"causes", summary.findings.causes},
          {"errors", summary.findings.errors},
          {"warnings", summary.findings.warnings},
          {"notes", summary.findings.notes},
          {"consequences", summary.findings.consequences}};
}

Json report_json(const Report& report) {
  Json json = {{"schema", kSchema},
               {"tool", {{"name", "dtypecheck"}, {"version", report.tool_version}}},
               {"runtime", runtime_json(report.run)},
               {"complete", report.complete()},
               {"results_valid", report.results_valid()}};
  json["findings"] = Json::array();
  for (const Finding& finding : report.findings) {
    json["findings"].push_back(finding_json(report, finding));
  }
  const CastBill bill = cast_bill(report.run);
  json["autocast"] = autocast_json(report, bill);
  json["casts"] = casts_json(report, bill);
  json["rules"] = rules_json(report);
  json["processes"] = processes_json(report);
  json["left_out"] = report.left_out;
  json["remarks"] = report.remarks;
  json["summary"] = summary_json(summarize(report));
  if (report.scan) json["source"] = source_json(*report.scan);
  return json;
}

}  // namespace

void write_json(const Report& report, std::ostream& out) {
  // ASCII only, for people print it on terminals too, where C1 controls act. Recorded strings may
  // be no UTF-8: such bytes become U+FFFD instead of an exception.
  out << report_json(report).dump(1, ' ', true, Json::error_handler_t::replace) << '\n';
}

}  // namespace dtypecheck::reports
