#pragma once
#include <dtypecheck_cuda.h>

namespace cooperative_groups {
struct thread_block {
  __device__ void sync() const;
  __device__ unsigned thread_rank() const;
  __device__ unsigned size() const;
  __device__ dim3 group_index() const;
  __device__ dim3 thread_index() const;
};
struct grid_group : thread_block {};
template <unsigned Size, typename Parent = thread_block>
struct thread_block_tile : thread_block {
  template <typename T>
  __device__ T shfl(T value, int lane) const;
  template <typename T>
  __device__ T shfl_down(T value, unsigned delta) const;
  template <typename T>
  __device__ T shfl_xor(T value, unsigned lanes) const;
};
__device__ thread_block this_thread_block();
__device__ grid_group this_grid();
template <unsigned Size, typename Parent>
__device__ thread_block_tile<Size, Parent> tiled_partition(const Parent& parent);
}  // namespace cooperative_groups
