#include "reports/cast_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/printable.h"
#include "reports/formatting.h"
#include "reports/text_finding.h"

namespace dtypecheck::reports {

namespace {

constexpr size_t kPlaces = 5;
constexpr size_t kPlaceColumns = 28;  // less room behind a row: the place goes below it

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The innermost line tells the layers of a model apart; the user's own line is then one word. What
// is too long loses folders, never its number.
std::string place_text(const Report& report, const CastLine& cast, size_t columns) {
  const std::string line = place(cast.site.line);
  if (!has_inner(cast.site) && line.empty()) return "unknown place";
  if (!has_inner(cast.site)) return report.shortens ? shorten_path(line, columns, columns) : line;
  const std::string inner = place(cast.site.inner);
  const std::string both = fmt::format("{} from {}", inner, last_part(line));
  if (!report.shortens || display_width(both) <= columns) return both;
  return shorten_path(inner, columns, columns);
}

// What autocast asked for needs no word: it is what this table is read for.
std::string reason_text(const CastLine& cast) {
  if (cast.is_backward) return fmt::format(" ({}, backward)", cast_reason_name(cast.reason));
  return cast.reason == CastReason::kAutocast ? ""
                                              : fmt::format(" ({})", cast_reason_name(cast.reason));
}

bool is_worth_telling(const CastBill& bill) {
  constexpr double kShare = 0.01;
  const CastCost& asked = bill.by_reason[static_cast<size_t>(CastReason::kAsked)];
  return bill.per_step.casts > asked.casts || bill.cpu_share.value_or(0) >= kShare ||
         bill.gpu_share.value_or(0) >= kShare;
}

std::string share_text(const std::optional<double>& share, const char* of) {
  return share ? fmt::format(" ({:.1f} % of {})", *share * 100, of) : "";
}

std::string casts_text(double casts, double weights) {
  if (weights == 0) return number_text(casts);
  return fmt::format("{} ({} of weights)", number_text(casts), number_text(weights));
}

// A few by name, more by the model that has them.
std::string weights_text(const std::vector<std::string>& weights) {
  constexpr size_t kNamed = 4;
  std::map<std::string, std::vector<std::string>> by_model;
  for (const std::string& name : weights) by_model[name.substr(0, name.find('.'))].push_back(name);
  std::vector<std::string> parts;
  for (const auto& [model, names] : by_model) {
    const std::string module = common_module(names);
    const bool is_named = names.size() <= kNamed || module.empty();
    parts.push_back(is_named ? joined(names, ", ")
                             : fmt::format("{} weights of {}", names.size(), module));
  }
  return joined(parts, ", ");
}

// Named, as what to change is in the program: what a step casts again, and what each use does.
std::vector<std::string> weights_lines(const Report& report, const std::vector<CastLine>& casts) {
  double again = 0;
  std::vector<std::string> uncached;
  for (const CastLine& cast : casts) {
    if (cast.reason != CastReason::kAutocast) continue;
    if (cast.repeats) again += cast.weights_per_step - cast.uncached_per_step;
    uncached.insert(uncached.end(), cast.uncached_weights.begin(), cast.uncached_weights.end());
  }
  std::vector<std::string> lines;
  if (again > 0)
    lines.push_back(
        fmt::format("  {} casts of weights are repeated every step", number_text(again)));
  if (!uncached.empty()) {
    const std::string text = fmt::format("  cast at each use, since they require no gradient: {}",
                                         weights_text(uncached));
    lines.push_back(fitted_start(report, text, text_columns(report)));
  }
  return lines;
}

std::string sum_text(const CastBill& bill) {
  return fmt::format("casts: {}: {}", bill_text(bill), reasons_text(bill));
}

}  // namespace

static std::string casts_of(double casts) {
  const std::string number = number_text(casts);
  return number + (number == "1" ? " cast" : " casts");
}

std::string casts_a_step(double casts) { return casts_of(casts) + " a step"; }

std::string bill_text(const CastBill& bill) {
  const CastCost& all = bill.per_step;
  std::string text =
      fmt::format("{} {} {}", bill.has_steps ? casts_a_step(all.casts) : casts_of(all.casts),
                  number_text(all.casts) == "1" ? "moves" : "move", bytes_text(all.moved_bytes()));
  if (all.cpu_ns)
    text += fmt::format(", {} of the CPU{}", nanoseconds_text(*all.cpu_ns),
                        share_text(bill.cpu_share, "the run"));
  if (all.gpu_ns)
    text += fmt::format(", {} of the GPU{}", nanoseconds_text(*all.gpu_ns),
                        share_text(bill.gpu_share, "its time"));
  return text;
}

std::string reasons_text(const CastBill& bill) {
  std::vector<std::string> parts;
  for (uint8_t reason = 0; reason <= static_cast<uint8_t>(kLastCastReason); ++reason) {
    const double casts = bill.by_reason[reason].casts;
    if (casts > 0)
      parts.push_back(fmt::format("{} {}", cast_reason_name(static_cast<CastReason>(reason)),
                                  number_text(casts)));
  }
  return joined(parts, ", ");
}

std::vector<std::string> cast_sum(const Report& report) {
  return wrap(sum_text(cast_bill(report.run)) + " (--all lists them)", text_columns(report));
}

std::vector<std::string> cast_table(const Report& report) {
  const CastBill bill = cast_bill(report.run);
  std::vector<CastLine> casts = bill.lines;
  std::erase_if(casts, [](const CastLine& cast) { return cast.is_once; });
  if (casts.empty() || !is_worth_telling(bill)) return {};
  const size_t columns = text_columns(report);
  std::vector<std::string> lines = wrap(sum_text(bill), columns);
  const size_t shown = report.all ? casts.size() : std::min(casts.size(), kPlaces);
  const bool has_gpu = bill.per_step.gpu_ns.has_value();  // whose column needs room
  const bool has_weights =
      std::ranges::any_of(casts, [](const CastLine& cast) { return cast.weights_per_step > 0; });
  const int width = has_gpu && !has_weights ? 6 : 20;
  for (size_t i = 0; i < shown; ++i) {
    const CastLine& cast = casts[i];
    const std::string dtypes = fmt::format("{} to {}", dtype_name(cast.from), dtype_name(cast.to));
    std::string cost =
        fmt::format("  {:<{}}  {:>9}  ", casts_text(cast.cost.casts, cast.weights_per_step), width,
                    bytes_text(cast.cost.moved_bytes()));
    if (has_gpu)
      cost += fmt::format("{:>7}  ", cast.cost.gpu_ns ? nanoseconds_text(*cast.cost.gpu_ns) : "");
    cost += fmt::format("{:<17}  ", dtypes);
    const std::string reason = reason_text(cast);
    const size_t beside = columns - std::min(columns, cost.size() + reason.size());
    if (beside >= kPlaceColumns) {
      lines.push_back(cost + place_text(report, cast, beside) + reason);
    } else {
      lines.push_back(cost.substr(0, cost.find_last_not_of(' ') + 1));
      lines.push_back("      " + place_text(report, cast, columns - 6 - reason.size()) + reason);
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
