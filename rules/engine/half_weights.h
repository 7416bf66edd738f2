// half_weights.h: what is said of training in 16-bit weights: who asked for it, what came of it in
// this run, and what to ask for instead. Two rules say it, each of its own part.
#pragma once

#include <optional>
#include <string>

#include "rules/engine/asked.h"
#include "rules/engine/weight_moves.h"

namespace dtypecheck::rules {

struct HalfWeights {
  std::optional<Asked> asked;
  std::optional<WeightMoves> moves;

  // "you asked for --precision 16-true (train.py's command line): 98 % of the weights did not move
  // in 3 steps; use bf16-mixed". `otherwise` is said where neither is known.
  std::string message(const std::string& otherwise) const;
  // What was measured, before what holds anyway.
  std::string why(const std::string& always) const;
  bool is_damaged() const { return moves && !moves->is_harmless(); }
};

HalfWeights half_weights(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                         const Operand& parameter);

}  // namespace dtypecheck::rules
