// matmul.h: y = a b + bias, for each of a batch, where a, b, bias and y have each any of the three
// dtypes. A linear layer of x (rows x inner) and weight (cols x inner) is
//   y  = x weight^T + bias:   {.a = row_major(x, inner), .b = row_major(weight,
//   inner).transposed()} dx = dy weight:           {.a = row_major(dy, cols), .b =
//   row_major(weight, inner)} dweight = dy^T x:         {.a = row_major(dy, cols).transposed(), .b
//   = row_major(x, inner)}
// Sums are in Float, and rounded to y's dtype once. y may not be a or b. Runs on the threads of
// threads.h; the same bits on any number of them.
#pragma once

#include <span>

#include "kernels/element.h"
#include "kernels/variant.h"

namespace dtypecheck::kernels {

// What the factors are when they are multiplied.
enum class Compute {
  kFloat,  // as they are: Half and BFloat16 are Floats
  // rounded to BFloat16, for twice the speed, where the processor multiplies those (AVX512-BF16;
  // else as kFloat). A relative error of 2^-9 for each factor that is not BFloat16 already, and a
  // factor or sum below 2^-126 is 0. Two factors of BFloat16 are multiplied so in any case.
  kBFloat16,
};

// Numbers with strides, counted in numbers; a stride of 0 repeats.
struct Matrix {
  Input numbers;
  int64_t row_stride = 0, col_stride = 1, batch_stride = 0;
  Matrix transposed() const { return {numbers, col_stride, row_stride, batch_stride}; }
};
inline Matrix row_major(Input numbers, int64_t cols, int64_t batch_stride = 0) {
  return {numbers, cols, 1, batch_stride};
}

struct Matmul {
  int64_t batch = 1, rows = 0, cols = 0, inner = 0;  // inner 0: y is the bias
  Matrix a;                                          // rows x inner
  Matrix b;                                          // inner x cols
  Input bias;                                        // cols; null: 0
  Output y;  // rows x cols; row r begins at r * y_row_stride, and each of a batch at its stride
  int64_t y_row_stride = 0, y_batch_stride = 0;  // 0: cols, and rows * y_row_stride
  Compute compute = Compute::kFloat;
};

// Beside arithmetic without rounding, a y differs by so much of the sum of |a b| and |bias|, and by
// the rounding to its dtype: sums of 384 products one after the other, and those sums likewise.
inline double matmul_tolerance(int64_t inner) {
  return 0x1p-24 * (3 + static_cast<double>(inner < 384 ? inner : 384 + inner / 384));
}

void matmul(const Matmul& arguments);  // throws InputError for arguments that are not as above
std::span<const Variant<Matmul>> matmul_variants();

void matmul_ref(const Matmul& arguments);

}  // namespace dtypecheck::kernels
