#include "reports/autocast_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/autocast_record.h"
#include "reports/printable.h"
#include "reports/summary.h"
#include "reports/text_finding.h"
#include "reports/words.h"

namespace dtypecheck::reports {

namespace {

constexpr size_t kPlaces = 5;

std::string bytes_text(double bytes) {
  const char* unit = "bytes";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  const bool whole = std::string(unit) == "bytes" || bytes >= 100;
  return whole ? fmt::format("{:.0f} {}", bytes, unit) : fmt::format("{:.1f} {}", bytes, unit);
}

// 0.5 where every other step casts; whole numbers are the rule.
std::string number_text(double number) {
  return number < 10 && number != static_cast<int>(number) ? fmt::format("{:.1f}", number)
                                                           : fmt::format("{:.0f}", number);
}

std::string place_text(const Report& report, const AutocastCast& cast) {
  const std::string line = place(report, cast.site.line);
  if (!has_inner(cast.site)) return line.empty() ? "unknown place" : line;
  return fmt::format("{} in {}", line, place(report, cast.site.inner));
}

std::string weights_text(const AutocastCast& cast) {
  if (cast.weights_per_step == 0) return {};
  const char* again = cast.uncached  ? ", in each use: they require no gradient"
                      : cast.repeats ? ", again every step"
                                     : "";
  return fmt::format("; {} of weights{}", number_text(cast.weights_per_step), again);
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
  const size_t shown = report.all ? casts.size() : std::min(casts.size(), kPlaces);
  for (size_t i = 0; i < shown; ++i) {
    const AutocastCast& cast = casts[i];
    const std::string dtypes = fmt::format("{} to {}", dtype_name(cast.from), dtype_name(cast.to));
    lines.push_back(cut(fmt::format("  {:>5}  {:>9}  {:<17}  {}{}", number_text(cast.per_step),
                                    bytes_text(cast.bytes_per_step), dtypes, place_text(report, cast),
                                    weights_text(cast)),
                        text_columns(report)));
  }
  if (shown < casts.size()) {
    lines.push_back(fmt::format("  … and {} (--all shows them)", counted(casts.size() - shown, "more place")));
  }
  return lines;
}

}  // namespace dtypecheck::reports
