#include "rules/engine/formatting.h"

#include <fmt/format.h>

#include "ops/ops.h"

namespace dtypecheck::rules {

bool is_in_cpp(const OpCall& call) { return is_cpp_file(call.site.line.file); }

std::string to_dtype(const OpCall& call, Dtype dtype) {
  return is_in_cpp(call) ? fmt::format(".to(torch::k{})", dtype_name(dtype))
                         : fmt::format(".to({})", torch_dtype(dtype));
}

std::string dtype_word(const Operand& operand) { return operand.dtypes.to_string(); }

std::string root_module(std::string_view path) {
  return std::string(path.substr(0, path.find('.')));
}

std::string owner_module(std::string_view parameter) {
  const size_t dot = parameter.rfind('.');
  return std::string(parameter.substr(0, dot == parameter.npos ? 0 : dot));
}

std::string without_kernel(const OpCall& call, Dtype dtype) {
  if (ops::facts_of(call.op) & ops::kScalesGradients) {
    return "leave the GradScaler out: BFloat16 has the range of Float, so its gradients need no "
           "scale";
  }
  return fmt::format("compute this op in Float, and cast its result: .to({})", torch_dtype(dtype));
}

std::string number(double value) { return fmt::format("{}", value); }

}  // namespace dtypecheck::rules
