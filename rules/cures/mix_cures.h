// mix_cures.h: what may cure a mix.
#pragma once

#include <vector>

#include "core/provenance.h"
#include "rules/engine/mix.h"
#include "rules/engine/rule.h"

namespace dtypecheck::rules {

// The likeliest first. `source` is where the odd operand's dtype came from.
std::vector<Cure> mix_cures(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                            const Mix& mix, const Provenance& source);

// Of a call that answers in the dtype of its wide operand, where `low` was wanted.
std::vector<Cure> promotion_cures(const RunIndex& index, const JudgeOptions& options,
                                  const OpCall& call, const Operand& wide, Dtype low);
// Of a loss, or an op inside of one, that takes two dtypes: Float is what people want from it.
std::vector<Cure> loss_cures(const RunIndex& index, const JudgeOptions& options,
                             const OpCall& loss);

}  // namespace dtypecheck::rules
