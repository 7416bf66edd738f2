#include "rules/engine/half_weights.h"

#include <fmt/format.h>

#include <set>

#include "core/precision_words.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

// A step reaches the rows of a table that were looked up: that some elements of it had no gradient
// says nothing of the others.
static bool are_tables(const RunIndex& index, const WeightMoves& moves, Dtype dtype) {
  std::set<std::string> tables;
  for (const OpCall& call : index.judged_calls()) {
    if (!call.op.starts_with("aten::embedding")) continue;
    for (const Operand& operand : call.operands)
      if (is_parameter(operand) && operand.dtypes == DtypeSet(dtype))
        tables.insert(operand.parameter);
  }
  return tables.size() >= moves.tensors;
}

std::string HalfWeights::message(const std::string& otherwise) const {
  const bool is_measured = moves && !has_no_update;
  const std::string what = is_measured ? damage_text(*moves, dtype) : otherwise;
  if (!asked) return is_measured ? fmt::format("{}: {}", what, otherwise) : otherwise;
  const std::string instead =
      asked->instead.empty() ? "Float weights under autocast" : asked->instead;
  return fmt::format("{}; {} asked for {}; use {}", what, asked_text(*asked), dtype_name(dtype),
                     instead);
}

std::string HalfWeights::why(const std::string& always) const {
  return moves ? fmt::format("{}; {}", measured_text(*moves), always) : always;
}

bool HalfWeights::is_asked_for() const {
  return asked && asked->is_command_line && asks_for_low_weights(asked->what);
}

HalfWeights half_weights(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                         const Operand& parameter) {
  const Dtype dtype = parameter.dtypes.single().value_or(Dtype::kUndefined);
  HalfWeights weights = {dtype, who_asked(index, options, call, parameter),
                         weight_moves(index.run(), dtype)};
  const OpCall* maker = index.provenance().trace_back(call, parameter).maker;
  const bool is_of_file =
      maker != nullptr && maker->site.phase == Phase::kLoad && !index.has(*maker, ops::kCast);
  weights.is_loaded = is_of_file && (!weights.asked || weights.asked->is_left_out);
  const std::optional<WeightMoves>& moves = weights.moves;
  weights.has_no_update =
      moves && moves->updates == 0 && moves->non_finite == 0 && are_tables(index, *moves, dtype);
  return weights;
}

}  // namespace dtypecheck::rules
