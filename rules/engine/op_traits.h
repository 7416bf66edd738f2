// op_traits.h: what the rules know about LibTorch's operators by name. An op that is not listed has
// no traits, and rules are silent about what they do not know.
#pragma once

#include <cstdint>
#include <string_view>

namespace dtypecheck::rules {

// "aten::_foreach_addcdiv_" is base "addcdiv", in place, over lists.
struct OpName {
  std::string_view name_space;  // "aten"
  std::string_view name;        // "_foreach_addcdiv_"
  std::string_view base;        // "addcdiv"
  bool in_place = false;
  bool foreach = false;
};
OpName parse_op_name(std::string_view op);

enum OpTrait : uint32_t {
  kPromotes = 1u << 0,  // answers in the promoted dtype of its operands, and never refuses a mix
  kCasts = 1u << 1,     // exists to change the dtype, or to copy into another one
  kIsView = 1u << 2,    // passes the dtype on: view, transpose, slice, clone
  kIsNorm = 1u << 3,    // layer, group, batch, instance or RMS norm, forward
  kIsLoss = 1u << 4,    // a loss; Float is what people want from it
  kLossRefusesBackward = 1u << 5,  // … and its backward refuses the mix that its forward took
  kReduces = 1u << 6,              // what a loss written by hand is made of: mean, sum, pow(2)
  kUpdates = 1u << 7,  // in place, arithmetic: an optimizer's step when it writes a parameter
  kDivides = 1u << 8,
  kAddsScalar = 1u << 9,  // a scalar argument is added to, or compared with, each element
  kIsFactory = 1u << 10,  // makes a tensor from nothing, or leaves its memory as it was
  kIsMask = 1u << 11,     // writes a value that the program chose: an infinity there is meant
  kIsBackward = 1u << 12,
  kScalesGradients = 1u << 13,  // a GradScaler's own ops
  kIsSubtraction = 1u << 14,
  kScales = 1u << 15,  // multiplies or divides: weight decay, when it writes a parameter
};
uint32_t op_traits(std::string_view op);

}  // namespace dtypecheck::rules
