#include "reports/judging/accepted.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "platform/nearest.h"
#include "reports/formatting.h"
#include "reports/judging/config.h"
#include "reports/judging/known_ids.h"
#include "rules/engine/rule.h"

namespace dtypecheck::judging {

void say_accepted(reports::Report& report, size_t dropped, const std::string& by) {
  if (dropped == 0) return;
  report.remarks.push_back(fmt::format("{} accepted by {}; --all shows {}",
                                       reports::counted(dropped, "finding"), by,
                                       dropped == 1 ? "it" : "them"));
}

void drop_accepted_by_file(reports::Report& report, const std::string& path) {
  std::vector<rules::Suppression> unused;
  say_accepted(report, rules::suppress(report.findings, rules::read_suppressions(path), &unused),
               path);
  for (const rules::Suppression& suppression : unused) {
    report.remarks.push_back(fmt::format("{}:{}: nothing matches {} any more; remove the line",
                                         path, suppression.text_line, suppression.rule));
  }
}

// It serves every program of the project, so what this one does not need is not reported.
void drop_accepted_by_config(reports::Report& report) {
  const Config* config = project_config();
  if (config == nullptr) return;
  say_accepted(report, rules::suppress(report.findings, config->accepted),
               path_below(report.base_folder, config->path));
}

void say_faulty(reports::Report& report, const analyzer::Allowances& comments,
                const std::function<std::string(int)>& place) {
  const auto say = [&](int line, const std::string& what) {
    const std::string remark = fmt::format("{}: {}", place(line), what);
    const auto& said = report.remarks;
    if (std::find(said.begin(), said.end(), remark) == said.end()) report.remarks.push_back(remark);
  };
  for (const int line : comments.without_reason())
    say(line, "allow() without a reason accepts nothing; write the reason after a colon");
  for (const auto& [line, id] : comments.named()) {
    if (is_known_id(id)) continue;
    say(line, fmt::format("allow({}): there is no such rule{}", id,
                          suggestion(id, known_ids(), "dtypecheck rules lists them")));
  }
}

namespace {

// What the comments on two lines allow: the finding's, and the one above it.
class LineComments {
 public:
  explicit LineComments(reports::Report& report) : report_(report) {}

  bool allow(const std::string& rule, const SourceLine& line) {
    if (!line.known() || line.line <= 0) return false;
    const std::string above = line.line > 1 ? report_.line_text(line.file, line.line - 1) : "";
    const std::string text = above + "\n" + report_.line_text(line.file, line.line) + "\n";
    if (text.find("dtypecheck") == text.npos) return false;
    const analyzer::Allowances comments(text, analyzer::Allowances::Reads::kOwnComments);
    const auto place = [&](int at) { return reports::place({line.file, line.line - 2 + at, ""}); };
    if (seen_.insert(place(2)).second) say_faulty(report_, comments, place);
    return comments.allows(rule, 2);
  }

 private:
  reports::Report& report_;
  std::set<std::string> seen_;
};

}  // namespace

void drop_allowed_on_lines(reports::Report& report) {
  if (!report.line_text) return;
  LineComments comments(report);
  const size_t dropped = rules::drop_findings(report.findings, [&](const Finding& finding) {
    return comments.allow(finding.rule, finding.site.line) ||
           comments.allow(finding.rule, finding.site.inner);
  });
  say_accepted(report, dropped, "comments in the source");
}

}  // namespace dtypecheck::judging
