#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <vector>

#include "platform/printable.h"
#include "reports/formatting.h"
#include "reports/html_parts.h"
#include "trace/op_call_fields.h"

namespace dtypecheck::reports {

namespace {

using Json = nlohmann::json;

constexpr size_t kRowsWithoutScript = 100;

// The texts of one column.
class Strings {
 public:
  uint64_t index(const std::string& text) {
    const auto [found, is_new] = indices_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(printable(text));
    return found->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, uint64_t> indices_;
  std::vector<std::string> texts_;
};

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(bytes.size() - i, 3);
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < left ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += k <= left ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// A number for each row. Many columns hold one value: there that one stands for all. Of the others
// each row has as many bytes as the largest needs, the lowest first: a page of 600,000 op calls has
// half the size that decimal numbers give it, and is read in less time.
struct Column {
  std::string name;
  Strings strings;
  std::vector<uint64_t>
      values;         // places in the strings of this column, or where it has none, numbers
  uint64_t base = 0;  // of its strings among those of all columns

  std::string json() const {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    if (values.empty() || *least == *most)
      return fmt::format("\"{}\":{}", name, base + (values.empty() ? 0 : values.front()));
    size_t width = 1;
    while (width < sizeof *most && *most >> 8 * width != 0) ++width;
    std::string bytes;
    bytes.reserve(values.size() * width);
    for (const uint64_t value : values)
      for (size_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> 8 * i & 255);
    return fmt::format(R"("{}":{{"base":{},"width":{},"bytes":"{}"}})", name, base, width,
                       base64(bytes));
  }
};

std::string path_text(const std::string& file) { return printable(shown_path(file)); }

std::vector<Column> columns_of(const Report& report) {
  std::vector<Column> columns;
  for (const std::string& name : trace::op_call_columns()) columns.push_back({.name = name});
  Column process{.name = "process"}, count{.name = "count"};
  for (const OpCall& call : report.run.calls) {
    const std::vector<std::string> cells = trace::op_call_cells(call, path_text);
    for (size_t i = 0; i < cells.size(); ++i)
      columns[i].values.push_back(columns[i].strings.index(cells[i]));
    process.values.push_back(process.strings.index(process_label(report.run, call.process)));
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
  const size_t shown = std::min(report.run.calls.size(), kRowsWithoutScript);
  for (size_t i = 0; i < shown; ++i) {
    html.open("tr");
    for (const std::string& cell : trace::op_call_cells(report.run.calls[i], path_text))
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
  Json strings = Json::array();
  std::string columns;
  for (Column& column : columns_of(report)) {
    if (column.name != "count") column.base = strings.size();
    for (const std::string& text : column.strings.texts()) strings.push_back(text);
    columns += (columns.empty() ? "" : ",") + column.json();
  }
  return fmt::format(R"({{"size":{},"columns":{{{}}},"strings":{},"classes":{}}})",
                     report.run.calls.size(), columns, dumped(strings),
                     dumped(classes_json(report)));
}

}  // namespace dtypecheck::reports
