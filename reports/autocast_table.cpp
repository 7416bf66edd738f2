#include "reports/autocast_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/autocast_record.h"
#include "platform/printable.h"
#include "reports/summary.h"
#include "reports/text_finding.h"
#include "reports/words.h"

namespace dtypecheck::reports {

namespace {

constexpr size_t kPlaces = 5;
constexpr size_t kPlaceColumns = 28;  // less room behind a row: the place goes below it

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The innermost line tells the layers of a model apart; the user's own line is then one word. What
// is too long loses folders, never its number.
std::string place_text(const Report& report, const AutocastCast& cast, size_t columns) {
  const std::string line = place(report, cast.site.line);
  if (!has_inner(cast.site) && line.empty()) return "unknown place";
  if (!has_inner(cast.site)) return report.shortens ? shorten_path(line, columns, columns) : line;
  const std::string inner = place(report, cast.site.inner);
  const std::string both = fmt::format("{} from {}", inner, last_part(line));
  if (!report.shortens || display_width(both) <= columns) return both;
  return shorten_path(inner, columns, columns);
}

std::string casts_text(double casts, double weights) {
  if (weights == 0) return number_text(casts);
  return fmt::format("{} ({} of weights)", number_text(casts), number_text(weights));
}

// Named, as what to change is in the program: what a step casts again, and what each use does.
std::vector<std::string> weights_lines(const Report& report,
                                       const std::vector<AutocastCast>& casts) {
  double again = 0;
  std::vector<std::string> uncached;
  for (const AutocastCast& cast : casts) {
    if (cast.repeats && !cast.uncached) again += cast.weights_per_step;
    if (cast.uncached) uncached.insert(uncached.end(), cast.weights.begin(), cast.weights.end());
  }
  std::vector<std::string> lines;
  if (again > 0)
    lines.push_back(
        fmt::format("  {} casts of weights are repeated every step", number_text(again)));
  if (!uncached.empty()) {
    const std::string names = joined(uncached, ", ");
    lines.push_back(fitted_start(
        report, fmt::format("  cast in each use, for they require no gradient: {}", names),
        text_columns(report)));
  }
  return lines;
}

}  // namespace

std::vector<std::string> autocast_table(const Report& report) {
  const std::vector<AutocastCast> casts = summarize_autocast(report.run).casts;
  if (casts.empty()) return {};
  double count = 0, bytes = 0;
  for (const AutocastCast& cast : casts) {
    count += cast.per_step;
    bytes += cast.bytes_per_step;
  }
  std::vector<std::string> lines = {
      fmt::format("autocast: {} casts a step, {}", number_text(count), bytes_text(bytes))};
  const size_t columns = text_columns(report);
  const size_t shown = report.all ? casts.size() : std::min(casts.size(), kPlaces);
  for (size_t i = 0; i < shown; ++i) {
    const AutocastCast& cast = casts[i];
    const std::string dtypes = fmt::format("{} to {}", dtype_name(cast.from), dtype_name(cast.to));
    const std::string cost =
        fmt::format("  {:<20}  {:>9}  {:<17}  ", casts_text(cast.per_step, cast.weights_per_step),
                    bytes_text(cast.bytes_per_step), dtypes);
    const size_t beside = columns - std::min(columns, cost.size());
    if (beside >= kPlaceColumns) {
      lines.push_back(cost + place_text(report, cast, beside));
    } else {
      lines.push_back(cost.substr(0, cost.find_last_not_of(' ') + 1));
      lines.push_back("      " + place_text(report, cast, columns - 6));
    }
  }
  if (shown < casts.size()) {
    lines.push_back(
        fmt::format("  … and {} (--all shows them)", counted(casts.size() - shown, "more place")));
  }
  for (std::string& line : weights_lines(report, casts)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace dtypecheck::reports
