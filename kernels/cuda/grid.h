// grid.h: what a kernel sees of the machine. A kernel is a struct: its members are the arguments,
// `kThreads` the size of a block, `Shared` what the threads of a block have in common, and
// operator() what one thread does:
//
//   struct Kernel {
//     static constexpr int kThreads = 256;
//     struct Shared { float sums[8]; };
//     DTYPECHECK_DEVICE void operator()(const Thread& t, Shared& shared) const;
//   };
//   launch(device, blocks, kernel);
//
// nvcc makes a __global__ function of it. The tests name a header that runs it on the processor,
// DTYPECHECK_EMULATED_GRID: so kernels, and the functions that choose and launch them, are tested
// without a GPU.
#pragma once

#include "kernels/device.h"
#include "platform/error.h"

#ifdef __CUDACC__

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#define DTYPECHECK_DEVICE __device__ __forceinline__
#define DTYPECHECK_UNROLL _Pragma("unroll")

namespace dtypecheck::kernels::cuda {

inline constexpr int kWarp = 32;

struct Thread {
  DTYPECHECK_DEVICE int index() const { return static_cast<int>(threadIdx.x); }
  DTYPECHECK_DEVICE int64_t block() const { return blockIdx.x; }
  DTYPECHECK_DEVICE int64_t blocks() const { return gridDim.x; }
  // All threads of the block.
  DTYPECHECK_DEVICE void sync() const { __syncthreads(); }
  // The value of the thread of the warp whose lane is this one's ^ mask; all 32 call it.
  template <class Number>
  DTYPECHECK_DEVICE Number shuffle_xor(Number value, int mask) const {
    return __shfl_xor_sync(0xffffffff, value, mask);
  }
};

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw InputError(std::string(what) + ": " + cudaGetErrorString(error));
}

inline int64_t multiprocessors() {
  int device = 0, count = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
        "cudaDeviceGetAttribute");
  return count;
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads) run_kernel(const Kernel kernel) {
  __shared__ typename Kernel::Shared shared;
  kernel(Thread(), shared);
}

template <class Kernel>
void launch(const Device& device, int64_t blocks, const Kernel& kernel) {
  if (blocks <= 0) return;
  run_kernel<<<static_cast<unsigned>(blocks), Kernel::kThreads, 0,
               static_cast<cudaStream_t>(device.stream)>>>(kernel);
  check(cudaGetLastError(), "a kernel could not be launched");
}

}  // namespace dtypecheck::kernels::cuda

#else

#define DTYPECHECK_DEVICE inline
#define DTYPECHECK_UNROLL
#include <cmath>

#include DTYPECHECK_EMULATED_GRID
namespace dtypecheck::kernels::cuda {
using std::isfinite;
}

#endif

namespace dtypecheck::kernels::cuda {

struct NoShared {};

template <class Number>
Number* room(const Device& device, int64_t count) {
  return static_cast<Number*>(
      device.room(device.context, static_cast<size_t>(count) * sizeof(Number)));
}

inline int64_t parts_of(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

}  // namespace dtypecheck::kernels::cuda
