// half_weights.h: what is said of training in 16-bit weights: who asked for it, what came of it in
// this run, and what to ask for instead. Two rules say it, each of its own part.
#pragma once

#include <optional>
#include <string>

#include "rules/engine/asked.h"
#include "rules/engine/weight_moves.h"

namespace dtypecheck::rules {

struct HalfWeights {
  Dtype dtype = Dtype::kUndefined;
  std::optional<Asked> asked;
  std::optional<WeightMoves> moves;
  bool is_loaded = false;  // Finding::is_loaded_low
  bool has_no_update =
      false;  // was seen, of tables, whose rows are stepped where they are looked up

  // "98 % of the Half weights did not move in 3 steps; --precision 16-true (train.py's command
  // line) asked for Half; use bf16-mixed". `otherwise` is said where nothing was measured.
  std::string message(const std::string& otherwise) const;
  // What was measured, before what holds anyway.
  std::string why(const std::string& always) const;
  bool is_asked_for() const;  // Finding::is_asked_for
  bool is_damaged() const { return moves && !has_no_update && !moves->is_harmless(); }
};

HalfWeights half_weights(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                         const Operand& parameter);

}  // namespace dtypecheck::rules
