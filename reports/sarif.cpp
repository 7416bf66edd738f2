// sarif.cpp: SARIF 2.1.0, as GitHub's code scanning takes it: a document for each rule, four
// numbers for each region, and a fingerprint that stays when lines above are added.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "reports/causes.h"
#include "reports/formats.h"
#include "reports/line_hashes.h"
#include "reports/words.h"

namespace dtypecheck::reports {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxText = 1'024;  // GitHub cuts descriptions there
constexpr size_t kMaxPlaces = 100;  // that it shows

std::string shortened(const std::string& text) {
  return text.size() <= kMaxText ? text : text.substr(0, kMaxText - 3) + "...";
}

// A path as the reference of a URI.
std::string uri_of(const std::string& path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_' || c == '~';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path.starts_with('/') ? "file://" + uri : uri;
}

const char* level_of(Severity severity) { return severity_name(severity); }  // the same words

class SarifLog {
 public:
  explicit SarifLog(const Report& report) : report_(report) {}

  Json json() {
    Json results = Json::array();
    for (const Cause& cause : causes(report_.findings)) results.push_back(result(cause));
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
    const std::string markdown =
        fmt::format("{}\n\n**Fix:** {}\n\n```\n{}\n```", doc.why, doc.fix, doc.example);
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

  Json result(const Cause& cause) {
    const Finding& finding = *cause.finding;
    Json json = {{"ruleId", finding.rule},
                 {"level", level_of(finding.severity)},
                 {"message", {{"text", finding.message}}},
                 {"locations", Json::array()}};
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
    add_consequences(cause, places);
    if (!places.empty()) json["relatedLocations"] = std::move(places);
    if (!finding.edits.empty()) json["fixes"] = Json::array({fix(finding)});
    json["partialFingerprints"] = fingerprints(finding);
    json["properties"]["fix"] = finding.fix;
    if (!finding.cures.empty())
      json["properties"]["verdict"] = cure_verdict_name(finding.cures.front().verdict);
    return json;
  }

  // The way of the odd operand's dtype, from the op that made it to the line of the finding.
  Json dtype_flow(const Finding& finding) {
    const OpCall* call = report_.run.call(finding.call);
    const Operand* odd = call == nullptr ? nullptr : call->operand(finding.odd_operand);
    if (odd == nullptr) return {};
    const Provenance provenance = report_.provenance.of(*call, *odd);
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
      const int end = edit.column + static_cast<int>(edit.old_text.size());
      Json& of_file = replacements.try_emplace(edit.file, Json::array()).first->second;
      of_file.push_back({{"deletedRegion",
                          {{"startLine", edit.line},
                           {"startColumn", edit.column},
                           {"endLine", edit.line},
                           {"endColumn", end}}},
                         {"insertedContent", {{"text", edit.new_text}}}});
    }
    Json changes = Json::array();
    for (auto& [file, of_file] : replacements) {
      changes.push_back({{"artifactLocation", {{"uri", uri_of(relative_path(report_, file))}}},
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

  void add_consequences(const Cause& cause, Json& places) {
    for (const Cause& consequence : cause.consequences) {
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
    const int first = std::max(1, column);
    Json json = {{"physicalLocation",
                  {{"artifactLocation", {{"uri", uri_of(relative_path(report_, line.file))}}},
                   {"region",
                    {{"startLine", line.line},
                     {"startColumn", first},
                     {"endLine", line.line},
                     {"endColumn", std::max(first + 1, end_column)}}}}}};
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
  std::map<std::string, std::vector<std::string>> hashes_;
};

}  // namespace

void write_sarif(const Report& report, std::ostream& out) {
  out << SarifLog(report).json().dump(1, ' ', true, Json::error_handler_t::replace) << '\n';
}

}  // namespace dtypecheck::reports
