#include "kernels/unscale/unscale.h"

namespace dtypecheck::kernels {

void unscale_ref(const Unscale& a) {
  double sum = 0;
  for (int64_t i = 0; i < a.n; ++i) {
    const float y = load(a.x, i) * a.factor;
    if (a.y) a.y[i] = y;
    sum += double{y} * y;
  }
  *a.sum_of_squares = sum;
}

}  // namespace dtypecheck::kernels
