#include "reports/html_autocast.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/autocast_record.h"
#include "reports/html_findings.h"
#include "reports/words.h"

namespace dtypecheck::reports {

namespace {

constexpr size_t kMaxLines = 100;
constexpr int kBarWidth = 160;

// The policy of the page allows no styles in it, but an SVG's attributes are none.
void bar(double share, DtypeSet to, HtmlWriter& html) {
  const double width = std::max(1.0, share * kBarWidth);
  html.open("svg", "bar",
            {{"width", std::to_string(kBarWidth)}, {"height", "12"}, {"aria-hidden", "true"}});
  html.element("rect", dtype_class(to), "",
               {{"width", fmt::format("{:.1f}", width)}, {"height", "12"}, {"rx", "2"}});
  html.close("svg");
}

void dtype(Dtype one, HtmlWriter& html) {
  html.element("span", dtype_class(DtypeSet(one)), dtype_name(one));
}

void places(const Report& report, const Site& site, HtmlWriter& html) {
  html.open("td").element("span", "place", place(report, site.line));
  if (has_inner(site)) html.element("div", "detail", "inside " + place(report, site.inner));
  html.close("td");
}

std::string weights_text(const AutocastCast& cast) {
  if (cast.weights_per_step == 0) return "";
  std::string text = number_text(cast.weights_per_step) + " of weights";
  if (cast.uncached) return text + ", in each use: they require no gradient";
  return cast.repeats ? text + ", again in every step" : text;
}

void write_bill(const Report& report, const std::vector<AutocastCast>& casts, HtmlWriter& html) {
  double count = 0, bytes = 0;
  for (const AutocastCast& cast : casts) {
    count += cast.per_step;
    bytes += cast.bytes_per_step;
  }
  html.element("p", "",
               fmt::format("{} casts a step write {}.", number_text(count), bytes_text(bytes)));
  html.line();
  html.open_table("bill", "Casts that autocast made, by line",
                  {"line", "from", "to", "#casts a step", "#bytes a step", "share", "weights"});
  const size_t shown = std::min(casts.size(), kMaxLines);
  const double most = casts.front().bytes_per_step;
  for (size_t i = 0; i < shown; ++i) {
    const AutocastCast& cast = casts[i];
    html.open("tr");
    places(report, cast.site, html);
    html.open("td");
    dtype(cast.from, html);
    html.close("td").open("td");
    dtype(cast.to, html);
    html.close("td").element("td", "number", number_text(cast.per_step));
    html.element("td", "number", bytes_text(cast.bytes_per_step)).open("td");
    bar(most > 0 ? cast.bytes_per_step / most : 0, cast.to, html);
    html.close("td").element("td", "", weights_text(cast)).close("tr").line();
  }
  html.close_table();
  if (shown < casts.size()) {
    html.element("p", "quiet",
                 "and " + counted(casts.size() - shown, "more line") + ", all in the JSON");
  }
}

// Op calls for which autocast did the same, for the same reason.
struct Decided {
  uint64_t calls = 0, casts = 0, cache_hits = 0;
};
using Decisions = std::map<std::tuple<AutocastDecision, std::string, std::string>, Decided>;

Decisions decisions_of(const Report& report, const std::vector<AutocastRecord>& records) {
  Decisions all;
  for (const AutocastRecord& record : records) {
    const OpCall& call = *report.run.call(record.call);
    Decided& decided = all[{record.decision, call.op, record.why}];
    decided.calls += call.count;
    decided.casts += record.casts.value_or(0);
    decided.cache_hits += record.cache_hits.value_or(0);
  }
  return all;
}

void write_decisions(const Decisions& decisions, HtmlWriter& html) {
  html.open_table("decisions", "What autocast decided for which op",
                  {"op", "decision", "#calls", "#casts", "#from its cache", "why"});
  size_t written = 0;
  for (const auto& [key, decided] : decisions) {
    if (++written > kMaxLines) break;
    const auto& [decision, op, why] = key;
    html.open("tr").element("th", "", op, {{"scope", "row"}});
    html.element("td", "", decision_name(decision));
    html.element("td", "number", grouped(decided.calls));
    html.element("td", "number", grouped(decided.casts));
    html.element("td", "number", grouped(decided.cache_hits));
    html.element("td", "", why).close("tr").line();
  }
  html.close_table();
  if (decisions.size() > kMaxLines) {
    html.element("p", "quiet",
                 "and " + counted(decisions.size() - kMaxLines, "more op") + ", all in the JSON");
  }
}

}  // namespace

void write_autocast(const Report& report, HtmlWriter& html) {
  const AutocastSummary summary = summarize_autocast(report.run);
  if (summary.casts.empty() && summary.calls.empty()) return;
  html.open_section("autocast", "autocast", "What autocast did");
  if (!summary.casts.empty()) write_bill(report, summary.casts, html);
  if (!summary.calls.empty()) {
    html.open("details").element("summary", "", "Decisions, op by op").line();
    write_decisions(decisions_of(report, summary.calls), html);
    html.close("details").line();
  }
  html.close("section").line();
}

}  // namespace dtypecheck::reports
