// lost_epsilon.h: an epsilon that is 0 in the dtype that it is added in, or a bound that is 1
// there, behind a NaN or an infinity.
#pragma once

#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

// The call that adds an epsilon which is 0 there to what an infinity or a NaN comes of, as
// log(h / w) behind "h += eps".
// As far as eps-underflow has reported it; null where it has not.
const OpCall* epsilon_lost(const RunIndex& index, const OpCall& call, const Findings& out);

// The call whose bound was to keep what an infinity or a NaN comes of away from a pole, as
// log(1 - x) behind x.clamp(max=1 - 1e-15); null where there is none.
const OpCall* bound_lost(const RunIndex& index, const OpCall& call);

}  // namespace dtypecheck::rules
