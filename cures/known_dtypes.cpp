#include "cures/known_dtypes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/dtype_names.h"
#include "core/dtype_set.h"
#include "core/provenance.h"
#include "rules/engine/formatting.h"
#include "rules/engine/throws.h"

namespace dtypecheck::cures {
namespace {

using Json = nlohmann::json;
using ExpressionExtent = std::tuple<int, int, int, int>;

// The ops that each expression of the file called, in their order. The last one made what it gives.
std::map<ExpressionExtent, std::vector<const OpCall*>> calls_by_expression(
    const Run& run, uint32_t process, const std::string& file) {
  std::map<ExpressionExtent, std::vector<const OpCall*>> calls;
  for (const OpCall& call : run.calls) {
    const SourceLine& line = call.site.line;
    const bool is_known = line.extent.known() || is_cpp_file(file);  // of C++ the line alone
    const bool is_there = call.process == process && call.parent == kNoOpCall &&
                          line.file == file && is_known && call.result_dtype();
    if (is_there)
      calls[{line.line, line.extent.column, line.extent.end_line, line.extent.end_column}]
          .push_back(&call);
  }
  return calls;
}

// The op that the expression called last gave another dtype at another time.
bool gave_another(const std::vector<const OpCall*>& calls) {
  const OpCall& last = *calls.back();
  return std::any_of(calls.begin(), calls.end(), [&](const OpCall* call) {
    return call->op == last.op && call->site.line == last.site.line &&
           call->site.inner == last.site.inner && call->result_dtype() != last.result_dtype();
  });
}

}  // namespace

std::string name_in_torch(Dtype dtype) {
  const DtypeNames* names = names_of(dtype);
  return names == nullptr ? "" : names->torch;
}

Json results_in(const Run& run, uint32_t process, const std::string& file) {
  Json results = Json::array();
  for (const auto& [place, calls] : calls_by_expression(run, process, file)) {
    const std::string dtype =
        gave_another(calls) ? "" : name_in_torch(*calls.back()->result_dtype());
    const auto [line, column, end_line, end_column] = place;
    results.push_back({line, column, end_line, end_column, dtype});
  }
  return results;
}

Json models_trained_low(const Run& run, uint32_t process) {
  Json models = Json::array();
  std::set<std::string> seen;
  for (const OpCall& call : run.calls) {
    if (call.process != process) continue;
    for (const Operand& operand : call.operands) {
      const bool is_its = is_parameter(operand) && operand.requires_grad &&
                          operand.dtypes.within(kLowPrecision) && !operand.parameter.empty();
      const std::string root = is_its ? rules::root_module(operand.parameter) : "";
      if (!root.empty() && seen.insert(root).second) models.push_back(root);
    }
  }
  return models;
}

Json parameters_around(const Run& run, const OpCall& call) {
  constexpr size_t kMost = 4096;
  Json parameters = Json::object();
  const std::string root = rules::root_module(call.site.module);
  for (const OpCall& other : run.calls) {
    for (const Operand& operand : other.operands) {
      const auto dtype = operand.dtypes.single();
      const bool is_its = dtype && other.process == call.process && is_parameter(operand) &&
                          operand.is_floating() && !root.empty() &&
                          rules::root_module(operand.parameter) == root;
      if (is_its && parameters.size() < kMost)
        parameters[operand.parameter] = name_in_torch(*dtype);
    }
  }
  return parameters;
}

bool is_odd_beside(const Operand& operand, Dtype dtype) {
  return operand.is_floating() && !is_parameter(operand) && operand.promotes() &&
         operand.dtypes.size() == 1 && !operand.dtypes.contains(dtype);
}

Json origins_of(const Cure& cure, const Run& run, const OpCall& call) {
  const ProvenanceIndex provenance(run);
  std::set<std::pair<int, std::string>> origins;
  for (const OpCall& inner : run.calls) {
    const bool is_refused =
        inner.process == call.process && inner.site.line == cure.where && rules::was_refused(inner);
    for (const Operand& operand : is_refused ? inner.operands : std::vector<Operand>()) {
      if (!is_odd_beside(operand, cure.dtype)) continue;
      for (const ProvenanceStep& step : provenance.trace_back(inner, operand).steps) {
        const SourceLine& line = step.call->site.line;
        if (line == cure.where) continue;
        origins.emplace(line.file == cure.where.file ? line.line : 0,
                        line.function.substr(line.function.rfind('.') + 1));
        break;
      }
    }
  }
  Json all = Json::array();
  for (const auto& [line, function] : origins) all.push_back({line, function});
  return all;
}

Json lines_called_by(const Cure& cure, const Run& run, const OpCall& call) {
  const std::string model = rules::root_module(call.site.module);
  std::set<std::string> functions;  // the model's own, not those of its parts
  for (const OpCall& one : run.calls)
    if (one.process == call.process && one.site.module == model)
      functions.insert(one.site.line.function);
  Json lines = Json::array();
  std::set<std::pair<std::string, int>> seen;
  for (const OpCall& inner : run.calls) {
    const SourceLine& line = inner.site.line;
    const bool is_its = inner.process == call.process && inner.site.caller == cure.where &&
                        functions.count(line.function) != 0 && rules::was_refused(inner) &&
                        std::any_of(inner.operands.begin(), inner.operands.end(),
                                    [&](auto& its) { return is_odd_beside(its, cure.dtype); });
    if (is_its && seen.emplace(line.file, line.line).second)
      lines.push_back(
          {{"file", line.file},
           {"line", line.line},
           {"extent", {line.extent.column, line.extent.end_line, line.extent.end_column}}});
  }
  return lines;
}

}  // namespace dtypecheck::cures
