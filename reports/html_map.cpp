#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "platform/printable.h"
#include "reports/cast_table.h"
#include "reports/formatting.h"
#include "reports/html_parts.h"

namespace dtypecheck::reports {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxRows = 400;          // of the table
constexpr size_t kMaxParameters = 20000;  // in the data

double total(const Shares& shares) {
  double sum = 0;
  for (const auto& [dtype, amount] : shares) sum += amount;
  return sum;
}

// "BFloat16", "BFloat16 97 %, Float 3 %": the greatest first.
std::string shares_text(const Shares& shares) {
  std::vector<std::pair<double, Dtype>> order;
  for (const auto& [dtype, amount] : shares) order.emplace_back(-amount, dtype);
  std::ranges::sort(order);
  if (order.size() == 1) return dtype_name(order.front().second);
  std::vector<std::string> parts;
  for (const auto& [negative, dtype] : order) {
    const double percent = -100 * negative / total(shares);
    const std::string number = percent < 1 ? "< 1" : fmt::format("{:.0f}", percent);
    parts.push_back(fmt::format("{} {} %", dtype_name(dtype), number));
  }
  return joined(parts, ", ");
}

std::vector<std::string> marks(const ModuleNode& node) {
  std::vector<std::string> marks;
  if (!node.findings.empty()) marks.push_back(counted(node.findings.size(), "finding"));
  if (node.is_island) marks.push_back("island");
  if (node.has_low_norm) marks.push_back("norm in low precision");
  if (node.casts_per_step > 0) marks.push_back(casts_a_step(node.casts_per_step));
  if (node.casts_before > 0)
    marks.push_back(number_text(node.casts_before) + " casts before the first step");
  return marks;
}

class Table {
 public:
  explicit Table(HtmlWriter& html) : html_(html) {}

  void write(const ModuleNode& root) {
    html_.open("details", "map-table").element("summary", "", "The map as a table").line();
    html_.open_table("modules", "Dtypes by module; modules that are alike stand in one line",
                     {"module", "class", "weights", "activations", "gradients", "marks"});
    for (const ModuleNode& model : root.children) row(model, "");
    html_.close_table();
    if (left_out_ > 0) {
      html_.element("p", "quiet", "and " + counted(left_out_, "more line") + ", in the picture");
    }
    html_.close("details").line();
  }

 private:
  void row(const ModuleNode& node, const std::string& above) {
    const std::string path = (above.empty() ? "" : above + ".") + shown_name(node);
    if (rows_ == kMaxRows) {
      ++left_out_;
    } else {
      ++rows_;
      const std::string times =
          node.names.size() > 1 ? fmt::format(" × {}", node.names.size()) : "";
      html_.open("tr").element("th", "", path + times, {{"scope", "row"}});
      html_.element("td", "", node.module_class);
      for (size_t at = 0; at < kDtypeViews; ++at) {
        const Shares& view = node.all[at];
        html_.open("td");
        if (!view.empty()) html_.element("span", dtype_class(main_dtype(view)), shares_text(view));
        html_.close("td");
      }
      html_.element("td", "", joined(marks(node), ", ")).close("tr").line();
    }
    for (const ModuleNode& child : node.children) row(child, path);
  }

  HtmlWriter& html_;
  size_t rows_ = 0, left_out_ = 0;
};

class Data {
 public:
  explicit Data(const Report& report) : report_(report) {}

  std::string json(const ModuleNode& root) {
    Json views = Json::array();
    for (const char* view : kMapViews) views.push_back(view);
    Json data = {{"views", views}, {"root", node_json(root)}, {"findings", findings_json()}};
    for (const Dtype dtype : dtypes_)
      data["classes"][dtype_name(dtype)] = dtype_class(DtypeSet(dtype));
    return data.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  Json shares_json(const Shares& shares) {
    Json json = Json::object();
    for (const auto& [dtype, amount] : shares) {
      json[dtype_name(dtype)] = amount;
      dtypes_.insert(dtype);
    }
    return json;
  }

  // What is not said is empty, 0 or false; `all` is left to the script, which adds it up.
  Json node_json(const ModuleNode& node) {
    Json json = {{"name", printable(shown_name(node))}, {"path", printable(node.path)}};
    if (node.names.size() > 1) json["names"] = printable_all(node.names);
    if (!node.module_class.empty()) json["class"] = printable(node.module_class);
    for (size_t view = 0; view < kMapViews.size(); ++view) {
      if (!node.own[view].empty()) json["own"][kMapViews[view]] = shares_json(node.own[view]);
    }
    if (node.casts_per_step > 0) json["casts"] = node.casts_per_step;
    if (node.casts_before > 0) json["before"] = node.casts_before;
    if (node.has_low_norm) json["norm"] = true;
    if (node.is_island) json["island"] = true;
    if (!node.findings.empty()) json["findings"] = node.findings;
    if (node.signatures > 0) json["signatures"] = node.signatures;
    for (const ModuleParameter& parameter : node.parameters) {
      if (++parameters_ > kMaxParameters) break;
      json["parameters"].push_back({printable(parameter.name), parameter.dtypes.to_string(),
                                    parameter.shape, printable(parameter.from)});
    }
    for (const ModuleNode& child : node.children) json["children"].push_back(node_json(child));
    return json;
  }

  static Json printable_all(const std::vector<std::string>& names) {
    Json json = Json::array();
    for (const std::string& name : names) json.push_back(printable(name));
    return json;
  }

  Json findings_json() const {
    Json json = Json::array();
    for (const Finding& finding : report_.findings) {
      json.push_back({{"anchor", finding_anchor(report_, finding)},
                      {"severity", severity_name(finding.severity)},
                      {"message", printable(finding.message)}});
    }
    return json;
  }

  const Report& report_;
  std::set<Dtype> dtypes_;
  size_t parameters_ = 0;
};

}  // namespace

void write_map(const Report& report, const ModuleNode& root, HtmlWriter& html) {
  if (root.children.empty()) return;
  html.open_section("map", "map", "Dtype map");
  html.element(
      "p", "quiet",
      "The modules that ran, coloured by dtype; shares are of these alone. Blocks that are "
      "alike are drawn once; width is depth, height is the number of parts.");
  html.line();
  Table(html).write(root);
  html.data_block("map-data", Data(report).json(root)).line();
  html.close("section").line();
}

}  // namespace dtypecheck::reports
