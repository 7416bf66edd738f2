// html.cpp: one page that stands alone: no network, no other file, and nothing in it can run but
// its own script (see html/embed.cmake). Verdict and findings are there without the script; the
// table of op calls is made by it from a block of data.
#include <fmt/format.h>

#include <map>
#include <ostream>

#include "platform/printable.h"
#include "reports/formats.h"
#include "reports/html/page.h"
#include "reports/html_findings.h"
#include "reports/html_op_calls.h"
#include "reports/html_writer.h"
#include "reports/summary.h"
#include "reports/words.h"

namespace dtypecheck::reports {

namespace {

const char* verdict_class(const Report& report, const Summary& summary) {
  if (summary.findings.errors > 0) return "verdict error";
  if (summary.findings.warnings > 0) return "verdict warning";
  if (summary.findings.notes > 0) return "verdict note";
  return report.complete() && summary.op_calls > 0 ? "verdict clean" : "verdict partial";
}

void write_verdict(const Report& report, HtmlWriter& html) {
  html.open("header", verdict_class(report, summarize(report))).line();
  html.element("p", "tool", "dtypecheck " + report.tool_version).line();
  html.element("h1", "", verdict(report)).line();
  const std::string libtorch = libtorch_text(report.run);
  if (!libtorch.empty()) html.element("p", "runtime", libtorch).line();
  html.close("header").line();
}

void write_caveats(const Report& report, HtmlWriter& html) {
  const std::vector<std::string> lines = caveats(report);
  if (lines.empty()) return;
  html.open("section", "caveats").element("h2", "", "What to know about this report").line();
  html.open("ul").line();
  for (const std::string& line : lines) html.element("li", "", line).line();
  html.close("ul").close("section").line();
}

const char* end_text(EndState end) {
  switch (end) {
    case EndState::kRunning:
      return "no end recorded";
    case EndState::kExited:
      return "exited";
    case EndState::kReplaced:
      return "replaced by exec";
  }
  return "";
}

std::string steps_text(const Process& process) {
  if (process.steps_traced >= process.steps) return grouped(process.steps);
  return fmt::format("{} ({} traced)", grouped(process.steps), grouped(process.steps_traced));
}

std::string facts_text(const Process& process) {
  std::vector<std::string> facts;
  for (const auto& [name, value] : process.facts) facts.push_back(name + " = " + value);
  return joined(facts, ", ");
}

void write_process(const Report& report, uint32_t index, HtmlWriter& html) {
  const Process& process = report.run.processes[index];
  html.open("tr").element("th", "", process_label(report.run, index));
  html.open("td").element("code", "", process.command).close("td");
  html.element("td", "", process.libtorch).element("td", "", process.python);
  html.element("td", "number", grouped(process.events));
  html.element("td", "number", steps_text(process));
  html.element("td", "", end_text(process.end));
  html.element("td", "", facts_text(process)).close("tr").line();
}

void write_processes(const Report& report, HtmlWriter& html) {
  if (report.run.processes.empty()) return;
  html.open("section").element("h2", "", "Processes").line();
  html.open("div", "scroll").open("table").line().open("thead").open("tr");
  for (const char* name :
       {"process", "command", "LibTorch", "Python", "events", "steps", "end", "facts"}) {
    html.element("th", "", name);
  }
  html.close("tr").close("thead").line().open("tbody").line();
  for (uint32_t i = 0; i < report.run.processes.size(); ++i) write_process(report, i, html);
  html.close("tbody").close("table").close("div").close("section").line();
}

void write_op_calls(const Report& report, HtmlWriter& html) {
  if (report.run.calls.empty()) return;
  html.open("section", "op-calls").element("h2", "", "Op calls").line();
  html.element("p", "no-script quiet",
               "This table needs JavaScript; dtypecheck dump lists the same.");
  html.line().data_block("op-calls", op_calls_json(report)).line();
  html.close("section").line();
}

std::string content(const Report& report) {
  HtmlWriter html;
  write_verdict(report, html);
  write_caveats(report, html);
  write_findings(report, html);
  write_op_calls(report, html);
  write_processes(report, html);
  return html.html();
}

// Fills {{name}} in one pass: what is filled in is never looked at again.
std::string fill(std::string_view text, const std::map<std::string_view, std::string>& values) {
  std::string out;
  while (true) {
    const size_t begin = text.find("{{");
    const size_t end = text.find("}}", begin);
    out += text.substr(0, begin);
    if (begin == text.npos || end == text.npos) return out;
    out += values.at(text.substr(begin + 2, end - begin - 2));
    text.remove_prefix(end + 2);
  }
}

}  // namespace

void write_html(const Report& report, std::ostream& out) {
  out << fill(page::kTemplate, {{"title", escape_html("dtypecheck: " + verdict(report))},
                                {"style_hash", std::string(page::kStyleHash)},
                                {"script_hash", std::string(page::kScriptHash)},
                                {"style", std::string(page::kStyle)},
                                {"script", std::string(page::kScript)},
                                {"content", content(report)}});
}

}  // namespace dtypecheck::reports
