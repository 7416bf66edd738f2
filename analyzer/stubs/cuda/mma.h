#pragma once
#include <dtypecheck_cuda.h>

namespace nvcuda::wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
namespace precision { struct tf32 {}; }
enum layout_t { mem_row_major, mem_col_major };
template <typename Use, int M, int N, int K, typename T, typename Layout = void>
struct fragment {
  static constexpr int num_elements = 8;
  T x[8];
};
template <typename Fragment, typename... Arguments>
__device__ void load_matrix_sync(Fragment& to, const Arguments&... arguments);
template <typename T, typename Fragment, typename... Arguments>
__device__ void store_matrix_sync(T* to, const Fragment& from, const Arguments&... arguments);
template <typename Fragment, typename T>
__device__ void fill_fragment(Fragment& to, const T& value);
template <typename D, typename A, typename B, typename C>
__device__ void mma_sync(D& d, const A& a, const B& b, const C& c, bool saturates = false);
}  // namespace nvcuda::wmma
