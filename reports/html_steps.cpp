#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>
#include <vector>

#include "reports/formatting.h"
#include "reports/html_parts.h"

namespace dtypecheck::reports {

namespace {

constexpr uint32_t kMaxColumns = 32;
constexpr size_t kFewColumns = 10;  // more of them are drawn narrow
// As they come in a step.
constexpr Phase kOrder[] = {Phase::kLoad,     Phase::kData,      Phase::kForward,
                            Phase::kBackward, Phase::kOptimizer, Phase::kUnknown};

struct Cell {
  int64_t active = 0;  // signatures that were called from their first step to their last
  uint64_t appeared = 0;
  uint64_t failed = 0;
};

class Strip {
 public:
  explicit Strip(const Run& run) {
    for (const Process& process : run.processes) steps_ = std::max(steps_, process.steps);
    for (const OpCall& call : run.calls) {
      last_ = std::max({last_, call.last_step, call.first_step});
      if (call.outcome == Outcome::kReturned) continue;
      if (!has_failure_) first_failure_ = call.first_step;
      has_failure_ = true;
      first_failure_ = std::min(first_failure_, call.first_step);
    }
    width_ = (last_ + kMaxColumns - 1) / kMaxColumns;
    width_ = std::max<uint32_t>(width_, 1);
    for (std::vector<Cell>& row : rows_) row.resize(column_of(last_) + 1);
    find_outer_failures(run);
    for (const OpCall& call : run.calls) add(call);
    for (std::vector<Cell>& row : rows_) {
      for (size_t i = 1; i < row.size(); ++i) row[i].active += row[i - 1].active;
    }
  }

  const std::vector<Cell>& row(Phase phase) const { return rows_[static_cast<size_t>(phase)]; }
  bool has_failure() const { return has_failure_; }
  uint32_t first_failure() const { return first_failure_; }
  uint32_t last_new() const { return last_new_; }
  uint32_t last_step() const { return is_after(last_) ? last_ - 1 : last_; }
  bool is_after(uint32_t step) const {
    const bool failed = has_failure_ && first_failure_ >= step;
    return steps_ > 0 && step > steps_ && !failed;
  }
  std::string step_name(uint32_t step) const {
    if (is_after(step)) return "after the last step";
    return step == 0 ? "before the first step" : "in step " + grouped(step);
  }

  // Step 0 is what ran before the first one, and has a column of its own. What ran behind the last
  // one is counted as a step that was begun; one in which the run failed was.
  std::string column_name(size_t column) const {
    if (column == 0) return "before";
    if (is_after(last_) && column == column_of(last_) && column != column_of(last_ - 1))
      return "after";
    const uint64_t first = uint64_t{width_} * (column - 1) + 1;
    const uint64_t last = std::min<uint64_t>(first + width_ - 1, last_);
    return first == last ? grouped(first) : fmt::format("{}–{}", grouped(first), grouped(last));
  }

 private:
  size_t column_of(uint32_t step) const { return step == 0 ? 0 : (step - 1) / width_ + 1; }

  // An op that threw because one that it called did is the same failure.
  void find_outer_failures(const Run& run) {
    for (const OpCall& call : run.calls) {
      if (call.outcome != Outcome::kReturned && call.parent != kNoOpCall)
        outer_.insert(call.parent);
    }
  }

  void add(const OpCall& call) {
    std::vector<Cell>& row = rows_[static_cast<size_t>(call.site.phase)];
    Cell& first = row[column_of(call.first_step)];
    ++first.active;
    ++first.appeared;
    if (call.outcome != Outcome::kReturned && !outer_.contains(call.id)) ++first.failed;
    const size_t behind = column_of(std::max(call.last_step, call.first_step)) + 1;
    if (behind < row.size()) --row[behind].active;
    if (!is_after(call.first_step)) last_new_ = std::max(last_new_, call.first_step);
  }

  std::array<std::vector<Cell>, static_cast<size_t>(kLastPhase) + 1> rows_;
  std::unordered_set<OpCallId> outer_;  // that threw because an op inside of them did
  uint64_t steps_ = 0;                  // that were finished
  uint32_t width_ = 1;                  // steps in a column
  uint32_t last_ = 0, last_new_ = 0, first_failure_ = 0;
  bool has_failure_ = false;
};

std::string summary_of(const Strip& strip) {
  std::string text;
  if (strip.has_failure())
    text = fmt::format("It failed {}. ", strip.step_name(strip.first_failure()));
  if (strip.last_new() == strip.last_step()) {
    return text + fmt::format("New op calls appeared to the end of the run, {}.",
                              strip.step_name(strip.last_new()));
  }
  return text + fmt::format("No new op calls appeared after those that ran {}.",
                            strip.step_name(strip.last_new()));
}

const char* cell_class(const Cell& cell, int64_t most) {
  static constexpr const char* kShades[] = {"shade none", "shade faint", "shade light",
                                            "shade middle", "shade full"};
  if (cell.failed > 0) return "shade failed";
  if (cell.active <= 0 || most <= 0) return kShades[0];
  return kShades[std::min<int64_t>(4, 1 + 4 * cell.active / (most + 1))];
}

void write_cell(const Cell& cell, int64_t most, HtmlWriter& html) {
  html.open("td", cell_class(cell, most));
  if (cell.failed > 0) html.element("b", "", grouped(cell.failed) + " failed");
  if (cell.appeared > 0) {
    html.element("span", "", grouped(cell.appeared) + " new");
  } else if (cell.active > 0) {
    html.element("span", "same", "as before");
  }
  html.close("td");
}

}  // namespace

void write_steps(const Report& report, HtmlWriter& html) {
  if (report.run.calls.empty()) return;
  const Strip strip(report.run);
  html.open_section("steps", "steps", "Steps").element("p", "", summary_of(strip)).line();
  html.open("div", "scroll", {{"tabindex", "0"}, {"role", "group"}, {"aria-label", "Steps"}});
  html.open("table", strip.row(Phase::kForward).size() > kFewColumns ? "many" : "");
  html.element("caption", "", "New op calls by phase and step").line();
  html.open("thead").open("tr").element("th", "", "phase", {{"scope", "col"}});
  for (size_t i = 0; i < strip.row(Phase::kForward).size(); ++i)
    html.element("th", "", strip.column_name(i), {{"scope", "col"}});
  html.close("tr").close("thead").line().open("tbody").line();
  for (const Phase phase : kOrder) {
    const std::vector<Cell>& row = strip.row(phase);
    int64_t most = 0;
    for (const Cell& cell : row) most = std::max(most, cell.active);
    if (most == 0) continue;
    html.open("tr").element("th", "", phase_name(phase), {{"scope", "row"}});
    for (const Cell& cell : row) write_cell(cell, most, html);
    html.close("tr").line();
  }
  html.close_table().close("section").line();
}

}  // namespace dtypecheck::reports
