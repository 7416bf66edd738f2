#include "rules/engine/half_weights.h"

#include <fmt/format.h>

namespace dtypecheck::rules {

std::string HalfWeights::message(const std::string& otherwise) const {
  const std::string what = moves ? damage_text(*moves, dtype) : otherwise;
  if (!asked) return moves ? fmt::format("{}: {}", what, otherwise) : otherwise;
  const std::string instead =
      asked->instead.empty() ? "Float weights under autocast" : asked->instead;
  return fmt::format("{}; {} asked for {}; use {}", what, asked_text(*asked), dtype_name(dtype),
                     instead);
}

std::string HalfWeights::why(const std::string& always) const {
  return moves ? fmt::format("{}; {}", measured_text(*moves), always) : always;
}

HalfWeights half_weights(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                         const Operand& parameter) {
  const Dtype dtype = parameter.dtypes.single().value_or(Dtype::kUndefined);
  return {dtype, who_asked(index, options, call, parameter), weight_moves(index.run(), dtype)};
}

}  // namespace dtypecheck::rules
