#include "kernels/global_norm/global_norm.h"

namespace dtypecheck::kernels {

void global_norm_ref(const GlobalNorm& g) {
  double sum = 0;
  for (const Gradient& gradient : g.gradients) {
    for (int64_t i = 0; i < gradient.n; ++i) {
      const float y = load(gradient.x, i) * g.factor;
      if (gradient.y) gradient.y[i] = y;
      sum += double{y} * y;
    }
  }
  *g.norm = std::sqrt(sum);
}

}  // namespace dtypecheck::kernels
