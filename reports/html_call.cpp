// html_call.cpp: the op call of a finding's card: what it was given, and where that had its dtypes.
#include <fmt/format.h>

#include "platform/printable.h"
#include "reports/formatting.h"
#include "reports/html_parts.h"

namespace dtypecheck::reports {
namespace {

constexpr size_t kMaxOperands = 24;

class CallWriter {
 public:
  CallWriter(const Report& report, HtmlWriter& html) : report_(report), html_(html) {}

  void write(const Finding& finding, const OpCall& call) {
    html_.open("div", "call");
    html_.open("p", "op");
    write_op_name(report_, html_, call);
    if (call.outcome == Outcome::kReturned) {
      html_.text(report_.scan ? " returns " : " returned ");
      for (const Operand& result : call.results) tensor(result);
    } else {
      const bool plain = call.error_type.empty() || call.error_type == "c10::Error";
      const std::string verb = report_.scan ? " raises" : " raised";
      html_.text(plain ? verb : verb + " " + call.error_type);
    }
    html_.text(" ");
    autocast(call);
    html_.close("p").line();
    error(call);
    operands(finding, call);
    html_.close("div").line();
  }

 private:
  void tensor(const Operand& tensor) {
    html_.element("span", dtype_class(tensor.dtypes), tensor.dtypes.to_string());
    html_.element("span", "shape", shape_text(tensor)).text(" ");
  }

  void error(const OpCall& call) {
    if (call.error.empty()) return;
    const std::vector<std::string> lines = printable_lines(call.error);
    const bool is_long = lines.size() > 6 || call.error.size() > 600;
    if (is_long) {
      html_.open("details").element("summary", "", shorten(lines.front(), 120));
    }
    html_.open("pre", "raised");
    for (const std::string& line : lines) html_.text(line).line();
    html_.close("pre");
    if (is_long) html_.close("details");
    html_.line();
    if (const std::string how = went_on(call); !how.empty()) html_.element("p", "quiet", how);
  }

  void autocast(const OpCall& call) {
    std::vector<std::string> regions;
    for (const AutocastState::Region& region : call.autocast.enabled) {
      regions.push_back(fmt::format("{}: {}", region.device, dtype_name(region.dtype)));
    }
    const std::string state = regions.empty() ? "off" : "on for " + joined(regions, ", ");
    html_.element("span", "state", "autocast was " + state);
  }

  void operands(const Finding& finding, const OpCall& call) {
    if (call.operands.empty()) return;
    html_.open("ul", "operands").line();
    size_t shown = 0;
    size_t hidden = 0;
    for (const Operand& operand : call.operands) {
      const bool odd = !finding.odd_operand.empty() && operand.name == finding.odd_operand;
      if (shown == kMaxOperands && !odd) {
        ++hidden;
        continue;
      }
      operand_lane(call, operand, odd);
      shown += odd ? 0 : 1;
    }
    html_.close("ul").line();
    if (hidden > 0) {
      html_.element("p", "quiet", "and " + counted(hidden, "more operand") + ", all in the JSON");
    }
  }

  // The operand, and behind it the way that its dtype came.
  void operand_lane(const OpCall& call, const Operand& operand, bool odd) {
    html_.open("li", odd ? "lane odd" : "lane");
    html_.open("div", "chip").element("b", "name", operand.name).text(" ");
    html_.element("span", dtype_class(operand.dtypes), operand.dtypes.to_string()).text(" ");
    html_.element("span", "shape", shape_text(operand)).text(" ");
    html_.element("span", "quiet", what_it_is(operand));
    if (odd) html_.text(" ").element("span", "mark", "odd one out");
    if (!operand.parameter.empty())
      html_.open("div").element("code", "", operand.parameter).close("div");
    html_.close("div");
    origin(call, operand);
    html_.close("li").line();
  }

  static std::string what_it_is(const Operand& operand) {
    std::vector<std::string> words = {role_name(operand.role)};
    if (operand.device.type != "cpu") words.push_back(operand.device.to_string());
    if (operand.kind != TensorKind::kDense) words.push_back(tensor_kind_name(operand.kind));
    if (operand.is_leaf) words.push_back("trainable");
    if (operand.is_written) words.push_back("written");
    return joined(words, ", ");
  }

  void origin(const OpCall& call, const Operand& operand) {
    const Provenance provenance = report_.provenance.trace_back(call, operand);
    if (provenance.steps.empty()) return;
    html_.open("ol", "origin");
    for (const auto& [step, left_out_before] : shown_steps(provenance)) {
      if (left_out_before > 0)
        html_.element("li", "quiet", counted(left_out_before, "op") + " between");
      const bool made_it = step->from == nullptr || step->kind != ProvenanceStep::Kind::kPassedOn;
      html_.open("li", made_it ? "step made" : "step");
      if (step->is_in_worker && provenance.is_probable) html_.text("probably ");
      html_.element("code", "", step_name(*step)).text(" ");
      if (made_it) write_part(html_, "kind", step_kind_name(step->kind));
      const Site& site = step->call->site;
      write_part(html_, "place", place(site.line));
      if (has_inner(site)) write_part(html_, "source", "inside " + place(site.inner));
      if (!(site.line == call.site.line)) write_part(html_, "source", code_at(report_, site.line));
      if (step->from != nullptr && is_parameter(*step->from))
        html_.text("from ").element("code", "", step->from->parameter);
      html_.close("li");
    }
    html_.close("ol");
  }

  const Report& report_;
  HtmlWriter& html_;
};

}  // namespace

void write_part(HtmlWriter& html, const char* classes, const std::string& text) {
  if (!text.empty()) html.element("span", classes, text).text(" ");
}

void write_op_name(const Report& report, HtmlWriter& html, const OpCall& call) {
  if (report.scan) {
    html.element("b", "name", call.op);
  } else {
    html.element("a", "name", call.op, {{"href", fmt::format("#op:{}", call.id)}});
  }
}

void write_call(const Report& report, HtmlWriter& html, const Finding& finding,
                const OpCall& call) {
  CallWriter(report, html).write(finding, call);
}

}  // namespace dtypecheck::reports
