// html.cpp: a report as a page. Verdict and findings are there without the script; the
// table of op calls is made by it from a block of data.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "reports/formatting.h"
#include "reports/html_page.h"
#include "reports/html_parts.h"
#include "reports/html_writer.h"
#include "reports/report.h"
#include "reports/summary.h"

namespace dtypecheck::reports {

namespace {

const char* headline_class(const Report& report, const Summary& summary) {
  if (summary.findings.errors > 0) return "headline error";
  if (summary.findings.warnings > 0) return "headline warning";
  if (summary.findings.notes > 0) return "headline note";
  return report.complete() && summary.op_calls > 0 ? "headline clean" : "headline partial";
}

void fact(const char* name, const std::string& value, HtmlWriter& html, const char* classes = "") {
  if (value.empty()) return;
  html.open("div", classes).element("dt", "", name).element("dd", "", value).close("div").line();
}

// One for all processes: they are begun by one command, as a rule, and end one after the other.
std::string took(const Run& run) {
  double longest = -1;
  for (const Process& process : run.processes)
    longest = std::max(longest, seconds_of(process).value_or(-1));
  return longest < 0 ? "" : duration_text(longest);
}

void write_facts(const Report& report, HtmlWriter& html) {
  const Run& run = report.run;
  html.open("dl", "facts").line();
  if (!run.processes.empty()) {
    const Process& first = run.processes.front();
    fact("command", first.command, html, "wide");
    fact("started", time_text(first.started_unix_ns), html);
    fact("took", took(run), html);
    fact("LibTorch", joined(values_of(run, &Process::libtorch), ", "), html);
    fact("Python", joined(values_of(run, &Process::python), ", "), html);
    fact("devices", joined(devices(run), ", "), html);
    fact("host", joined(values_of(run, &Process::host), ", "), html);
  }
  if (report.scan) fact("parsed against", report.scan->headers, html);
  fact("dtypecheck", report.tool_version, html);
  html.close("dl").line();
}

// "1 error, 0 warnings, 2 notes" stands large, and what it was found in below it; "no findings in
// what was recorded" stays whole, for it is no "no findings".
void write_headline(const Report& report, HtmlWriter& html) {
  const std::string said = headline(report);
  const size_t colon = said.find(": ");
  const size_t end = std::min(colon == said.npos ? said.find(" in ") : colon, said.size());
  html.open("header", headline_class(report, summarize(report)), {{"id", "top"}}).line();
  html.element("h1", "", said.substr(0, end)).line();
  if (end < said.size()) {
    html.element("p", "seen", said.substr(end + (colon == said.npos ? 1 : 2))).line();
  }
  write_facts(report, html);
  html.close("header").line();
}

void write_caveats(const Report& report, HtmlWriter& html) {
  const std::vector<std::string> lines = caveats(report);
  if (lines.empty()) return;
  html.open_section("caveats", "caveats", "What to know about this report");
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
  const std::optional<double> seconds = seconds_of(process);
  html.open("tr").element("th", "narrow", process_label(report.run, index), {{"scope", "row"}});
  html.open("td").element("code", "", process.command).close("td");
  html.element("td", "narrow", process.libtorch).element("td", "narrow", process.python);
  html.element("td", "narrow", time_text(process.started_unix_ns));
  html.element("td", "number", seconds ? duration_text(*seconds) : "");
  html.element("td", "number", grouped(process.events));
  html.element("td", "number", steps_text(process));
  html.element("td", "narrow", end_text(process.end));
  html.element("td", "", facts_text(process)).close("tr").line();
}

void write_processes(const Report& report, HtmlWriter& html) {
  if (report.run.processes.empty()) return;
  html.open_section("processes", "processes", "Processes");
  html.open_table("", "The processes of the run",
                  {"process", "command", "LibTorch", "Python", "started", "#took", "#events",
                   "#steps", "end", "facts"});
  for (uint32_t i = 0; i < report.run.processes.size(); ++i) write_process(report, i, html);
  html.close_table().close("section").line();
}

void write_op_calls(const Report& report, HtmlWriter& html) {
  if (report.run.calls.empty()) return;
  html.open_section("ops", "op-calls", "Op calls");
  write_op_call_rows(report, html);
  html.data_block("op-calls", op_calls_json(report)).line();
  html.close("section").line();
}

void write_content(const Report& report, HtmlWriter& html) {
  write_headline(report, html);
  write_caveats(report, html);
  write_causes(report, html);
  if (report.scan) return write_findings(report, html);  // what was not run has no steps
  write_map(report, module_map(report), html);
  write_health(report, html);
  write_steps(report, html);
  write_findings(report, html);
  write_casts(report, html);
  write_autocast(report, html);
  write_op_calls(report, html);
  write_processes(report, html);
}

}  // namespace

void write_html(const Report& report, std::ostream& out) {
  HtmlWriter html;
  write_content(report, html);
  write_page("dtypecheck: " + headline(report), html, out);
}

}  // namespace dtypecheck::reports
