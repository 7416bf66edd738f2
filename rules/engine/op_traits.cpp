#include "rules/engine/op_traits.h"

#include <algorithm>
#include <iterator>

#include "ops/ops.h"

namespace dtypecheck::rules {

// Measured on LibTorch 2.11.
bool promotes(std::string_view op) {
  // clang-format off
  static constexpr std::string_view kNames[] = {
      "add", "sub", "rsub", "mul", "div", "pow", "float_power", "floor_divide", "remainder",
      "fmod", "where", "cat", "stack", "hstack", "vstack", "dstack", "addcmul", "addcdiv",
      "maximum", "minimum", "fmax", "fmin", "clamp", "clamp_min", "clamp_max", "atan2",
      "copysign", "hypot", "xlogy", "logaddexp", "logaddexp2", "outer", "addr", "column_stack",
      "slice_scatter", "select_scatter", "diagonal_scatter",};
  // clang-format on
  const std::string other = ops::without_alias(op);
  const ops::OpName name = ops::parse_op_name(other);
  return name.name_space == "aten" && !name.in_place &&
         std::find(std::begin(kNames), std::end(kNames), name.base) != std::end(kNames);
}

bool refuses_in_backward(std::string_view op) {
  return op == "aten::mse_loss" || op == "aten::huber_loss";
}

}  // namespace dtypecheck::rules
