#include "rules/engine/half_weights.h"

#include <fmt/format.h>

namespace dtypecheck::rules {

std::string HalfWeights::message(const std::string& otherwise) const {
  if (!asked && !moves) return otherwise;
  const std::string what = moves ? damage_text(*moves) : otherwise;
  if (!asked) return fmt::format("{}: {}", otherwise, what);
  const std::string instead =
      asked->instead.empty() ? "Float weights under autocast" : asked->instead;
  return fmt::format("you asked for {}: {}; use {}", asked_text(*asked), what, instead);
}

std::string HalfWeights::why(const std::string& always) const {
  return moves ? fmt::format("{}; {}", measured_text(*moves), always) : always;
}

HalfWeights half_weights(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                         const Operand& parameter) {
  const auto dtype = parameter.dtypes.single();
  return {who_asked(index, options, call, parameter),
          dtype ? weight_moves(index.run(), *dtype) : std::nullopt};
}

}  // namespace dtypecheck::rules
