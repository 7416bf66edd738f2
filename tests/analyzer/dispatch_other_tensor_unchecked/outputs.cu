// Buffers that the caller brings to be filled are a note; a nested index dispatch is its own.
#include <torch/extension.h>

template <typename T, typename I>
__global__ void gather_kernel(const T* x, const I* index, T* out) {
  out[threadIdx.x] = x[index[threadIdx.x]];
}

void gather(at::Tensor x, at::Tensor index, at::Tensor out) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "gather", [&] {
    AT_DISPATCH_INDEX_TYPES(index.scalar_type(), "gather_index", [&] {
      gather_kernel<scalar_t, index_t><<<1, 32>>>(
          x.data_ptr<scalar_t>(), index.data_ptr<index_t>(), out.data_ptr<scalar_t>());
      // EXPECT note: out is read as the dtype of x, and nothing says that it has it [dispatch-other-tensor-unchecked]
    });
  });
}
