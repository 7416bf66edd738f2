#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/cast_bill.h"
#include "reports/cast_table.h"
#include "reports/formatting.h"
#include "reports/html_parts.h"

namespace dtypecheck::reports {

namespace {

constexpr size_t kFirstLines = 10;  // the others are folded away: they move next to nothing
constexpr size_t kMaxLines = 100;
constexpr int kBarWidth = 100;

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
  html.open("td").element("span", dtype_class(DtypeSet(one)), dtype_name(one)).close("td");
}

void places(const Site& site, HtmlWriter& html) {
  html.open("td").element("span", "place", place(site.line));
  if (has_inner(site)) html.element("div", "detail", "inside " + place(site.inner));
  html.close("td");
}

std::string weights_text(const CastLine& cast) {
  if (cast.weights_per_step == 0 || cast.is_once) return "";
  std::string text = number_text(cast.weights_per_step) + " of weights";
  if (cast.uncached) return text + ", at each use: they require no gradient";
  return cast.repeats ? text + ", again in every step" : text;
}

std::string reason_text(const CastLine& cast) {
  std::string text = cast_reason_name(cast.reason);
  if (cast.is_backward) text += ", backward";
  if (cast.is_once) text += ", once";
  return text;
}

std::string time_text(const std::optional<double>& time_ns) {
  return time_ns ? nanoseconds_text(*time_ns) : "";
}

// Columns that would be empty in every line are left out.
struct Shown {
  bool cpu = false, gpu = false;

  explicit Shown(const CastBill& bill) {
    for (const CastLine& cast : bill.lines) {
      cpu |= cast.cost.cpu_ns.has_value();
      gpu |= cast.cost.gpu_ns.has_value();
    }
  }

  void add_costs(std::vector<std::string>& columns) const {
    columns.insert(columns.end(), {"#casts a step", "#bytes moved"});
    if (cpu) columns.push_back("#CPU");
    if (gpu) columns.push_back("#GPU");
  }
};

void cost_cells(const CastCost& cost, const Shown& shown, HtmlWriter& html) {
  html.element("td", "number", number_text(cost.casts));
  html.element("td", "number", bytes_text(cost.moved_bytes()));
  if (shown.cpu) html.element("td", "number", time_text(cost.cpu_ns));
  if (shown.gpu) html.element("td", "number", time_text(cost.gpu_ns));
}

void write_rest(size_t shown, size_t all, const char* what, HtmlWriter& html) {
  if (shown < all)
    html.element("p", "quiet", "and " + counted(all - shown, what) + ", all in the JSON");
}

using Lines = std::span<const CastLine>;

void write_table(Lines casts, double most, const Shown& shown, const char* caption,
                 HtmlWriter& html) {
  std::vector<std::string> columns = {"line", "for", "from", "to"};
  shown.add_costs(columns);
  columns.push_back("share");
  html.open_table("bill", caption, columns);
  for (const CastLine& cast : casts) {
    html.open("tr");
    places(cast.site, html);
    html.open("td").text(reason_text(cast));
    if (const std::string weights = weights_text(cast); !weights.empty())
      html.element("div", "detail", weights);
    html.close("td");
    dtype(cast.from, html);
    dtype(cast.to, html);
    cost_cells(cast.cost, shown, html);
    html.open("td", "drawn");
    bar(most > 0 ? cast.cost.moved_bytes() / most : 0, cast.to, html);
    html.close("td").close("tr").line();
  }
  html.close_table();
}

void write_lines(const CastBill& bill, const Shown& shown, HtmlWriter& html) {
  double most = 0;
  for (const CastLine& cast : bill.lines) most = std::max(most, cast.cost.moved_bytes());
  const Lines all = bill.lines;
  const Lines first = all.first(all.size() > kFirstLines + 2 ? kFirstLines : all.size());
  write_table(first, most, shown, "Casts, by line", html);
  if (first.size() == all.size()) return;
  const Lines rest =
      all.subspan(first.size()).first(std::min(all.size(), kMaxLines) - first.size());
  html.open("details").element("summary", "", counted(all.size() - first.size(), "more line"));
  write_table(rest, most, shown, "Casts, by line, continued", html);
  write_rest(first.size() + rest.size(), all.size(), "more line", html);
  html.close("details").line();
}

void write_modules(const std::vector<ModuleCasts>& modules, const Shown& shown, HtmlWriter& html) {
  html.open("details").element("summary", "", "By module").line();
  std::vector<std::string> columns = {"module"};
  shown.add_costs(columns);
  html.open_table("", "Casts, by module", columns);
  const size_t written = std::min(modules.size(), kMaxLines);
  for (size_t i = 0; i < written; ++i) {
    const std::string& module = modules[i].module;
    html.open("tr").element("th", "", module.empty() ? "outside of modules" : module,
                            {{"scope", "row"}});
    cost_cells(modules[i].cost, shown, html);
    html.close("tr").line();
  }
  html.close_table();
  write_rest(written, modules.size(), "more module", html);
  html.close("details").line();
}

}  // namespace

void write_casts(const Report& report, HtmlWriter& html) {
  const CastBill bill = cast_bill(report.run);
  if (bill.lines.empty()) return;
  html.open_section("casts", "casts", "Cast bill");
  if (bill.per_step.casts > 0)
    html.element("p", "", fmt::format("{}: {}.", bill_text(bill), reasons_text(bill))).line();
  const Shown shown(bill);
  write_lines(bill, shown, html);
  if (!bill.modules.empty()) write_modules(bill.modules, shown, html);
  html.close("section").line();
}

}  // namespace dtypecheck::reports
