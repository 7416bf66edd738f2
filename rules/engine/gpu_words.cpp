#include "rules/engine/gpu_words.h"

#include <fmt/format.h>

#include "rules/kernel_names/kernel_name.h"

namespace dtypecheck::rules {

std::optional<Dtype> floating_dtype_of(const OpCall& call) {
  DtypeSet all;
  for (const Operand& operand : call.operands)
    if (operand.is_floating()) all |= operand.dtypes;
  return all.single();
}

bool is_convolution(const OpCall& call) { return call.op.find("conv") != std::string::npos; }

std::string time_of(const GpuWork& work) {
  const std::string name = gpu::shown_kernel_name(work.name);
  const std::string launches = fmt::format("{} launch{}", work.count, work.count == 1 ? "" : "es");
  if (work.time_ns == 0) return fmt::format("{} in {}", name, launches);  // pretended
  return fmt::format("{} took {:.3f} ms of the GPU in {}", name, work.time_ns / 1e6, launches);
}

}  // namespace dtypecheck::rules
