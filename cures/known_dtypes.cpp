#include "cures/module_input.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/dtype_set.h"
#include "core/provenance.h"
#include "rules/engine/throws.h"

namespace dtypecheck::cures {
namespace {

using Json = nlohmann::json;
using Place = std::tuple<int, int, int, int>;

// The ops that each expression of the file called, in their order. The last one made what it gives.
std::map<Place, std::vector<const OpCall*>> calls_by_expression(const Run& run, uint32_t process,
                                                                const std::string& file) {
  std::map<Place, std::vector<const OpCall*>> calls;
  for (const OpCall& call : run.calls) {
    const SourceLine& line = call.site.line;
    const bool is_there = call.process == process && call.parent == kNoOpCall &&
                          line.file == file && line.extent.known() && call.result_dtype();
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

void add_module_input(const Cure& cure, const Run& run, const OpCall& call, Json& question) {
  for (const auto& [place, calls] : calls_by_expression(run, call.process, cure.where.file)) {
    if (gave_another(calls)) continue;
    const auto [line, column, end_line, end_column] = place;
    question["results"].push_back(
        {line, column, end_line, end_column, torch_dtype(*calls.back()->result_dtype())});
  }
  const ProvenanceIndex provenance(run);
  std::set<std::pair<int, std::string>> origins;
  for (const OpCall& inner : run.calls) {
    const bool is_refused =
        inner.process == call.process && inner.site.line == cure.where && rules::was_refused(inner);
    for (const Operand& operand : is_refused ? inner.operands : std::vector<Operand>()) {
      const bool is_odd = operand.is_floating() && !is_parameter(operand) && operand.promotes() &&
                          operand.dtypes.size() == 1 && !operand.dtypes.contains(cure.dtype);
      if (!is_odd) continue;
      for (const ProvenanceStep& step : provenance.of(inner, operand).steps) {
        const SourceLine& line = step.call->site.line;
        if (line == cure.where) continue;
        origins.emplace(line.file == cure.where.file ? line.line : 0,
                        line.function.substr(line.function.rfind('.') + 1));
        break;
      }
    }
  }
  for (const auto& [line, function] : origins) question["origins"].push_back({line, function});
}

}  // namespace dtypecheck::cures
