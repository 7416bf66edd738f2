#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/printable.h"
#include "platform/text.h"
#include "reports/causes.h"
#include "reports/formatting.h"
#include "reports/html_parts.h"

namespace dtypecheck::reports {

namespace {

constexpr size_t kMaxFindings = 300;
constexpr size_t kMaxRelated = 24;
constexpr size_t kFirstCauses = 5;
constexpr size_t kOpenConsequences = 2;  // more of them are folded away
constexpr int kLinesAround = 2;

const char* card_class(Severity severity) {
  static constexpr const char* kClasses[] = {"card note", "card warning", "card error"};
  return kClasses[static_cast<int>(severity)];
}

size_t size_of(const std::vector<CauseTree>& forest) {
  size_t size = forest.size();
  for (const CauseTree& cause : forest) size += size_of(cause.consequences);
  return size;
}

std::string dtypes_text(const OpCall* call) {
  DtypeSet all;
  if (call != nullptr) {
    for (const std::vector<Operand>* tensors : {&call->operands, &call->results}) {
      for (const Operand& tensor : *tensors) all |= tensor.dtypes;
    }
  }
  return all.to_string();
}

class FindingCards {
 public:
  FindingCards(const Report& report, HtmlWriter& html) : report_(report), html_(html) {}

  void write(const std::vector<CauseTree>& forest) {
    for (const CauseTree& cause : forest) {
      if (written_ == kMaxFindings) return;
      card(cause);
    }
  }

  size_t written() const { return written_; }

 private:
  // What the page's filters ask of a card stands in its attributes.
  void card(const CauseTree& cause) {
    const Finding& finding = *cause.finding;
    const OpCall* call = report_.run.call(finding.call);
    ++written_;
    html_.open("article", card_class(finding.severity),
               {{"id", finding_anchor(report_, finding)},
                {"data-rule", finding.rule},
                {"data-severity", severity_name(finding.severity)},
                {"data-phase", phase_name(finding.site.phase)},
                {"data-module", finding.site.module},
                {"data-dtypes", dtypes_text(call)}});
    html_.line();
    head(finding);
    where(finding);
    if (call != nullptr) write_call(report_, html_, finding, *call);
    why(finding);
    cures(finding);
    places(finding);
    related(finding);
    rule(finding);
    nested(cause);
    html_.close("article").line();
  }

  void head(const Finding& finding) {
    html_.open("h3");
    html_.element("span", "severity", severity_name(finding.severity)).text(" ");
    html_.element("span", "message", finding.message).text(" ");
    html_.element("span", "rule", finding.rule).text(" ");
    html_.element(
        "a", "anchor", "#",
        {{"href", "#" + finding_anchor(report_, finding)}, {"aria-label", "link to this finding"}});
    html_.close("h3").line();
  }

  void where(const Finding& finding) {
    html_.open("p", "where");
    write_part(html_, "place", place(finding.site.line));
    if (finding.site.line.known()) write_part(html_, "function", finding.site.line.function);
    module(finding.site.module);
    write_part(html_, "when", when(report_, finding));
    html_.close("p").line();
    if (!(finding.site.line == above_)) excerpt(finding.site.line);
    if (has_inner(finding.site)) around("inside ", finding.site.inner);
    if (finding.site.caller.known()) around("called from ", finding.site.caller);
  }

  void around(const char* how, const SourceLine& line) {
    html_.open("p", "where inner").text(how);
    write_part(html_, "place", place(line));
    if (line.known()) write_part(html_, "function", line.function);
    html_.close("p").line();
    excerpt(line);
  }

  void module(const std::string& path) {
    if (path.empty()) return;
    html_.element("a", "module", path, {{"href", module_link(path)}}).text(" ");
  }

  void excerpt(const SourceLine& line) {
    const std::vector<ExcerptLine> lines = excerpt_at(report_, line, kLinesAround);
    if (lines.empty()) return;
    html_.open("pre", "excerpt");
    for (const ExcerptLine& one : lines) {
      html_.open("span", one.is_here ? "line here" : "line");
      html_.element("span", "lineno", std::to_string(one.number)).text(one.text).close("span");
      html_.line();
    }
    html_.close("pre").line();
  }

  void lines_of(const std::string& text) {
    for (const std::string& line : printable_lines(text)) html_.element("p", "", line);
  }

  void why(const Finding& finding) {
    if (finding.why.empty()) return;
    html_.open("div", "explained").element("h4", "", "why").open("div");
    lines_of(finding.why);
    html_.close("div").close("div").line();
  }

  void cures(const Finding& finding) {
    const Fix fix = fix_of(report_, finding);
    if (!fix.text.empty()) {
      html_.open("div", "explained fix").element("h4", "", fix.label).open("div");
      lines_of(finding.fix);
      if (!finding.proof.empty())
        html_.open("p").element("span", "badge good", finding.proof).close("p");
      if (!finding.diff.empty()) diff(finding.diff);
      html_.close("div").close("div").line();
    }
    if (finding.cures.size() < 2) return;
    html_.open("details", "others").element("summary", "", "Other cures").open("ul").line();
    for (const Cure& cure : finding.cures) {
      if (cure.text == finding.fix) continue;
      html_.open("li");
      lines_of(cure.text);
      html_.close("li").line();
    }
    html_.close("ul").close("details").line();
  }

  void diff(const std::string& text) {
    html_.open("pre", "change copied");
    for (const std::string& line : printable_lines(text)) {
      const bool is_added = line.starts_with('+'), is_removed = line.starts_with('-');
      html_.element("span", is_added ? "added" : is_removed ? "removed" : "", line).line();
    }
    html_.close("pre");
  }

  void places(const Finding& finding) {
    if (finding.places.empty()) return;
    html_.open("ul", "places").line();
    for (const NotedPlace& noted : finding.places) {
      html_.open("li").element("span", "place", place(noted.line)).text(" ");
      html_.text(noted.note).close("li").line();
    }
    html_.close("ul").line();
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
    const size_t shown = std::min(calls.size(), kMaxRelated);
    for (size_t i = 0; i < shown; ++i) related_call(*calls[i]);
    if (shown < calls.size()) {
      html_.element("li", "quiet",
                    fmt::format("and {} more; the JSON has all", grouped(calls.size() - shown)));
    }
    html_.close("ul").close("details").line();
  }

  void related_call(const OpCall& call) {
    html_.open("li");
    write_op_name(report_, html_, call);
    html_.text(" ");
    write_part(html_, "place", place(call.site.line));
    module(call.site.module);
    html_.close("li");
  }

  void rule(const Finding& finding) {
    const auto found =
        std::ranges::find_if(report_.rules, [&](const Doc& doc) { return doc.id == finding.rule; });
    if (found == report_.rules.end()) return;
    html_.open("details").element("summary", "", "About the rule " + finding.rule);
    html_.element("p", "", found->summary).element("p", "", found->why);
    html_.element("p", "", found->fix);
    html_.close("details").line();
  }

  void nested(const CauseTree& cause) {
    if (cause.consequences.empty()) return;
    const size_t size = size_of(cause.consequences);
    if (size <= kOpenConsequences) {
      html_.open("details", "then", {{"open", ""}});
    } else {
      html_.open("details", "then");
    }
    html_.element("summary", "", "and " + counted(size, "consequence")).line();
    const SourceLine outer = std::exchange(above_, cause.finding->site.line);
    write(cause.consequences);
    above_ = outer;
    html_.close("details").line();
  }

  const Report& report_;
  HtmlWriter& html_;
  size_t written_ = 0;
  SourceLine above_;  // of the card that this one stands in: it is quoted there
};

void write_cause(const Report& report, const CauseTree& cause, HtmlWriter& html) {
  const Finding& finding = *cause.finding;
  html.open("li", card_class(finding.severity));
  html.element("span", "severity", severity_name(finding.severity)).text(" ");
  html.element("a", "message", finding.message, {{"href", "#" + finding_anchor(report, finding)}});
  html.open("p", "where").element("span", "place", place(finding.site.line)).text(" ");
  html.element("span", "", finding.site.module).text(" ");
  html.element("span", "", when(report, finding)).text(" ");
  if (const size_t more = size_of(cause.consequences); more > 0)
    html.element("span", "", "and " + counted(more, "consequence"));
  html.close("p");
  if (!finding.fix.empty()) {
    html.open("p", "fix")
        .element("b", "", fix_of(report, finding).label)
        .text(" " + shorten(printable(finding.fix), 240));
    html.close("p");
  }
  html.close("li").line();
}

}  // namespace

void write_causes(const Report& report, HtmlWriter& html) {
  const std::vector<CauseTree> forest = causes(report.findings);
  if (forest.empty()) return;
  html.open_section("causes", "causes", "What to fix first").open("ol").line();
  const size_t shown = std::min(forest.size(), kFirstCauses);
  for (size_t i = 0; i < shown; ++i) write_cause(report, forest[i], html);
  html.close("ol").line();
  if (shown < forest.size()) {
    html.element("a", "", counted(forest.size() - shown, "more cause"), {{"href", "#findings"}});
  }
  html.close("section").line();
}

void write_findings(const Report& report, HtmlWriter& html) {
  if (report.findings.empty()) return;
  html.open_section("findings", "findings", "Findings");
  FindingCards cards(report, html);
  cards.write(causes(report.findings));
  if (cards.written() < report.findings.size()) {
    html.element("p", "quiet",
                 fmt::format("the first {} of {} findings; --format json has all",
                             grouped(cards.written()), grouped(report.findings.size())));
  }
  html.close("section").line();
}

// Ids are hashes as a rule; what is no plain word would not do as an id, or in a link.
std::string finding_anchor(const Report& report, const Finding& finding) {
  const bool is_plain =
      !finding.id.empty() &&
      finding.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  if (is_plain) return "f-" + finding.id;
  return fmt::format("f-no-{}", &finding - report.findings.data() + 1);
}

std::string module_link(const std::string& module) {
  std::string link = "#module:";
  for (const char c : printable(module)) {
    const bool is_plain = is_of_name(c) || c == '.';
    link += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return link;
}

const char* dtype_class(DtypeSet dtypes) {
  if (dtypes.within(Dtype::kHalf)) return "dtype half";
  if (dtypes.within(Dtype::kBFloat16)) return "dtype bfloat";
  if (dtypes.within(kFloat8)) return "dtype eight";
  if (dtypes.within(kFloating)) {
    return dtypes.contains(Dtype::kDouble) ? "dtype double" : "dtype float";
  }
  return "dtype other";
}

}  // namespace dtypecheck::reports
