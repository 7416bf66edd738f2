// op_traits.h: which ops promote.
#pragma once

#include <string_view>

namespace dtypecheck::rules {

// Answers in the promoted dtype of its operands, and refuses no mix.
bool promotes(std::string_view op);
// A loss whose backward refuses the mix that its forward took.
bool refuses_in_backward(std::string_view op);

}  // namespace dtypecheck::rules
