// Tensor cores that sum up in a fragment of Half are told, of Float not.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <typename Sum>
__global__ void multiply(const __half* a, const __half* b, Sum* c, int steps) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
  for (int k = 0; k < steps; ++k) {
    wmma::load_matrix_sync(left, a + k * 16, 16);
    wmma::load_matrix_sync(right, b + k * 16, 16);
    wmma::mma_sync(sum, left, right, sum);
    // EXPECT warning: sum sums up in Half [half-accumulation]
  }
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

__global__ void multiply_in_float(const __half* a, const __half* b, float* c, int steps) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  for (int k = 0; k < steps; ++k) {
    wmma::mma_sync(sum, left, right, sum);
  }
}

void run(const __half* a, const __half* b, __half* c, float* d) {
  multiply<__half><<<1, 32>>>(a, b, c, 8);
  multiply<float><<<1, 32>>>(a, b, d, 8);
}
