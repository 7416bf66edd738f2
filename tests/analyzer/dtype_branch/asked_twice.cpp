// A branch whose dtype a branch above has taken never runs: another dtype was meant.
#include <torch/extension.h>

void fill(void* to, double value, int bytes);

void twice(at::Tensor x, double value) {
  if (x.scalar_type() == at::kFloat) {
    fill(x.data_ptr(), value, 4);
  } else if (x.scalar_type() == at::kFloat) {
    // EXPECT warning: a branch above is taken where x is Float, so this one never is [dtype-branch]
    fill(x.data_ptr(), value, 2);
  } else {
    TORCH_CHECK(false, "not for ", x.scalar_type());
  }
}

void each_once(at::Tensor x, at::Tensor y, double value) {
  if (x.scalar_type() == at::kFloat && value > 0) {
    fill(x.data_ptr(), value, 4);
  } else if (x.scalar_type() == at::kFloat) {
    fill(x.data_ptr(), -value, 4);
  } else if (x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16) {
    fill(x.data_ptr(), value, 2);
  } else if (y.scalar_type() == at::kHalf) {
    fill(y.data_ptr(), value, 2);
  }
}
