// distance.h: how far apart what a tensor held in two runs is, by its digests.
#pragma once

#include <optional>

#include "trace/digests.h"

namespace dtypecheck::compare {

// As a part of the larger of the two root mean squares: of the elements at the places, of the root
// mean square, of the mean, or of the largest element spread over all; whichever is most. 0: equal,
// a NaN in both at the same place included. An infinity where not as many elements are finite.
// None where the shapes differ, so that there is nothing to compare. Of what was put together from
// ranks only the number of elements has to agree, and elements at places say nothing.
std::optional<double> distance(const Digest& a, const Digest& b);

bool is_floating(Dtype dtype);
// Half the gap between 1 and the next number, relative: what one rounding costs. 0 for integers.
double unit_roundoff(Dtype dtype);
double lowest_roundoff(const DigestedProcess& process);  // of the lowest dtype

}  // namespace dtypecheck::compare
