#include "reports/html_op_calls.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "platform/printable.h"
#include "reports/words.h"

namespace dtypecheck::reports {

namespace {

using Json = nlohmann::json;

constexpr size_t kMaxTextBytes = 400;  // of one cell

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

// "tensors" of "tensors[2]".
std::string list_name(const std::string& name) {
  return name.ends_with(']') ? name.substr(0, name.rfind('[')) : name;
}

// "input Half, weight Float"; the elements of a list that have the same dtype as one: "tensors
// Half ×320".
std::string tensors_text(const std::vector<Operand>& tensors) {
  std::string out;
  for (size_t i = 0; i < tensors.size() && out.size() < kMaxTextBytes;) {
    const Operand& first = tensors[i];
    size_t end = i + 1;
    while (end < tensors.size() && tensors[end].dtypes == first.dtypes &&
           list_name(tensors[end].name) == list_name(first.name)) {
      ++end;
    }
    const bool undefined = first.kind == TensorKind::kUndefined;
    if (!undefined) {
      out += out.empty() ? "" : ", ";
      if (!first.name.empty()) out += list_name(first.name) + " ";
      out += first.dtypes.to_string();
      if (end - i > 1) out += fmt::format(" ×{}", end - i);
    }
    i = end;
  }
  return out;
}

std::string shapes_text(const std::vector<Operand>& tensors) {
  std::string out;
  for (const Operand& tensor : tensors) {
    if (tensor.kind == TensorKind::kUndefined || out.size() > kMaxTextBytes) continue;
    if (!out.empty()) out += ' ';
    out += tensor.has_shape ? shape_text(tensor) : "?";
  }
  return out;
}

std::string autocast_text(const AutocastState& autocast) {
  std::vector<std::string> parts;
  for (const AutocastState::Region& region : autocast.enabled) {
    parts.push_back(region.device + ":" + dtype_name(region.dtype));
  }
  return joined(parts, ", ");
}

std::string op_text(const OpCall& call) {
  return call.overload.empty() ? call.op : call.op + "." + call.overload;
}

std::string steps_text(const OpCall& call) {
  if (call.first_step == call.last_step) return std::to_string(call.first_step);
  return fmt::format("{}–{}", call.first_step, call.last_step);
}

// What the page's table shows of an op call. Names are those of the JSON report where it has the
// same thing.
struct Column {
  const char* name;
  std::string (*text)(const Report& report, const OpCall& call);
};

constexpr Column kColumns[] = {
    {"module", [](const Report&, const OpCall& call) { return call.site.module; }},
    {"op", [](const Report&, const OpCall& call) { return op_text(call); }},
    {"operands", [](const Report&, const OpCall& call) { return tensors_text(call.operands); }},
    {"results", [](const Report&, const OpCall& call) { return tensors_text(call.results); }},
    {"shapes", [](const Report&, const OpCall& call) { return shapes_text(call.operands); }},
    {"phase",
     [](const Report&, const OpCall& call) { return std::string(phase_name(call.site.phase)); }},
    {"steps", [](const Report&, const OpCall& call) { return steps_text(call); }},
    {"place",
     [](const Report& report, const OpCall& call) { return place(report, call.site.line); }},
    {"inner",
     [](const Report& report, const OpCall& call) {
       return has_inner(call.site) ? place(report, call.site.inner) : "";
     }},
    {"outcome",
     [](const Report&, const OpCall& call) { return std::string(outcome_name(call.outcome)); }},
    {"autocast", [](const Report&, const OpCall& call) { return autocast_text(call.autocast); }},
    {"process", [](const Report& report,
                   const OpCall& call) { return process_label(report.run, call.process); }},
};

Json row_of(const Report& report, const OpCall& call, Strings& strings) {
  Json row = Json::array();
  for (const Column& column : kColumns) row.push_back(strings.index(column.text(report, call)));
  row.push_back(call.count);
  return row;
}

}  // namespace

std::string op_calls_json(const Report& report) {
  Strings strings;
  Json rows = Json::array();
  for (const OpCall& call : report.run.calls) rows.push_back(row_of(report, call, strings));
  Json columns = Json::array();
  for (const Column& column : kColumns) columns.push_back(column.name);
  columns.push_back("count");  // the one that is a number, not the index of a string
  const Json data = {{"columns", columns}, {"rows", rows}, {"strings", strings.json()}};
  return data.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace dtypecheck::reports
