// text.cpp: the report for people in a terminal. A normal run fills one screen: the first findings
// in full as far as they fit, the others in a line each, and at the end what was looked at.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <utility>

#include "platform/printable.h"
#include "reports/cast_table.h"
#include "reports/causes.h"
#include "reports/formatting.h"
#include "reports/report.h"
#include "reports/summary.h"
#include "reports/text_finding.h"

namespace dtypecheck::reports {

namespace {

using Lines = std::vector<std::string>;

constexpr size_t kAllFullLines = 24;   // when all findings fit in so many, all are shown in full …
constexpr size_t kSomeFullLines = 14;  // … otherwise the first ones, to leave room for the others
constexpr size_t kBriefFindings = 10;
constexpr size_t kCaveats = 6;

struct ListedFinding {
  const Finding* finding;
  Indent indent;
  size_t same = 0;  // further notes of the same rule about the same file, which it stands for
};

void flatten(const std::vector<CauseTree>& forest, Indent indent, std::vector<ListedFinding>& out) {
  for (const CauseTree& cause : forest) {
    out.push_back({cause.finding, indent});
    flatten(cause.consequences, {indent.depth + 1, "then "}, out);
  }
}

// Notes about source that are alike are one line a file: most may well be so on purpose.
std::vector<ListedFinding> folded(const Report& report, std::vector<ListedFinding> entries) {
  if (!report.scan || report.all) return entries;
  std::map<std::pair<std::string, std::string>, size_t> first;  // by file and rule, in `alike`
  std::vector<ListedFinding> others, alike;
  for (const ListedFinding& entry : entries) {
    const Finding& finding = *entry.finding;
    if (finding.severity != Severity::kNote) {
      others.push_back(entry);
      continue;
    }
    const auto [at, is_new] =
        first.try_emplace({finding.site.line.file, finding.rule}, alike.size());
    is_new ? alike.push_back(entry) : void(++alike[at->second].same);
  }
  const auto is_alone = [](const ListedFinding& entry) { return entry.same == 0; };
  std::stable_partition(alike.begin(), alike.end(), is_alone);
  others.insert(others.end(), alike.begin(), alike.end());
  return others;
}

size_t finding_count(const std::vector<ListedFinding>& entries, size_t first) {
  size_t count = 0;
  for (size_t i = first; i < entries.size(); ++i) count += 1 + entries[i].same;
  return count;
}

// The first cause, and what the run died of where that came of it.
size_t always_full(const Report& report, const std::vector<ListedFinding>& entries) {
  constexpr size_t kOfSource = 5;  // findings about source seldom follow from one another
  if (report.scan) return kOfSource;
  constexpr size_t kMost = 3;
  for (size_t i = 0; i < entries.size() && i < kMost; ++i) {
    if (i > 0 && entries[i].indent.depth == 0) break;
    const OpCall* call = report.run.call(entries[i].finding->call);
    if (call != nullptr && call->outcome == Outcome::kThrew) return i + 1;
  }
  return 1;
}

struct Full {
  Lines lines;
  size_t shown = 0;  // how many entries from the first on
};

Full full_findings(const Report& report, const std::vector<ListedFinding>& entries,
                   size_t max_lines) {
  Full full;
  const size_t always = always_full(report, entries);
  for (const ListedFinding& entry : entries) {
    if (entry.same > 0) break;
    const Lines next = full_finding(report, *entry.finding, entry.indent);
    const bool fits = full.lines.size() + 1 + next.size() <= max_lines;
    if (!report.all && full.shown >= always && !fits) break;
    if (full.shown > 0 && entry.indent.depth == 0) full.lines.emplace_back();
    full.lines.insert(full.lines.end(), next.begin(), next.end());
    ++full.shown;
  }
  return full;
}

Full full_findings(const Report& report, const std::vector<ListedFinding>& entries) {
  Full full = full_findings(report, entries, kAllFullLines);
  if (full.shown == entries.size()) return full;
  return full_findings(report, entries, kSomeFullLines);
}

// One line of the user's may have many alike below it, in a model's layers: what tells them apart
// is the line there.
bool has_twin(const std::vector<ListedFinding>& entries, size_t first, const Finding& finding) {
  return std::count_if(entries.begin() + static_cast<ptrdiff_t>(first), entries.end(),
                       [&](const ListedFinding& entry) {
                         return entry.finding->message == finding.message &&
                                entry.finding->site.line == finding.site.line;
                       }) > 1;
}

Lines brief_lines(const Report& report, const std::vector<ListedFinding>& entries, size_t first) {
  Lines lines;
  const size_t end = std::min(entries.size(), first + kBriefFindings);
  for (size_t i = first; i < end; ++i) {
    Finding finding = *entries[i].finding;
    if (finding.site.inner.known() && has_twin(entries, first, finding))
      finding.message += fmt::format(", in {}", place(finding.site.inner));
    if (entries[i].same > 0)
      finding.message = fmt::format("{} like this: {}", entries[i].same + 1, finding.message);
    lines.push_back(brief_finding(report, finding, entries[i].indent));
  }
  if (end < entries.size()) {
    lines.push_back(fmt::format("… and {}", counted(finding_count(entries, end), "more finding")));
  }
  if (first < entries.size()) lines.push_back("(--all shows every finding in full)");
  return lines;
}

void add_paragraph(const Lines& lines, Lines& out) {
  out.insert(out.end(), lines.begin(), lines.end());
  if (!lines.empty()) out.emplace_back();
}

void add_caveats(const Report& report, Lines& out) {
  const Lines lines = caveats(report);
  const size_t shown = report.all ? lines.size() : std::min(lines.size(), kCaveats);
  const size_t columns = text_columns(report);
  for (size_t i = 0; i < shown; ++i) {
    // A path that is cut in two cannot be copied out of a file or a pipe.
    const Lines pieces = report.shortens ? wrap(lines[i], columns - 2) : Lines{lines[i]};
    for (size_t k = 0; k < pieces.size(); ++k) out.push_back((k == 0 ? "" : "  ") + pieces[k]);
  }
  if (shown < lines.size()) {
    out.push_back(
        fmt::format("… and {} (--all shows them)", counted(lines.size() - shown, "more remark")));
  }
}

// The versions stand behind the headline where there is room, else above it.
void add_summary(const Report& report, Lines& out) {
  const Paint paint(report.colour);
  const std::string said = headline(report);
  const std::string libtorch =
      report.scan ? printable(report.scan->headers) : libtorch_text(report.run);
  const size_t columns = text_columns(report);
  const bool together = display_width(said) + 2 + display_width(libtorch) <= columns;
  if (!together) out.push_back(paint.dim(fitted_start(report, libtorch, columns)));
  const bool behind = together && !libtorch.empty();
  for (const std::string& piece : wrap(behind ? said + "; " + libtorch : said, columns)) {
    out.push_back(paint.bold(piece));
  }
}

// The bill is of use to who looks for time; who looks for a fault gets its sum.
Lines casts(const Report& report) {
  const bool has_fault = std::ranges::any_of(report.findings, [](const Finding& finding) {
    return finding.severity >= Severity::kWarning;
  });
  Lines table = cast_table(report);
  if (table.empty() || report.all || !has_fault) return table;
  return cast_sum(report);
}

// What has scrolled out of a terminal is what to do first: it stands once more at the end.
void add_advice(const Report& report, const std::vector<ListedFinding>& entries, Lines& out) {
  constexpr size_t kRowsBelow = 2;  // the prompt
  if (entries.empty() || out.size() + kRowsBelow <= static_cast<size_t>(report.rows)) return;
  if (report.rows == 0) return;
  for (std::string& line : advice(report, *entries.front().finding)) out.push_back(std::move(line));
}

}  // namespace

void write_text(const Report& report, std::ostream& out) {
  Lines lines;
  for (const std::string& heading : {pretended_heading(report), seen_whole(report)})
    if (!heading.empty()) add_paragraph(wrap(heading, text_columns(report)), lines);
  std::vector<ListedFinding> entries;
  flatten(causes(report.findings), {}, entries);
  entries = folded(report, std::move(entries));
  Full full = full_findings(report, entries);
  const bool belongs = full.shown < entries.size() && entries[full.shown].indent.depth > 0;
  if (!full.lines.empty() && !belongs) full.lines.emplace_back();
  lines.insert(lines.end(), full.lines.begin(), full.lines.end());
  add_paragraph(brief_lines(report, entries, full.shown), lines);
  add_paragraph(casts(report), lines);
  add_caveats(report, lines);
  add_summary(report, lines);
  add_advice(report, entries, lines);
  for (const std::string& line : lines) out << line << '\n';
}

}  // namespace dtypecheck::reports
