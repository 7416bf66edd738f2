// sarif.cpp: SARIF 2.1.0, as GitHub's code scanning takes it: a document for each rule, four
// numbers for each region, and a fingerprint that stays when lines above are added. The first
// sentence of a message is its title there, so why and cure follow it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "platform/utf8.h"
#include "reports/causes.h"
#include "reports/formatting.h"
#include "reports/line_hashes.h"
#include "reports/report.h"

namespace dtypecheck::reports {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxText = 1'024;     // GitHub cuts descriptions there
constexpr size_t kMaxPlaces = 100;     // that it shows
constexpr size_t kMaxResults = 5'000;  // that it shows; it refuses a file of 25,000

std::string shortened(const std::string& text) {
  return text.size() <= kMaxText ? text : text.substr(0, kMaxText - 3) + "...";
}

int column_at(std::string_view line, size_t byte) { return 1 + utf16_units(line.substr(0, byte)); }

struct Columns {
  int begin = 1, end = 2;
  int more_lines = 0;
};

const char* level_of(Severity severity) { return severity_name(severity); }  // the same words

class SarifLog {
 public:
  explicit SarifLog(const Report& report) : report_(report) {}

  Json json() {
    Json results = Json::array();
    const std::vector<CauseTree> forest = causes(report_.findings);  // the worst first
    for (const CauseTree& cause : forest) {
      if (results.size() == kMaxResults) break;
      results.push_back(result(cause));
    }
    left_out_ = forest.size() - results.size();
    return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
            {"version", "2.1.0"},
            {"runs", Json::array({run(std::move(results))})}};
  }

 private:
  Json run(Json results) {
    Json driver = {{"name", "dtypecheck"},
                   {"semanticVersion", report_.tool_version},
                   {"rules", Json::array()}};
    for (const Doc& doc : report_.rules) driver["rules"].push_back(rule(doc));
    Json invocation = {{"executionSuccessful", report_.complete()}};
    invocation["toolExecutionNotifications"] = Json::array();
    for (const std::string& what : report_.left_out) notify(invocation, "warning", what);
    for (const std::string& what : report_.remarks) notify(invocation, "note", what);
    if (left_out_ > 0) {
      notify(invocation, "warning",
             fmt::format("{} less severe results are left out: code scanning shows {}",
                         grouped(left_out_), grouped(kMaxResults)));
    }
    return {{"tool", {{"driver", std::move(driver)}}},
            {"invocations", Json::array({std::move(invocation)})},
            {"columnKind", "utf16CodeUnits"},
            {"results", std::move(results)}};
  }

  static void notify(Json& invocation, const char* level, const std::string& text) {
    invocation["toolExecutionNotifications"].push_back(
        {{"level", level}, {"message", {{"text", text}}}});
  }

  static Json rule(const Doc& doc) {
    const std::string help = fmt::format("{}\n\nFix: {}", doc.why, doc.fix);
    const std::string markdown = fmt::format("{}\n\n**Fix:** {}", doc.why, doc.fix);
    Json tags = Json::array({"dtype"});
    if (doc.alias != nullptr) tags.push_back(doc.alias);
    return {{"id", doc.id},
            {"name", doc.id},
            {"shortDescription", {{"text", shortened(doc.summary)}}},
            {"fullDescription", {{"text", shortened(doc.why)}}},
            {"help", {{"text", help}, {"markdown", markdown}}},
            {"defaultConfiguration", {{"level", level_of(doc.severity)}}},
            {"properties", {{"tags", std::move(tags)}}}};
  }

  Json result(const CauseTree& cause) {
    const Finding& finding = *cause.finding;
    Json json = {{"ruleId", finding.rule},
                 {"level", level_of(finding.severity)},
                 {"message", {{"text", message(finding)}}},
                 {"locations", Json::array()}};
    if (report_.is_beside_baseline) json["baselineState"] = "new";
    for (size_t i = 0; i < report_.rules.size(); ++i) {
      if (report_.rules[i].id == finding.rule) json["ruleIndex"] = i;
    }
    const SourceLine& line = finding.site.line;
    if (line.known() && line.line > 0) {
      json["locations"].push_back(location(line, finding.column, finding.end_column));
    }
    if (Json flow = dtype_flow(finding); !flow.empty())
      json["codeFlows"] = Json::array({std::move(flow)});
    Json places = related(finding);
    add_makers(finding, places);
    add_consequences(cause, places);
    if (!places.empty()) json["relatedLocations"] = std::move(places);
    if (!finding.edits.empty()) json["fixes"] = Json::array({fix(finding)});
    json["partialFingerprints"] = fingerprints(finding);
    json["properties"] = properties(finding);
    return json;
  }

  std::string message(const Finding& finding) const {
    std::string text = finding.message;
    if (!text.ends_with('.')) text += '.';
    if (!finding.why.empty()) text += fmt::format("\n\nWhy: {}", finding.why);
    const Fix fix = fix_of(report_, finding);
    if (fix.text.empty()) return text;
    std::string label = fix.label;
    label.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(label.front())));
    text += fmt::format("\n\n{}: {}", label, fix.text);
    return finding.diff.empty() ? text : text + "\n\n" + finding.diff;
  }

  Json properties(const Finding& finding) const {
    Json json = {{"fix", finding.fix}, {"count", finding.count}};
    if (!finding.proof.empty()) json["proof"] = finding.proof;
    if (!finding.site.module.empty()) json["module"] = finding.site.module;
    const OpCall* call = report_.run.call(finding.call);
    if (call == nullptr) return json;
    json["phase"] = phase_name(finding.site.phase);
    json["step"] = finding.first_step;
    json["op"] = call->op;
    if (!call->error.empty()) json["error"] = shortened(call->error);
    json["operands"] = Json::array();
    for (const Operand& operand : call->operands) {
      Json one = {{"name", operand.name}, {"dtype", operand.dtypes.to_string()}};
      if (operand.has_shape) one["shape"] = operand.shape;
      if (!operand.parameter.empty()) one["parameter"] = operand.parameter;
      if (operand.name == finding.odd_operand) one["odd"] = true;
      json["operands"].push_back(std::move(one));
    }
    return json;
  }

  // Where each operand that the finding is about got its dtype: the odd one, or all floating ones.
  void add_makers(const Finding& finding, Json& places) {
    const OpCall* call = report_.run.call(finding.call);
    if (call == nullptr) return;
    std::set<std::pair<std::string, int>> listed;
    for (const Operand& operand : call->operands) {
      const Provenance provenance = report_.provenance.trace_back(*call, operand);
      if (provenance.steps.empty() || !operand.is_floating()) continue;
      const ProvenanceStep& step = provenance.steps.back();
      const SourceLine& line = step.call->site.line;
      const bool is_listed =
          line == finding.site.line || !listed.insert({line.file, line.line}).second;
      if (is_listed || !line.known() || line.line <= 0 || places.size() == kMaxPlaces) continue;
      Json json = location(line, 0, 0);
      json["id"] = places.size();
      json["message"] = {{"text", fmt::format("{} is {} from here: {}", operand.name,
                                              operand.dtypes.to_string(), step_name(step))}};
      places.push_back(std::move(json));
    }
  }

  static Json region(int line, Columns columns) {
    return {{"startLine", line},
            {"startColumn", columns.begin},
            {"endLine", line + columns.more_lines},
            {"endColumn", columns.end}};
  }

  // What was analysed has columns, and a call of a run where the interpreter tells them; else the
  // region goes from the first letter of the line to its last, where its text is.
  Columns columns_of(const SourceLine& line, int column, int end_column) const {
    if (column > 0) return {column, std::max(column + 1, end_column)};
    const auto text_of = [&](int number) {
      return report_.line_text ? report_.line_text(line.file, number) : std::string();
    };
    const std::string text = text_of(line.line);
    if (const Extent& extent = line.extent; extent.known()) {
      const int more_lines = extent.end_line - line.line;
      const std::string last = more_lines == 0 ? text : text_of(extent.end_line);
      const auto has = [](const std::string& of, int column) {
        return of.size() + 1 >= size_t(column);
      };
      if (has(text, extent.column) && has(last, extent.end_column)) {
        return {column_at(text, extent.column - 1), column_at(last, extent.end_column - 1),
                more_lines};
      }
    }
    const size_t first = text.find_first_not_of(" \t");
    if (first == text.npos) return {};
    return {column_at(text, first), column_at(text, text.find_last_not_of(" \t\r\n") + 1)};
  }

  // The way of the odd operand's dtype, from the op that made it to the line of the finding.
  Json dtype_flow(const Finding& finding) {
    const OpCall* call = report_.run.call(finding.call);
    const Operand* odd = call == nullptr ? nullptr : call->operand(finding.odd_operand);
    if (odd == nullptr) return {};
    const Provenance provenance = report_.provenance.trace_back(*call, *odd);
    Json places = Json::array();
    for (auto step = provenance.steps.rbegin(); step != provenance.steps.rend(); ++step)
      add_flow_place(step->call->site.line, step_sentence(provenance, *step), places);
    if (places.empty()) return {};
    add_flow_place(finding.site.line, finding.message, places);
    return {{"message", {{"text", fmt::format("where {} has its dtype from", odd->name)}}},
            {"threadFlows", Json::array({{{"locations", std::move(places)}}})}};
  }

  void add_flow_place(const SourceLine& line, const std::string& text, Json& places) {
    if (!line.known() || line.line <= 0) return;
    Json json = location(line, 0, 0);
    json["message"] = {{"text", text}};
    places.push_back({{"location", std::move(json)}});
  }

  Json fix(const Finding& finding) {
    std::map<std::string, Json> replacements;  // by file
    for (const SourceEdit& edit : finding.edits) {
      Json& of_file = replacements.try_emplace(edit.file, Json::array()).first->second;
      const auto [end_line, end_column] = end_of(edit);
      const auto column = [&](int line, int bytes) {
        const std::string text = report_.line_text ? report_.line_text(edit.file, line) : "";
        return text.empty() ? bytes : column_at(text, static_cast<size_t>(bytes) - 1);
      };
      const Columns columns{column(edit.line, edit.column), column(end_line, end_column),
                            end_line - edit.line};
      of_file.push_back({{"deletedRegion", region(edit.line, columns)},
                         {"insertedContent", {{"text", edit.new_text}}}});
    }
    Json changes = Json::array();
    for (auto& [file, of_file] : replacements) {
      changes.push_back(
          {{"artifactLocation", {{"uri", uri_of(path_below(report_.base_folder, file))}}},
           {"replacements", std::move(of_file)}});
    }
    return {{"description", {{"text", finding.fix}}}, {"artifactChanges", std::move(changes)}};
  }

  Json related(const Finding& finding) {
    Json places = Json::array();
    for (const NotedPlace& place : finding.places) {
      if (places.size() == kMaxPlaces) break;
      Json json = location(place.line, place.column, place.end_column);
      json["id"] = places.size();
      json["message"] = {{"text", place.note}};
      places.push_back(std::move(json));
    }
    return places;
  }

  void add_consequences(const CauseTree& cause, Json& places) {
    for (const CauseTree& consequence : cause.consequences) {
      const Finding& finding = *consequence.finding;
      const std::string text = fmt::format("then {}: {} [{}]", severity_name(finding.severity),
                                           finding.message, finding.rule);
      Json json = finding.site.line.known() && finding.site.line.line > 0
                      ? location(finding.site.line, finding.column, finding.end_column)
                      : Json::object();
      json["id"] = places.size();
      json["message"] = {{"text", text}};
      if (places.size() < kMaxPlaces) places.push_back(std::move(json));
      add_consequences(consequence, places);
    }
  }

  Json location(const SourceLine& line, int column, int end_column) {
    Json json = {
        {"physicalLocation",
         {{"artifactLocation", {{"uri", uri_of(path_below(report_.base_folder, line.file))}}},
          {"region", region(line.line, columns_of(line, column, end_column))}}}};
    if (!line.function.empty()) {
      json["logicalLocations"] = Json::array({{{"name", line.function}, {"kind", "function"}}});
    }
    return json;
  }

  Json fingerprints(const Finding& finding) {
    Json json = {{"dtypecheckFinding/v1", finding.id}};
    const std::vector<std::string>& hashes = hashes_of(finding.site.line.file);
    const size_t line = static_cast<size_t>(std::max(0, finding.site.line.line));
    if (line > 0 && line <= hashes.size()) json["primaryLocationLineHash"] = hashes[line - 1];
    return json;
  }

  const std::vector<std::string>& hashes_of(const std::string& file) {
    const auto [at, is_new] = hashes_.try_emplace(file);
    if (is_new && report_.file_text && !file.empty()) {
      at->second = line_hashes(report_.file_text(file));
    }
    return at->second;
  }

  const Report& report_;
  size_t left_out_ = 0;  // results
  std::map<std::string, std::vector<std::string>> hashes_;
};

}  // namespace

void write_sarif(const Report& report, std::ostream& out) {
  out << SarifLog(report).json().dump(1, ' ', true, Json::error_handler_t::replace) << '\n';
}

}  // namespace dtypecheck::reports
