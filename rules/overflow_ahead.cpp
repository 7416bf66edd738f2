// Finds: numbers of a module in Half, followed over the run (trace --health), that grow towards the
// end of their dtype, before they get there or when they did.
// Misses: what grows in less than 8 of the steps that were looked at, and what jumps. Silent on a
// maximum that is bounded, that is noise, or that would take more than three times as many steps as
// were seen; and on gradients below a GradScaler, which makes them as large as they may be.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "core/dtype_range.h"
#include "core/health.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

constexpr size_t kFewestPoints = 8;
constexpr uint32_t kFewestSteps = 48;
constexpr double kFarthest = 2;       // the steps ahead, by those that were seen
constexpr double kLeastShare = 4096;  // of the end has to be there
constexpr double kLeastFit = 0.9;     // R²
constexpr double kLeastLate = 0.5;    // slope of the last third, by that of all

// y = at + slope * x, by least squares.
struct Line {
  double at = 0, slope = 0, fit = 0;
};

Line line_through(std::span<const double> x, std::span<const double> y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    sx += x[i], sy += y[i];
    sxx += x[i] * x[i], sxy += x[i] * y[i], syy += y[i] * y[i];
  }
  const double xx = n * sxx - sx * sx, xy = n * sxy - sx * sy, yy = n * syy - sy * sy;
  if (xx <= 0 || yy <= 0) return {};
  const double slope = xy / xx;
  return {(sy - slope * sx) / n, slope, xy * xy / (xx * yy)};
}

struct Growth {
  bool doubles = false;  // in a time that stays the same; else it grows by as much
  double each = 0;       // steps to double, or by how much it grows in 100 steps
  double end_at = 0;     // step
  bool is_there = false;
  HealthPoint first, last;  // of what was seen
};

// It goes on as it did, and the last third of it does not slow down; what is steeper and as
// straight there is what comes.
std::optional<double> slope_ahead(std::span<const double> x, std::span<const double> y,
                                  const Line& all) {
  if (all.slope <= 0 || all.fit < kLeastFit) return std::nullopt;
  const size_t third = std::max<size_t>(x.size() / 3, 3);
  const Line late = line_through(x.last(third), y.last(third));
  if (late.slope < kLeastLate * all.slope) return std::nullopt;
  return late.fit >= kLeastFit ? std::max(late.slope, all.slope) : all.slope;
}

// Of the last three quarters of the steps until the end of the dtype was passed.
std::optional<Growth> growth_of(const HealthRow& row, double end) {
  std::vector<HealthPoint> points;
  Growth growth;
  for (const HealthPoint& point : row.points) {
    if (point.beyond > 0) {
      growth.is_there = true;
      growth.end_at = point.step;
      break;
    }
    if (point.largest > 0) points.push_back(point);
  }
  if (points.empty() || points.back().step < kFewestSteps) return std::nullopt;
  const uint32_t last_step = points.back().step;
  std::vector<double> x, y, logs;
  for (const HealthPoint& point : points) {
    if (point.step * 4 < last_step) continue;
    if (x.empty()) growth.first = point;
    x.push_back(point.step);
    y.push_back(point.largest);
    logs.push_back(std::log2(point.largest));
  }
  growth.last = points.back();
  if (x.size() < kFewestPoints || growth.last.largest < end / kLeastShare ||
      growth.last.largest < 2 * growth.first.largest)
    return std::nullopt;
  const Line doubling = line_through(x, logs), steady = line_through(x, y);
  growth.doubles = doubling.fit >= steady.fit;
  const Line& line = growth.doubles ? doubling : steady;
  const std::optional<double> slope = slope_ahead(x, growth.doubles ? logs : y, line);
  if (!slope) return std::nullopt;
  growth.each = growth.doubles ? 1 / *slope : 100 * *slope;
  if (growth.is_there) return growth;
  const double missing =
      growth.doubles ? std::log2(end / growth.last.largest) : end - growth.last.largest;
  const double ahead = std::max(missing / *slope, 1.0);
  if (ahead > kFarthest * last_step) return std::nullopt;
  growth.end_at = last_step + ahead;
  return growth;
}

double with_two_digits(double number) {
  const double unit = std::pow(10, std::floor(std::log10(number)) - 1);
  return std::round(number / unit) * unit;
}

std::string number_text(double number) {
  return number >= 1000 ? fmt::format("{:.0f}", number) : fmt::format("{:.4g}", number);
}

// Two digits of what is far off, all of what is known.
std::string near_step(const Growth& growth) {
  return growth.is_there
             ? fmt::format("in step {:.0f}", growth.end_at)
             : fmt::format("near step {:.0f}", with_two_digits(std::max(growth.end_at, 10.0)));
}

const char* singular(HealthRole role) {
  switch (role) {
    case HealthRole::kActivation:
      return "activation";
    case HealthRole::kGradient:
      return "gradient";
    case HealthRole::kWeight:
      return "weight";
    case HealthRole::kState:
      return "optimizer's state";
  }
  return "";
}

struct Ahead {
  const HealthRow* row = nullptr;
  Growth growth;
  size_t others = 0;  // rows that grow as well
};

// A module has what its parts give: where both are there at once, the part is told.
bool is_before(const HealthRow& row, const Growth& growth, const Ahead& than) {
  if (than.row == nullptr) return true;
  if (growth.end_at != than.growth.end_at) return growth.end_at < than.growth.end_at;
  const std::string& whole = than.row->module;
  return !whole.empty() && row.module.starts_with(whole + ".");
}

std::string message(const Ahead& ahead, const Run& run) {
  const Growth& growth = ahead.growth;
  const double end = narrow_range(ahead.row->dtype)->largest;
  const std::string grows =
      growth.doubles
          ? fmt::format("doubled every {:.0f} steps", std::max(growth.each, 1.0))
          : fmt::format("grew by {} every 100 steps", number_text(with_two_digits(growth.each)));
  return fmt::format("the largest {} of {} {} and {} {:.0f} {}", singular(ahead.row->role),
                     place_of(*ahead.row, run), grows, growth.is_there ? "passed" : "passes", end,
                     near_step(growth));
}

Details details(const Ahead& ahead, const Run& run) {
  const Growth& growth = ahead.growth;
  const std::string dtype = dtype_name(ahead.row->dtype);
  std::string why = fmt::format(
      "{:.0f} is the largest number of {}, and what is larger becomes infinite; it was {} in "
      "step {} and {} in step {}",
      narrow_range(ahead.row->dtype)->largest, dtype, number_text(growth.first.largest),
      growth.first.step, number_text(growth.last.largest), growth.last.step);
  if (ahead.others > 0)
    why += fmt::format("; {} other{} of the run grow{} towards it", ahead.others,
                       ahead.others == 1 ? "" : "s", ahead.others == 1 ? "s" : "");
  const std::string in_float =
      ahead.row->module.empty() || ahead.row->role != HealthRole::kActivation
          ? std::string("compute it in BFloat16 or Float")
          : fmt::format("compute it in BFloat16 or Float (dtypecheck trace --in-float {} tries it)",
                        place_of(*ahead.row, run));
  return {.why = why,
          .fix =
              "find out why it grows: a learning rate that is too high, a norm that is missing; "
              "or " +
              in_float};
}

// Of the rows that grow, the one that is there first.
void check_run(const RunIndex& index, Findings& out) {
  const Run& run = index.run();
  if (run.health.empty()) return;
  const Health health = health_of(run);
  const bool is_scaled = std::any_of(health.steps.begin(), health.steps.end(),
                                     [](const HealthStep& step) { return step.scale != 0; });
  for (const HealthRole role :
       {HealthRole::kActivation, HealthRole::kGradient, HealthRole::kWeight, HealthRole::kState}) {
    if (role == HealthRole::kGradient && is_scaled) continue;
    Ahead ahead;
    size_t growing = 0;
    for (const HealthRow& row : health.rows) {
      const DtypeRange* range = narrow_range(row.dtype);
      if (row.role != role || range == nullptr || run.call(row.call) == nullptr) continue;
      const std::optional<Growth> growth = growth_of(row, range->largest);
      if (!growth) continue;
      ++growing;
      if (is_before(row, *growth, ahead)) ahead = {&row, *growth};
    }
    if (ahead.row == nullptr) continue;
    ahead.others = growing - 1;
    out.add(*run.call(ahead.row->call), message(ahead, run), [&] { return details(ahead, run); });
  }
}

}  // namespace

const Rule overflow_ahead = {
    .doc =
        {.id = "overflow-ahead",
         .severity = Severity::kWarning,
         .summary = "the largest number of a module grows towards the end of its dtype",
         .why =
             "Half ends at 65504. What is larger becomes infinite, and the loss NaN: by then the "
             "module that grew for a thousand steps is one of many that are NaN.",
         .fix = "Find out why it grows, or compute the module in BFloat16 or Float.",
         .example = R"(
op aten::linear input=Half[4,64] weight=Half[64,64] -> Half[4,64] at train.py:20 in net.mid phase forward step 1-512 count 512
health #1 activations Half net.mid 8 16.2 0 0 16 16.5 0 0 32 17 0 0 64 18 0 0 96 19 0 0 128 20 0 0 160 24 0 0 192 36 0 0 224 57 0 0 256 88 0 0 288 134 0 0 320 203 0 0 352 320 0 0 384 500 0 0 416 790 0 0 448 1210 0 0 480 1890 0 0 512 2900 0 0
health-step 512 0 0 0
# EXPECT train.py:20: warning: the largest activation of net.mid doubled every 51 steps and passes 65504 near step 740 [overflow-ahead]
# One that is as large and does not grow any more.
op aten::linear input=Half[4,64] weight=Half[64,64] -> Half[4,64] at train.py:30 in net.head phase forward step 1-512 count 512
health #2 activations Half net.head 8 16 0 0 16 40 0 0 32 160 0 0 64 600 0 0 96 1400 0 0 128 2100 0 0 160 2500 0 0 192 2700 0 0 224 2800 0 0 256 2850 0 0 288 2880 0 0 320 2890 0 0 352 2895 0 0 384 2897 0 0 416 2898 0 0 448 2899 0 0 480 2899 0 0 512 2900 0 0
)"},
    .check_run = check_run,
    .says_shares = true,
};

}  // namespace dtypecheck::rules
