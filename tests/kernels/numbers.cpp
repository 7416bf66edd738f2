#include "tests/kernels/numbers.h"

#include <hwy/highway.h>

namespace dtypecheck::kernels {

void on_each_instruction_set(const std::function<void()>& use) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    INFO("instruction set " << hwy::TargetName(target));
    use();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace dtypecheck::kernels
