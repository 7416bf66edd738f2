// weight_moves.h: what became of the trained weights in 16 bits, as the tracer measured it
// (tracer/hook/weight_moves.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/run.h"

namespace dtypecheck::rules {

struct WeightMoves {
  uint64_t steps = 0, tensors = 0;
  uint64_t elements = 0, unmoved = 0;   // that had a gradient; that are what they were at first
  uint64_t updates = 0, lost = 0;       // of one element in one step; that changed nothing
  uint64_t zero = 0;                    // gradients that were 0
  uint64_t gone = 0;                    // of the sum of the updates, at most: in thousandths …
  bool knows_sum = false;               // … where that was measured
  uint64_t looked = 0, non_finite = 0;  // elements at the end
  std::string optimizer;                // "AdamW"; "" where it is not known

  double unmoved_share() const { return elements == 0 ? 0 : double(unmoved) / double(elements); }
  double lost_share() const { return updates == 0 ? 0 : double(lost) / double(updates); }
  // All is finite, and hardly an update was lost; or, of enough of them, hardly a part of their
  // sum, and every weight moved; or next to nothing of it, and most weights moved.
  bool is_harmless() const;
};

// Of all processes together, so that the ranks of a run say one thing; nothing where no step was
// looked at.
std::optional<WeightMoves> weight_moves(const Run& run, Dtype dtype);

// "98 % of the BFloat16 weights did not move in 3 steps", "7 % of the Half weights are NaN or
// infinite after 3 steps".
std::string damage_text(const WeightMoves& moves, Dtype dtype);
// "measured on 384 elements of 12 weights: …"
std::string measured_text(const WeightMoves& moves);

}  // namespace dtypecheck::rules
