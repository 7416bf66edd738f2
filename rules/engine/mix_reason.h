// mix_reason.h: why two operands came to disagree, in words.
#pragma once

#include <string>

#include "core/provenance.h"
#include "rules/engine/mix.h"

namespace dtypecheck::rules {

// `source` is where the odd operand's dtype came from; the last is what autocast would do, were it
// on here.
std::string mix_why(const RunIndex& index, const OpCall& call, const Mix& mix,
                    const Provenance& source, contracts::Acceptance under_autocast);

}  // namespace dtypecheck::rules
