#include "reports/html_op_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "platform/printable.h"
#include "reports/html_findings.h"
#include "reports/words.h"
#include "trace/op_call_fields.h"

namespace dtypecheck::reports {

namespace {

using Json = nlohmann::json;

constexpr size_t kRowsWithoutScript = 1000;

class Strings {
 public:
  uint64_t index(const std::string& text) {
    const auto [found, is_new] = indices_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(printable(text));
    return found->second;
  }
  const Json& json() const { return texts_; }

 private:
  std::unordered_map<std::string, uint64_t> indices_;
  Json texts_ = Json::array();
};

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Column {
  std::string name;
  std::vector<uint64_t> values;

  // Many columns hold one value: there one number stands for all.
  std::string json() const {
    const bool is_constant =
        std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
    if (is_constant && !values.empty()) return fmt::format("\"{}\":{}", name, values.front());
    return fmt::format("\"{}\":[{}]", name, fmt::join(values, ","));
  }
};

trace::PathText paths(const Report& report) {
  return [&report](const std::string& file) { return short_path(report, file); };
}

std::vector<Column> columns_of(const Report& report, Strings& strings) {
  std::vector<Column> columns;
  for (const std::string& name : trace::op_call_columns()) columns.push_back({name, {}});
  Column process{"process", {}}, count{"count", {}};  // the one that is no index of a string
  const trace::PathText path = paths(report);
  for (const OpCall& call : report.run.calls) {
    const std::vector<std::string> cells = trace::op_call_cells(call, path);
    for (size_t i = 0; i < cells.size(); ++i) columns[i].values.push_back(strings.index(cells[i]));
    process.values.push_back(strings.index(process_label(report.run, call.process)));
    count.values.push_back(call.count);
  }
  columns.push_back(std::move(process));
  columns.push_back(std::move(count));
  return columns;
}

// Of the dtypes that the run has.
Json classes_json(const Report& report) {
  DtypeSet all;
  for (const OpCall& call : report.run.calls) {
    for (const std::vector<Operand>* tensors : {&call.operands, &call.results}) {
      for (const Operand& tensor : *tensors) all |= tensor.dtypes;
    }
  }
  Json classes = Json::object();
  for (int bit = 0; bit < 64; ++bit) {
    const auto dtype = static_cast<Dtype>(bit);
    if (all.contains(dtype)) classes[dtype_name(dtype)] = dtype_class(DtypeSet(dtype));
  }
  return classes;
}

}  // namespace

void write_op_call_rows(const Report& report, HtmlWriter& html) {
  std::vector<std::string> columns = trace::op_call_columns();
  columns.push_back("#calls");
  html.open("div", "first-rows").line().open_table("", "Op calls", columns);
  const trace::PathText path = paths(report);
  const size_t shown = std::min(report.run.calls.size(), kRowsWithoutScript);
  for (size_t i = 0; i < shown; ++i) {
    html.open("tr");
    for (const std::string& cell : trace::op_call_cells(report.run.calls[i], path))
      html.element("td", "", cell);
    html.element("td", "number", grouped(report.run.calls[i].count)).close("tr").line();
  }
  html.close_table();
  if (shown < report.run.calls.size()) {
    html.element("p", "quiet",
                 fmt::format("the first {} of {}: the others need JavaScript; dtypecheck dump "
                             "lists them, too",
                             grouped(shown), counted(report.run.calls.size(), "signature")));
  }
  html.close("div").line();
}

std::string op_calls_json(const Report& report) {
  Strings strings;
  std::string columns;
  for (const Column& column : columns_of(report, strings))
    columns += (columns.empty() ? "" : ",") + column.json();
  return fmt::format(R"({{"size":{},"columns":{{{}}},"strings":{},"classes":{}}})",
                     report.run.calls.size(), columns, dumped(strings.json()),
                     dumped(classes_json(report)));
}

}  // namespace dtypecheck::reports
