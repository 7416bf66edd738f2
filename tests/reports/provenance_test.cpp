// Over all traces that rules and reports are tested on: table, why, JSON, SARIF and HTML name one
// maker of the odd operand's dtype, and where the way of a dtype is not known none names any.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "platform/error.h"
#include "rules/engine/rule.h"
#include "tests/reports/cases.h"

namespace fs = std::filesystem;

namespace dtypecheck::reports {
namespace {

using Json = nlohmann::json;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::pair<std::string, std::string>> all_traces() {
  std::vector<std::pair<std::string, std::string>> traces;
  const fs::path tests = fs::path(DTYPECHECK_SOURCE_DIR) / "tests";
  for (const fs::path& folder : {tests / "rules", tests / "reports" / "cases"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".trace")
        traces.emplace_back(entry.path().string(), text_of(entry.path()));
    }
  }
  for (const rules::Rule* rule : rules::all_rules())
    traces.emplace_back(rule->doc.id, rule->doc.example);
  return traces;
}

// A link as all formats are held to it: "aten::ones" and "data.py:17".
struct Link {
  explicit Link(const Json& json) : op(json["op"]) {
    if (op.starts_with("python::")) op.erase(0, 8);
    if (json["line"].is_number()) {
      place = fs::path(json["file"].get<std::string>()).filename().string() + ":" +
              std::to_string(json["line"].get<int>());
    }
    is_maker = json["operand"].is_null();
    if (json["parameter"].is_string()) parameter = json["parameter"];
  }
  bool is_in(const std::string& text) const {
    return text.find(op) != text.npos && text.find(place) != text.npos;
  }
  std::string op, place, parameter;  // that it had the dtype from
  bool is_maker = false;
};

// The row of the odd operand in the text, from its last "from" or "<-" on.
std::string last_note(const std::string& text) {
  std::istringstream lines(text);
  std::string row;
  bool is_in_row = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_more = line.starts_with(std::string(10, ' '));
    is_in_row = line.starts_with("    > ") || (is_in_row && is_more);
    if (is_in_row) row += line + "\n";
  }
  const size_t arrow = row.rfind("<- ");
  return arrow == row.npos ? row : row.substr(arrow);
}

// The last item of the list of links in the odd operand's lane of the page.
std::string last_item(const std::string& html) {
  const size_t row = html.find("<li class=\"lane odd\">") + 1;  // an item, too
  const size_t end = html.find("</ol>", row);
  const size_t item = html.rfind("<li", end);
  return item == html.npos || item < row ? "" : html.substr(item, end - item);
}

// What a reason says of makers.
std::vector<std::string> makers_in(const std::string& why) {
  static const std::regex made("(?:cast to|made in) [^ ]+ by ([^;]*)");
  std::vector<std::string> makers;
  for (std::sregex_iterator at(why.begin(), why.end(), made), end; at != end; ++at)
    makers.push_back((*at)[1]);
  return makers;
}

void check_agreement(const Report& report) {
  const Finding& finding = report.findings.front();
  const Json json = Json::parse(written(report, "json"))["findings"][0];
  const Json sarif = Json::parse(written(report, "sarif"))["runs"][0]["results"][0];
  const auto odd = std::find_if(json["operands"].begin(), json["operands"].end(),
                                [](const Json& operand) { return operand["odd"].get<bool>(); });
  if (odd == json["operands"].end() || (*odd)["origin"].empty()) {
    // A finding about no operand may still say where one of them came from.
    for (const std::string& maker : makers_in(finding.why)) {
      CHECK(
          (json["operands"].empty() ||
           std::any_of(json["operands"].begin(), json["operands"].end(), [&](const Json& operand) {
             return !operand["origin"].empty() && Link(operand["origin"].back()).is_in(maker);
           })));
    }
    CHECK_FALSE(sarif.contains("codeFlows"));
    return;
  }
  const Link last((*odd)["origin"].back());
  INFO("odd " << finding.odd_operand << " from " << last.op << " at " << last.place);
  const std::string note = last_note(written(report, "text"));
  CHECK((last.parameter.empty() ? last.is_in(note) : note.find(last.parameter) != note.npos));
  CHECK(last.is_in(last_item(written(report, "html"))));
  if (!last.place.empty()) {
    const Json& place = sarif["codeFlows"][0]["threadFlows"][0]["locations"][0]["location"];
    const std::string uri = place["physicalLocation"]["artifactLocation"]["uri"];
    CHECK(last.is_in(place["message"]["text"].get<std::string>() + " " + uri + ":" +
                     place["physicalLocation"]["region"]["startLine"].dump()));
  }
  const std::vector<std::string> makers = makers_in(finding.why);
  for (const std::string& maker : makers) CHECK((last.is_maker && last.is_in(maker)));
  if (last.is_maker) {
    INFO("why " << finding.why);
    CHECK(last.is_in(finding.why));
  }
}

TEST_CASE("all parts of a finding name one maker of its dtype") {
  size_t with_maker = 0;
  for (const auto& [name, source] : all_traces()) {
    INFO(name);
    const Run run = parse_trace_text(source, name).run;
    for (const Finding& finding : rules::judge(run)) {
      INFO(finding.message);
      const Report report{
          .run = run, .findings = {finding}, .tool_version = "1", .all = true, .columns = 100};
      check_agreement(report);
      const OpCall* call = run.call(finding.call);
      const Operand* odd = call == nullptr ? nullptr : call->operand(finding.odd_operand);
      if (odd != nullptr && report.provenance.trace_back(*call, *odd).maker != nullptr)
        ++with_maker;
    }
  }
  CHECK(with_maker >= 10);  // the cases are found, and some say where
}

}  // namespace
}  // namespace dtypecheck::reports
