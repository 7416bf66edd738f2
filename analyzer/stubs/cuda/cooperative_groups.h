#pragma once
#include <dtypecheck_cuda.h>

#define _CG_ASM_PTR_CONSTRAINT "l"

namespace cooperative_groups {
struct thread_block {
  struct arrival_token {};
  __device__ arrival_token barrier_arrive() const;
  __device__ void barrier_wait(arrival_token&& token) const;
  __device__ void sync() const;
  __device__ unsigned thread_rank() const;
  __device__ unsigned size() const;
  __device__ unsigned num_threads() const;
  __device__ unsigned meta_group_rank() const;
  __device__ unsigned meta_group_size() const;
  __device__ unsigned ballot(int predicate) const;
  __device__ int any(int predicate) const;
  __device__ int all(int predicate) const;
  __device__ dim3 group_index() const;
  __device__ dim3 group_dim() const;
  __device__ dim3 thread_index() const;
};
struct grid_group : thread_block {
  __device__ bool is_valid() const;
};
struct cluster_group : thread_block {
  using thread_block::barrier_wait;
  __device__ void barrier_wait() const;
  __device__ unsigned block_rank() const;
  __device__ unsigned num_blocks() const;
  __device__ dim3 dim_blocks() const;
  template <typename T>
  __device__ T* map_shared_rank(T* address, int rank) const;
};
struct coalesced_group : thread_block {
  template <typename T>
  __device__ T shfl(T value, int lane) const;
};
template <unsigned Size, typename Parent = thread_block>
struct thread_block_tile : thread_block {
  template <typename T>
  __device__ T shfl(T value, int lane) const;
  template <typename T>
  __device__ T shfl_down(T value, unsigned delta) const;
  template <typename T>
  __device__ T shfl_up(T value, unsigned delta) const;
  template <typename T>
  __device__ T shfl_xor(T value, unsigned lanes) const;
};
__device__ thread_block this_thread_block();
__device__ grid_group this_grid();
__device__ cluster_group this_cluster();
__device__ coalesced_group coalesced_threads();
template <typename Group, typename Label>
__device__ coalesced_group labeled_partition(const Group& group, Label label);
template <typename Group>
__device__ void sync(const Group& group);
template <typename T>
struct plus { __device__ T operator()(T a, T b) const; };
template <typename T>
struct less { __device__ T operator()(T a, T b) const; };
template <typename T>
struct greater { __device__ T operator()(T a, T b) const; };
template <typename Group, typename T, typename F>
__device__ T reduce(const Group& group, T value, F&& function);
namespace details {
__device__ bool bar_has_flipped(unsigned before, unsigned now);
}
template <unsigned Size, typename Parent>
__device__ thread_block_tile<Size, Parent> tiled_partition(const Parent& parent);
}  // namespace cooperative_groups
