// A grammar of kernels' names is one or an InputError, and any name is read or not: names come from
// the traced program.
#include "platform/error.h"
#include "rules/kernel_names/kernel_name.h"
#include "target.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  if (const auto arithmetic = gpu::read_kernel_name(input))
    require(!gpu::in_words(*arithmetic).empty());
  try {
    gpu::KernelNames(input, "fuzz").read("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize1x1");
  } catch (const InputError&) {
  }
}

}  // namespace dtypecheck::fuzz
