#include "reports/html_op_calls.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "platform/printable.h"
#include "reports/words.h"
#include "trace/op_call_fields.h"

namespace dtypecheck::reports {

namespace {

using Json = nlohmann::json;

class Strings {
 public:
  size_t index(const std::string& text) {
    const auto [found, is_new] = indices_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(printable(text));
    return found->second;
  }
  const Json& json() const { return texts_; }

 private:
  std::unordered_map<std::string, size_t> indices_;
  Json texts_ = Json::array();
};

Json row_of(const Report& report, const OpCall& call, const trace::PathText& path,
            Strings& strings) {
  Json row = Json::array();
  for (const std::string& cell : trace::op_call_cells(call, path))
    row.push_back(strings.index(cell));
  row.push_back(strings.index(process_label(report.run, call.process)));
  row.push_back(call.count);
  return row;
}

}  // namespace

std::string op_calls_json(const Report& report) {
  const trace::PathText path = [&](const std::string& file) { return short_path(report, file); };
  Strings strings;
  Json rows = Json::array();
  for (const OpCall& call : report.run.calls) rows.push_back(row_of(report, call, path, strings));
  Json columns = trace::op_call_columns();
  columns.push_back("process");
  columns.push_back("count");  // the one that is a number, not the index of a string
  const Json data = {{"columns", columns}, {"rows", rows}, {"strings", strings.json()}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dtypecheck::reports
