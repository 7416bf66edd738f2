// arguments.h: what the name of an argument says, in LibTorch's schemas and in the code of its
// users. C++17 and plain, like ops.h. An element of a list, "tensors[2]", is what its list is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ops/role.h"

namespace dtypecheck {
namespace ops {

// "tensors" of "tensors[2]", and any other name as it is.
inline std::string_view list_name(std::string_view name) {
  return !name.empty() && name.back() == ']' ? name.substr(0, name.rfind('[')) : name;
}

// Never kOut: whether an op writes an argument and reads nothing of it, its schema says better.
Role role_of_argument(std::string_view name);

enum ArgumentFact : uint16_t {
  kGenericName = 1u << 0,      // many ops call an input so: the name tells a user nothing
  kFactor = 1u << 1,           // half of a binary op or of a product
  kRightFactor = 1u << 2,      // of a product: a parameter that stands there is the weight
  kDivisor = 1u << 3,          // what a division divides by
  kAddend = 1u << 4,           // a scalar there is added, or compared with each element
  kOwnDtype = 1u << 5,         // has a dtype of its own, whatever the parameters of the step are
  kWrittenSilently = 1u << 6,  // written in place, though some schemas do not say so
  kIndex = 1u << 7,            // integers that say where, or how many
  kCondition = 1u << 8,        // booleans that say which
  kLabels = 1u << 9,           // of a loss: classes for some, values for others
  kScale = 1u << 10            // multiplies what was divided to fit 8 bits: Float, or powers of 2
};
uint32_t argument_facts(std::string_view name);

// The same for an argument of one op, where the name alone does not decide.
bool is_right_factor(std::string_view op, std::string_view name);
bool is_divisor(std::string_view op, std::string_view name);

// addmm and its like call what is added to the product `self`; traces say "bias", as people do. The
// first is from the schema's name to the trace's, the second the way back. All other names stay.
std::string_view shown_argument(std::string_view op, std::string_view name);
std::string_view schema_argument(std::string_view op, std::string_view name);

// The name of an argument by its position, self among them, where a declaration tells none: of
// "masked_fill" 1 is "mask". "" for ops that are not listed.
std::string_view argument_at(std::string_view op, size_t position);

}  // namespace ops
}  // namespace dtypecheck
