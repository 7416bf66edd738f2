// html_health.cpp: all lines of the map have one scale of numbers, in powers of two, so that what
// is near the end of its dtype stands at the top of its cell, and what grows is seen to.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "core/dtype_range.h"
#include "core/health.h"
#include "reports/formatting.h"
#include "reports/html_parts.h"

namespace dtypecheck::reports {

namespace {

constexpr size_t kMostModules = 300;
constexpr size_t kFewModules = 12;  // of more, those nearest to the end of their dtype come first
constexpr double kWidth = 168, kHeight = 40;  // of a cell's picture
constexpr double kLeast = 0x1p-24, kMost = 65504;
constexpr std::array kRoles = {HealthRole::kActivation, HealthRole::kGradient, HealthRole::kWeight,
                               HealthRole::kState};

struct ModuleHealth {
  std::string name;
  std::map<HealthRole, std::vector<const HealthRow*>> rows;
  double nearest = 0;  // share of the way, in powers of two, to the end of a dtype
};

// Of the numbers in a column.
struct Scale {
  double least = kMost, most = kMost;

  void take(double largest) {
    if (largest > 0) least = std::min(least, std::max(largest, kLeast));
    most = std::max(most, largest);
  }
  double height_of(double largest) const {
    if (least >= most) return kHeight / 2;
    const double share =
        std::log2(std::clamp(largest, least, most) / least) / std::log2(most / least);
    return 1 + (kHeight - 2) * (1 - share);
  }
};

std::string number_of(double number) {
  const bool is_short = number == 0 || (number >= 0.001 && number < 1000);
  return is_short                         ? fmt::format("{:.3g}", number)
         : number >= 1000 && number < 1e6 ? grouped(static_cast<uint64_t>(number))
                                          : fmt::format("{:.1e}", number);
}

// Of a row: 1 at the end of its dtype. Behind it all is NaN or infinite, and says nothing.
double nearness(const HealthRow& row) {
  const DtypeRange* range = narrow_range(row.dtype);
  double nearest = 0;
  for (const HealthPoint& point : row.points) {
    const double end = range == nullptr ? 3.4e38 : range->largest;
    if (point.largest > 0) nearest = std::max(nearest, std::log2(point.largest) / std::log2(end));
  }
  return nearest;
}

// Of the ranks of a run one, that comes nearest, in each dtype.
void keep_nearest(std::vector<const HealthRow*>& rows, const HealthRow& row) {
  for (const HealthRow*& known : rows) {
    if (known->dtype != row.dtype) continue;
    if (nearness(row) > nearness(*known)) known = &row;
    return;
  }
  rows.push_back(&row);
}

std::vector<ModuleHealth> modules_of(const Report& report, const Health& health) {
  std::vector<ModuleHealth> modules;
  std::map<std::string, size_t> known;
  for (const HealthRow& row : health.rows) {
    if (row.points.empty()) continue;
    const std::string name = place_of(row, report.run);
    const auto [at, is_new] = known.emplace(name, modules.size());
    if (is_new) modules.push_back({name, {}, 0});
    ModuleHealth& module = modules[at->second];
    keep_nearest(module.rows[row.role], row);
    module.nearest = std::max(module.nearest, nearness(row));
  }
  return modules;
}

// Where there are too many, those that come nearest to the end of a dtype, in the order of the run.
size_t keep_most_telling(std::vector<ModuleHealth>& modules) {
  if (modules.size() <= kMostModules) return 0;
  const size_t all = modules.size();
  std::vector<double> order;
  for (const ModuleHealth& module : modules) order.push_back(module.nearest);
  std::nth_element(order.begin(), order.begin() + kMostModules, order.end(), std::greater<>());
  const double least = order[kMostModules];
  const auto nearer = [least](const ModuleHealth& module) { return module.nearest > least; };
  auto alike = kMostModules - static_cast<size_t>(std::ranges::count_if(modules, nearer));
  std::erase_if(modules, [&](const ModuleHealth& module) {
    return !nearer(module) && (module.nearest < least || alike == 0 || alike-- == 0);
  });
  return all - modules.size();
}

class Map {
 public:
  Map(const Health& health, HtmlWriter& html) : html_(html) {
    for (const HealthStep& step : health.steps) {
      first_ = std::min(first_, step.step);
      last_ = std::max(last_, step.step);
    }
    for (const HealthRow& row : health.rows) {
      for (const HealthPoint& point : row.points) scales_[row.role].take(point.largest);
    }
    resumed_at_ = health.resumed_at;
  }

  void row(const ModuleHealth& module) {
    html_.open("tr").element("th", "", module.name, {{"scope", "row"}});
    for (const HealthRole role : kRoles) {
      html_.open("td");
      const auto found = module.rows.find(role);
      if (found != module.rows.end()) cell(role, found->second);
      html_.close("td");
    }
    html_.close("tr").line();
  }

  uint32_t first() const { return std::min(first_, last_); }
  uint32_t last() const { return last_; }

 private:
  double x_of(uint32_t step) const {
    return last_ <= first_ ? kWidth / 2
                           : 2 + (kWidth - 4) * (step - first_) / double(last_ - first_);
  }

  const Scale& scale_of(const HealthRow& row) const { return scales_.at(row.role); }

  void cell(HealthRole role, const std::vector<const HealthRow*>& rows) {
    html_.open("svg", "",
               {{"width", fmt::format("{}", kWidth)},
                {"height", fmt::format("{}", kHeight)},
                {"aria-hidden", "true"}});
    for (const uint32_t step : resumed_at_) vertical(x_of(step), "resumed");
    for (const HealthRow* row : rows) line(*row);
    html_.close("svg");
    for (const HealthRow* row : rows) words(role, *row);
  }

  void vertical(double x, const char* classes) {
    const std::string at = fmt::format("{:.1f}", x);
    html_
        .open("line", classes,
              {{"x1", at}, {"x2", at}, {"y1", "0"}, {"y2", fmt::format("{}", kHeight)}})
        .close("line");
  }

  void line(const HealthRow& row) {
    if (narrow_range(row.dtype) != nullptr) {
      const std::string y =
          fmt::format("{:.1f}", scale_of(row).height_of(narrow_range(row.dtype)->largest));
      html_
          .open("line", "end",
                {{"x1", "0"}, {"x2", fmt::format("{}", kWidth)}, {"y1", y}, {"y2", y}})
          .close("line");
    }
    std::string points;
    for (const HealthPoint& point : row.points)
      points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x_of(point.step),
                            scale_of(row).height_of(point.largest));
    html_.open("polyline", dtype_class(DtypeSet(row.dtype)), {{"points", points}})
        .close("polyline");
    for (const HealthPoint& point : row.points) {
      if (point.beyond > 0) vertical(x_of(point.step), "beyond");
    }
    if (row.points.size() == 1) dot(row);
  }

  // A line of one point is not drawn.
  void dot(const HealthRow& row) {
    html_
        .open("circle", dtype_class(DtypeSet(row.dtype)),
              {{"cx", fmt::format("{:.1f}", x_of(row.points.front().step))},
               {"cy", fmt::format("{:.1f}", scale_of(row).height_of(row.points.front().largest))},
               {"r", "1.5"}})
        .close("circle");
  }

  void words(HealthRole role, const HealthRow& row) {
    const HealthPoint& first = row.points.front();
    const HealthPoint& last = row.points.back();
    html_.open("p").element("span", dtype_class(DtypeSet(row.dtype)), dtype_name(row.dtype));
    html_.text(row.points.size() == 1
                   ? " " + number_of(last.largest)
                   : fmt::format(" {} to {}", number_of(first.largest), number_of(last.largest)));
    if (last.zero >= 0.01) {
      html_.element("span", "quiet",
                    fmt::format(", {:.0f} % {}", 100 * last.zero,
                                role == HealthRole::kWeight ? "did not move" : "are 0"));
    }
    if (last.beyond > 0) {
      const double percent = 100 * last.beyond;
      html_.element("b", "",
                    percent < 1 ? ", under 1 % NaN or infinite"
                                : fmt::format(", {:.0f} % NaN or infinite", percent));
    }
    html_.close("p");
  }

  HtmlWriter& html_;
  uint32_t first_ = UINT32_MAX, last_ = 0;
  std::vector<uint32_t> resumed_at_;
  std::map<HealthRole, Scale> scales_;
};

std::string summary_of(const Health& health, const Map& map) {
  std::string text = fmt::format(
      "The largest number of each kind in {} between step {} and {}. The lines of a column have "
      "one scale; the "
      "broken line is the end of Half, 65504, and a red one a step with NaN or infinities.",
      counted(health.steps.size(), "step"), grouped(map.first()), grouped(map.last()));
  const HealthStep& last = health.steps.back();
  if (last.scale > 0) {
    text +=
        fmt::format(" The loss was scaled by {:.6g} at first and by {:.6g} at last; {} left out.",
                    health.steps.front().scale, last.scale, counted(last.skipped, "step"));
  }
  for (const uint32_t step : health.resumed_at)
    text += fmt::format(" The run was resumed behind step {}.", grouped(step));
  return text;
}

void write_table(const std::vector<ModuleHealth>& modules, const char* caption, Map& map,
                 HtmlWriter& html) {
  html.open_table("", caption,
                  {"module", "activations", "gradients", "weights", "optimizer's states"});
  for (const ModuleHealth& module : modules) map.row(module);
  html.close_table().line();
}

}  // namespace

void write_health(const Report& report, HtmlWriter& html) {
  if (report.run.health_steps.empty()) return;
  const Health health = health_of(report.run);
  std::vector<ModuleHealth> modules = modules_of(report, health);
  if (modules.empty()) return;
  const size_t left_out = keep_most_telling(modules);
  Map map(health, html);
  html.open_section("health", "health", "Health").element("p", "", summary_of(health, map)).line();
  if (modules.size() <= kFewModules) {
    write_table(modules, "The largest numbers of each module over the run", map, html);
    return void(html.close("section").line());
  }
  std::vector<ModuleHealth> nearest = modules;
  std::ranges::stable_sort(
      nearest, [](const ModuleHealth& a, const ModuleHealth& b) { return a.nearest > b.nearest; });
  nearest.resize(kFewModules);
  write_table(nearest, "The modules that come nearest to the end of their dtype", map, html);
  html.open("details").element("summary", "", "All modules, in the order of the run").line();
  write_table(modules, "The largest numbers of each module over the run", map, html);
  if (left_out > 0) {
    html.element("p", "quiet",
                 fmt::format("and {} whose numbers stay farther from the end of their dtype",
                             counted(left_out, "module")));
  }
  html.close("details").line();
  html.close("section").line();
}

}  // namespace dtypecheck::reports
