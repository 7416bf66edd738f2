// gradients.h: a gradient that one run alone has, or that is far apart though all before it agrees:
// a part of the backward pass runs in one run alone, for the other has a detach(), a no_grad() or a
// frozen parameter.
#pragma once

#include <optional>
#include <utility>

#include "compare/align.h"
#include "compare/compare.h"
#include "compare/side.h"

namespace dtypecheck::compare {

// In the first step that has such a gradient, the first op call of its backward pass that the other
// run has not. Nothing where something else is apart before. `far`: apart by less is no sign.
std::optional<Divergence> gradient_apart(const Side& a, const Side& b, const Alignment& alignment,
                                         const std::pair<Names, Names>& names, double far,
                                         const Comparison& comparison);

}  // namespace dtypecheck::compare
