// losses.h: of the loss that backward() is called on, whether it is NaN or infinite by what an op
// gave that is neither in Double, and whether it is scaled; and what is infinite in a generation.
#pragma once

#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

// Squares in Half of an optimizer's step, of which many are 0 and are not in Double.
bool squares_vanish(const OpCall& call);

// Of the op call that begins the backward pass of such a loss: the first one that led to it and
// gave a NaN or an infinity that Double has not, or squares of a step before that vanished; nullptr
// where none was seen.
const OpCall* origin_of_lost_loss(const RunIndex& index, const OpCall& backward);

// The op call that begins the backward pass of the loss that this one is the origin of.
const OpCall* loss_lost_by(const RunIndex& index, const OpCall& origin);

// What gave the loss multiplies it by a tensor, or by a number other than a share of it.
bool is_scaled_loss(const OpCall& made);

// A finite number that is written to a tensor whose dtype has none so large, as LibTorch does where
// the tensor is a single element: an infinity.
const ScalarArgument* number_beyond(const OpCall& call);

// Numbers are drawn by probabilities that are NaN, infinite or negative, which was refused.
bool draws_by_non_finite(const OpCall& call);

// The mean, median or variance of nothing is NaN in any dtype.
bool is_of_nothing(const OpCall& call);

// By a GradScaler, or by hand.
bool scales_losses(const RunIndex& index, uint32_t process);

}  // namespace dtypecheck::rules
