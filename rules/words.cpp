#include "rules/words.h"

#include <fmt/format.h>

namespace dtypecheck::rules {
namespace {

const SourceLine& best_line(const Site& site) { return site.line.known() ? site.line : site.inner; }

}  // namespace

std::string torch_dtype(Dtype dtype) {
  switch (dtype) {
    case Dtype::kHalf:
      return "torch.float16";
    case Dtype::kBFloat16:
      return "torch.bfloat16";
    case Dtype::kFloat:
      return "torch.float32";
    case Dtype::kDouble:
      return "torch.float64";
    default:
      return "torch::k" + dtype_name(dtype);
  }
}

std::string dtype_word(const Operand& operand) { return operand.dtypes.to_string(); }

std::string place(const Site& site) {
  const SourceLine& line = best_line(site);
  if (!line.known()) return "";
  const size_t slash = line.file.find_last_of("/\\");
  return fmt::format("{}:{}", line.file.substr(slash == line.file.npos ? 0 : slash + 1), line.line);
}

std::string at_place(const Site& site) {
  const std::string where = place(site);
  return where.empty() ? "" : " at " + where;
}

std::string_view list_name(std::string_view operand_name) {
  return operand_name.substr(0, operand_name.find('['));
}

std::string root_module(std::string_view path) {
  return std::string(path.substr(0, path.find('.')));
}

std::string owner_module(std::string_view parameter) {
  const size_t dot = parameter.rfind('.');
  return std::string(parameter.substr(0, dot == parameter.npos ? 0 : dot));
}

std::string number(double value) { return fmt::format("{}", value); }

}  // namespace dtypecheck::rules
