#include "kernels/matmul/matmul.h"

namespace dtypecheck::kernels {

void matmul_ref(const Matmul& m) {
  for (int64_t n = 0; n < m.batch; ++n) {
    for (int64_t r = 0; r < m.rows; ++r) {
      for (int64_t c = 0; c < m.cols; ++c) {
        const int64_t a = n * m.a.batch_stride + r * m.a.row_stride;
        const int64_t b = n * m.b.batch_stride + c * m.b.col_stride;
        double sum = load_or(m.bias, c, 0);
        for (int64_t k = 0; k < m.inner; ++k) {
          sum += double{load(m.a.numbers, a + k * m.a.col_stride)} *
                 load(m.b.numbers, b + k * m.b.row_stride);
        }
        store(m.y, n * m.y_batch_stride + r * m.y_row_stride + c, static_cast<float>(sum));
      }
    }
  }
}

}  // namespace dtypecheck::kernels
