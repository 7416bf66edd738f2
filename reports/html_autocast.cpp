#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/autocast_record.h"
#include "reports/formatting.h"
#include "reports/html_parts.h"

namespace dtypecheck::reports {

namespace {

constexpr size_t kMaxLines = 100;

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
  const std::vector<AutocastRecord> records = autocast_records(report.run);
  if (records.empty()) return;
  html.open_section("autocast", "autocast", "What autocast decided");
  html.open("details").element("summary", "", "Decisions, op by op").line();
  write_decisions(decisions_of(report, records), html);
  html.close("details").close("section").line();
}

}  // namespace dtypecheck::reports
