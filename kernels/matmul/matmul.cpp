#include "kernels/matmul/matmul.h"

#include "kernels/matmul/blocks.h"

namespace dtypecheck::kernels {

// The variants, each a tile in a file of its name.
static void matmul_bfloat16(const Matmul& m) { matmul_in_blocks(m, bfloat16_tile()); }
static void matmul_vectors(const Matmul& m) { matmul_in_blocks(m, vectors_tile()); }

static bool can_bfloat16(const Matmul& m) {
  return has_bfloat16_vectors() &&
         multiplies_bfloat16(m.compute, m.a.numbers.dtype, m.b.numbers.dtype);
}

static constexpr Variant<Matmul> kVariants[] = {
    {"avx512_bf16", can_bfloat16, matmul_bfloat16},
    {"vectors", vectors, matmul_vectors},
    {"ref", always, matmul_ref},
};

std::span<const Variant<Matmul>> matmul_variants() { return kVariants; }

void matmul(const Matmul& given) {
  const char* const name = "matmul";
  Matmul m = given;
  require(m.batch >= 0 && m.rows >= 0 && m.cols >= 0 && m.inner >= 0, name,
          "batch, rows, cols and inner of 0 or more");
  if (m.y_row_stride == 0) m.y_row_stride = m.cols;
  if (m.y_batch_stride == 0) m.y_batch_stride = m.rows * m.y_row_stride;
  const bool empty = m.batch == 0 || m.rows == 0 || m.cols == 0;
  require(m.y_row_stride >= m.cols, name, "rows of y that do not overlap");
  require_numbers(m.a.numbers, name, "a", empty || m.inner == 0);
  require_numbers(m.b.numbers, name, "b", empty || m.inner == 0);
  require_numbers(m.bias, name, "bias", /*optional=*/true);
  require_numbers(m.y, name, "y", empty);
  if (!empty) run_first(matmul_variants(), m);
}

}  // namespace dtypecheck::kernels
