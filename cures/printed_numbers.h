// printed_numbers.h: the numbers by which two runs of a program are compared.
#pragma once

#include <string_view>
#include <vector>

namespace dtypecheck::cures {

// What standard output says, in its order: numbers with a point or an exponent, nan and inf. A loss
// is one, a step's number is none.
std::vector<double> numbers_in(std::string_view output);

// Where standard output has none: the last loss that a progress bar or a logger says on standard
// error ("step_loss=0.123"), by its name, for a bar says rates and times too. None or one, since
// how often a bar is drawn hangs on the clock.
std::vector<double> last_loss_in(std::string_view errors);

}  // namespace dtypecheck::cures
