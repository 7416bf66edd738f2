// mix_reason.h: why two operands came to disagree, in words.
#pragma once

#include <string>

#include "core/provenance.h"
#include "rules/engine/mix.h"

namespace dtypecheck::rules {

// `source` is where the odd operand's dtype came from.
std::string mix_why(const RunIndex& index, const OpCall& call, const Mix& mix,
                    const Provenance& source);

}  // namespace dtypecheck::rules
