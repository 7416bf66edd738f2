#include "reports/html_casts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cast_bill.h"
#include "reports/cast_table.h"
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
  html.open("td").element("span", dtype_class(DtypeSet(one)), dtype_name(one)).close("td");
}

void places(const Report& report, const Site& site, HtmlWriter& html) {
  html.open("td").element("span", "place", place(report, site.line));
  if (has_inner(site)) html.element("div", "detail", "inside " + place(report, site.inner));
  html.close("td");
}

std::string weights_text(const CastLine& cast) {
  if (cast.weights_per_step == 0 || cast.is_once) return "";
  std::string text = number_text(cast.weights_per_step) + " of weights";
  if (cast.uncached) return text + ", in each use: they require no gradient";
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

void cost_cells(const CastCost& cost, HtmlWriter& html) {
  html.element("td", "number", number_text(cost.casts));
  html.element("td", "number", bytes_text(cost.moved_bytes()));
  html.element("td", "number", time_text(cost.cpu_ns));
  html.element("td", "number", time_text(cost.gpu_ns));
}

void write_rest(size_t shown, size_t all, const char* what, HtmlWriter& html) {
  if (shown < all)
    html.element("p", "quiet", "and " + counted(all - shown, what) + ", all in the JSON");
}

void write_lines(const Report& report, const std::vector<CastLine>& casts, HtmlWriter& html) {
  html.open_table("bill", "Casts, by line",
                  {"line", "for", "from", "to", "#casts a step", "#bytes moved", "#CPU", "#GPU",
                   "share", "weights"});
  const size_t shown = std::min(casts.size(), kMaxLines);
  double most = 0;
  for (const CastLine& cast : casts) most = std::max(most, cast.cost.moved_bytes());
  for (size_t i = 0; i < shown; ++i) {
    const CastLine& cast = casts[i];
    html.open("tr");
    places(report, cast.site, html);
    html.element("td", "", reason_text(cast));
    dtype(cast.from, html);
    dtype(cast.to, html);
    cost_cells(cast.cost, html);
    html.open("td");
    bar(most > 0 ? cast.cost.moved_bytes() / most : 0, cast.to, html);
    html.close("td").element("td", "", weights_text(cast)).close("tr").line();
  }
  html.close_table();
  write_rest(shown, casts.size(), "more line", html);
}

void write_modules(const std::vector<ModuleCasts>& modules, HtmlWriter& html) {
  html.open("details").element("summary", "", "By module").line();
  html.open_table("", "Casts, by module",
                  {"module", "#casts a step", "#bytes moved", "#CPU", "#GPU"});
  const size_t shown = std::min(modules.size(), kMaxLines);
  for (size_t i = 0; i < shown; ++i) {
    const std::string& module = modules[i].module;
    html.open("tr").element("th", "", module.empty() ? "outside of modules" : module,
                            {{"scope", "row"}});
    cost_cells(modules[i].cost, html);
    html.close("tr").line();
  }
  html.close_table();
  write_rest(shown, modules.size(), "more module", html);
  html.close("details").line();
}

}  // namespace

void write_casts(const Report& report, HtmlWriter& html) {
  const CastBill bill = cast_bill(report.run);
  if (bill.lines.empty()) return;
  html.open_section("casts", "casts", "Cast bill");
  if (bill.per_step.casts > 0)
    html.element("p", "", fmt::format("{}: {}.", bill_text(bill), reasons_text(bill))).line();
  write_lines(report, bill.lines, html);
  if (!bill.modules.empty()) write_modules(bill.modules, html);
  html.close("section").line();
}

}  // namespace dtypecheck::reports
