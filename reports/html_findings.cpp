#include "reports/html_findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/printable.h"
#include "reports/causes.h"
#include "reports/words.h"

namespace dtypecheck::reports {

namespace {

constexpr size_t kMaxFindings = 300;
constexpr size_t kMaxOperands = 24;

const char* card_class(Severity severity) {
  static constexpr const char* kClasses[] = {"card note", "card warning", "card error"};
  return kClasses[static_cast<int>(severity)];
}

const char* dtype_class(DtypeSet dtypes) {
  if (dtypes.within(kLowPrecision)) return "dtype half";
  if (dtypes.within(kFloating)) {
    return dtypes.contains(Dtype::kDouble) ? "dtype double" : "dtype float";
  }
  return "dtype";
}

class FindingCards {
 public:
  FindingCards(const Report& report, HtmlWriter& html) : report_(report), html_(html) {}

  void write(const std::vector<Cause>& forest) {
    for (const Cause& cause : forest) {
      if (written_ == kMaxFindings) return;
      card(cause);
    }
  }

  size_t written() const { return written_; }

 private:
  void card(const Cause& cause) {
    const Finding& finding = *cause.finding;
    ++written_;
    html_.open("article", card_class(finding.severity)).line();
    head(finding);
    where(finding);
    if (const OpCall* call = report_.run.call(finding.call)) op(finding, *call);
    explained("why", finding.why);
    cures(finding);
    related(finding);
    rule(finding);
    nested(cause.consequences);
    html_.close("article").line();
  }

  void head(const Finding& finding) {
    html_.open("h3");
    html_.element("span", "severity", severity_name(finding.severity)).text(" ");
    html_.element("span", "message", finding.message).text(" ");
    html_.element("span", "rule", finding.rule).close("h3").line();
  }

  void where(const Finding& finding) {
    html_.open("p", "where");
    part("place", place(report_, finding.site.line));
    if (finding.site.line.known()) part("function", finding.site.line.function);
    part("module", finding.site.module);
    part("", when(report_, finding));
    html_.close("p").line();
    code(finding.site.line);
    if (!has_inner(finding.site)) return;
    html_.open("p", "where inner").text("inside ");
    part("place", place(report_, finding.site.inner));
    if (finding.site.inner.known()) part("function", finding.site.inner.function);
    html_.close("p").line();
  }

  void part(const char* classes, const std::string& text) {
    if (!text.empty()) html_.element("span", classes, text).text(" ");
  }

  void code(const SourceLine& line) {
    const std::string text = code_at(report_, line);
    if (!text.empty()) html_.open("pre").element("code", "", text).close("pre").line();
  }

  void op(const Finding& finding, const OpCall& call) {
    html_.open("p", "op").element("code", "", call.op);
    if (call.outcome == Outcome::kReturned) {
      html_.text(" returned ");
      for (const Operand& result : call.results) tensor(result);
    } else {
      const bool plain = call.error_type.empty() || call.error_type == "c10::Error";
      html_.text(plain ? " raised" : " raised " + call.error_type);
    }
    html_.close("p").line();
    error(call);
    autocast(call);
    operands(finding, call);
  }

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
    if (call.outcome == Outcome::kRepaired) {
      html_.element("p", "quiet",
                    "its operands were cast and the run went on: what it computes is not valid");
    }
  }

  void autocast(const OpCall& call) {
    std::vector<std::string> regions;
    for (const AutocastState::Region& region : call.autocast.enabled) {
      regions.push_back(fmt::format("{}: {}", region.device, dtype_name(region.dtype)));
    }
    const std::string state = regions.empty() ? "off" : "on for " + joined(regions, ", ");
    html_.element("p", "quiet", "autocast was " + state).line();
  }

  void operands(const Finding& finding, const OpCall& call) {
    if (call.operands.empty()) return;
    html_.open("div", "scroll").open("table", "operands").line();
    html_.open("thead").open("tr");
    for (const char* name :
         {"operand", "dtype", "shape", "what it is", "where its dtype is from"}) {
      html_.element("th", "", name);
    }
    html_.close("tr").close("thead").line().open("tbody").line();
    size_t shown = 0;
    size_t hidden = 0;
    for (const Operand& operand : call.operands) {
      const bool odd = !finding.odd_operand.empty() && operand.name == finding.odd_operand;
      if (shown == kMaxOperands && !odd) {
        ++hidden;
        continue;
      }
      operand_row(call, operand, odd);
      shown += odd ? 0 : 1;
    }
    html_.close("tbody").close("table").close("div").line();
    if (hidden > 0) {
      html_.element("p", "quiet", "and " + counted(hidden, "more operand") + ", all in the JSON");
    }
  }

  void operand_row(const OpCall& call, const Operand& operand, bool odd) {
    html_.open("tr", odd ? "odd" : "");
    html_.open("th").text(operand.name);
    if (odd) html_.element("span", "mark", "odd one out");
    html_.close("th");
    html_.open("td").element("span", dtype_class(operand.dtypes), operand.dtypes.to_string());
    html_.close("td").element("td", "shape", shape_text(operand));
    html_.open("td").text(what_it_is(operand));
    if (!operand.parameter.empty()) html_.text(" ").element("code", "", operand.parameter);
    html_.close("td").open("td");
    origin(call, operand);
    html_.close("td").close("tr").line();
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
    const Provenance provenance = report_.provenance.of(call, operand);
    if (provenance.steps.empty()) return;
    html_.open("ol", "origin");
    for (const auto& [step, left_out_before] : shown_steps(provenance)) {
      if (left_out_before > 0)
        html_.element("li", "quiet", counted(left_out_before, "op") + " between");
      html_.open("li");
      if (step->is_in_worker && provenance.is_probable) html_.text("probably ");
      html_.element("code", "", step_name(*step)).text(" ");
      part("place", place(report_, step->call->site.line));
      part("source", code_at(report_, step->call->site.line));
      if (step->giver != nullptr && is_parameter(*step->giver))
        html_.text("from ").element("code", "", step->giver->parameter);
      html_.close("li");
    }
    html_.close("ol");
  }

  void explained(const char* label, const std::string& text) {
    if (text.empty()) return;
    html_.open("div", "explained").element("b", "", label).open("div");
    for (const std::string& line : printable_lines(text)) html_.element("p", "", line);
    html_.close("div").close("div").line();
  }

  void cures(const Finding& finding) {
    const bool is_cure =
        !finding.cures.empty() && finding.cures.front().text == finding.fix;
    explained("fix", finding.fix + (is_cure ? verdict_words(finding.cures.front()) : ""));
    if (finding.cures.size() < 2) return;
    html_.open("details").element("summary", "", "Other cures").open("ul");
    for (size_t i = is_cure ? 1 : 0; i < finding.cures.size(); ++i) {
      const Cure& cure = finding.cures[i];
      html_.element("li", "", printable(cure.text + verdict_words(cure, true)));
    }
    html_.close("ul").close("details").line();
  }

  void related(const Finding& finding) {
    std::vector<const OpCall*> calls;
    for (const OpCallId id : finding.related) {
      if (const OpCall* call = report_.run.call(id)) calls.push_back(call);
    }
    if (calls.empty()) return;
    html_.open("details");
    html_.element("summary", "", counted(calls.size(), "more op call") + " of this cause");
    html_.open("ul");
    const size_t shown = std::min(calls.size(), kMaxOperands);
    for (size_t i = 0; i < shown; ++i) related_call(*calls[i]);
    if (shown < calls.size()) {
      html_.element("li", "quiet", fmt::format("and {} more", calls.size() - shown));
    }
    html_.close("ul").close("details").line();
  }

  void related_call(const OpCall& call) {
    html_.open("li").element("code", "", call.op).text(" ");
    part("place", place(report_, call.site.line));
    part("module", call.site.module);
    html_.close("li");
  }

  void rule(const Finding& finding) {
    const auto found = std::find_if(report_.rules.begin(), report_.rules.end(),
                                    [&](const Doc& doc) { return doc.id == finding.rule; });
    if (found == report_.rules.end()) return;
    html_.open("details").element("summary", "", "About the rule " + finding.rule);
    html_.element("p", "", found->summary).element("p", "", found->why);
    html_.element("p", "", found->fix);
    html_.close("details").line();
  }

  void nested(const std::vector<Cause>& cards) {
    if (cards.empty()) return;
    html_.element("p", "then", "and, as a consequence:").line();
    write(cards);
  }

  const Report& report_;
  HtmlWriter& html_;
  size_t written_ = 0;
};

}  // namespace

void write_findings(const Report& report, HtmlWriter& html) {
  if (report.findings.empty()) return;
  html.open("section").element("h2", "", "Findings").line();
  FindingCards cards(report, html);
  cards.write(causes(report.findings));
  if (cards.written() < report.findings.size()) {
    html.element("p", "quiet",
                 fmt::format("the first {} of {} findings; --format json has all",
                             grouped(cards.written()), grouped(report.findings.size())));
  }
  html.close("section").line();
}

}  // namespace dtypecheck::reports
