// A minimal CUDA for the analyzer: what host code and kernels of an extension need to be parsed
// where no toolkit is installed. Parsed with -x cuda --cuda-host-only; nothing here is ever run.
#pragma once

// __noinline__ is not among these: Clang has it as a word of CUDA, and the C++ library as an
// attribute.
#ifndef __global__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __grid_constant__
#endif

// nvcc lets kernels call what the C library has. The C++ library's own functions stay as they are:
// they are declared in several headers.
#ifdef __CUDA__
#define __CUDACC__ 1
#endif
#include <stdlib.h>
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cstring>
#include <functional>
#include <tuple>
#include <utility>
#ifdef __CUDA__
#pragma clang force_cuda_host_device begin
#endif
#include <assert.h>
#include <cmath>
#include <limits>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef __CUDA__
#pragma clang force_cuda_host_device end
#endif

#define DTYPECHECK_VECTOR(type, name) \
  struct name##1 { type x; };         \
  struct name##2 { type x, y; };      \
  struct name##3 { type x, y, z; };   \
  struct name##4 { type x, y, z, w; };
DTYPECHECK_VECTOR(char, char)
DTYPECHECK_VECTOR(unsigned char, uchar)
DTYPECHECK_VECTOR(short, short)
DTYPECHECK_VECTOR(unsigned short, ushort)
DTYPECHECK_VECTOR(int, int)
DTYPECHECK_VECTOR(unsigned, uint)
DTYPECHECK_VECTOR(long, long)
DTYPECHECK_VECTOR(unsigned long, ulong)
DTYPECHECK_VECTOR(long long, longlong)
DTYPECHECK_VECTOR(unsigned long long, ulonglong)
DTYPECHECK_VECTOR(float, float)
DTYPECHECK_VECTOR(double, double)
#undef DTYPECHECK_VECTOR
#define DTYPECHECK_MAKE(type, name)                                                        \
  __host__ __device__ name##2 make_##name##2(type x, type y);                               \
  __host__ __device__ name##3 make_##name##3(type x, type y, type z);                       \
  __host__ __device__ name##4 make_##name##4(type x, type y, type z, type w);
DTYPECHECK_MAKE(int, int)
DTYPECHECK_MAKE(unsigned, uint)
DTYPECHECK_MAKE(char, char)
DTYPECHECK_MAKE(unsigned char, uchar)
DTYPECHECK_MAKE(short, short)
DTYPECHECK_MAKE(unsigned short, ushort)
DTYPECHECK_MAKE(long, long)
DTYPECHECK_MAKE(float, float)
DTYPECHECK_MAKE(double, double)
DTYPECHECK_MAKE(long long, longlong)
DTYPECHECK_MAKE(unsigned long long, ulonglong)
#undef DTYPECHECK_MAKE

#define CUDART_VERSION 12080
#define CUDA_VERSION 12080
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
enum cudaError_t { cudaSuccess = 0, cudaErrorUnknown = 999 };
typedef cudaError_t cudaError;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 13
};
struct cudaDeviceProp {
  int multiProcessorCount, major, minor, maxThreadsPerBlock;
  size_t sharedMemPerBlock, sharedMemPerMultiprocessor, sharedMemPerBlockOptin, totalGlobalMem;
  int warpSize, maxGridSize[3], maxThreadsPerMultiProcessor;
  int memoryClockRate, memoryBusWidth, clockRate, l2CacheSize;
  char name[256];
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMultiProcessorCount,
  cudaDevAttrMaxSharedMemoryPerBlock, cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor, cudaDevAttrComputeCapabilityMajor,
  cudaDevAttrComputeCapabilityMinor, cudaDevAttrWarpSize, cudaDevAttrCooperativeLaunch,
  cudaDevAttrMaxThreadsPerMultiProcessor, cudaDevAttrL2CacheSize, cudaDevAttrClockRate
};
struct cudaIpcMemHandle_t { char reserved[64]; };
struct cudaFuncAttributes {
  size_t sharedSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs;
};
enum { cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped };
enum { cudaEventDefault, cudaEventBlockingSync, cudaEventDisableTiming };
enum { cudaStreamDefault, cudaStreamNonBlocking };
enum { cudaIpcMemLazyEnablePeerAccess = 1 };
typedef enum cudaDataType_t {
  CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_8I, CUDA_R_32I, CUDA_R_16BF, CUDA_R_8F_E4M3,
  CUDA_R_8F_E5M2, CUDA_C_32F, CUDA_C_64F
} cudaDataType;
struct cudaLaunchAttributeValue {
  struct { unsigned x, y, z; } clusterDim;
  int cooperative, programmaticStreamSerializationAllowed;
};
enum cudaLaunchAttributeID {
  cudaLaunchAttributeCooperative = 2, cudaLaunchAttributeClusterDimension = 4,
  cudaLaunchAttributeProgrammaticStreamSerialization = 6
};
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
#define __CUDA_ARCH_LIST__ 800, 900
// What only asks or orders: its arguments do not matter here.
#define DTYPECHECK_CALL(name)      \
  template <typename... Arguments> \
  cudaError_t name(Arguments&&... arguments);
DTYPECHECK_CALL(cudaDeviceGetAttribute)
DTYPECHECK_CALL(cudaDeviceReset)
DTYPECHECK_CALL(cudaDeviceSetLimit)
DTYPECHECK_CALL(cudaDeviceCanAccessPeer)
DTYPECHECK_CALL(cudaEventCreate)
DTYPECHECK_CALL(cudaEventCreateWithFlags)
DTYPECHECK_CALL(cudaEventDestroy)
DTYPECHECK_CALL(cudaEventElapsedTime)
DTYPECHECK_CALL(cudaEventRecord)
DTYPECHECK_CALL(cudaEventSynchronize)
DTYPECHECK_CALL(cudaFreeHost)
DTYPECHECK_CALL(cudaFuncGetAttributes)
DTYPECHECK_CALL(cudaGetDeviceCount)
DTYPECHECK_CALL(cudaHostAlloc)
DTYPECHECK_CALL(cudaHostGetDevicePointer)
DTYPECHECK_CALL(cudaIpcCloseMemHandle)
DTYPECHECK_CALL(cudaIpcGetMemHandle)
DTYPECHECK_CALL(cudaIpcOpenMemHandle)
DTYPECHECK_CALL(cudaLaunchCooperativeKernel)
DTYPECHECK_CALL(cudaGetSymbolAddress)
DTYPECHECK_CALL(cudaLaunchKernelEx)
DTYPECHECK_CALL(cudaLaunchKernelExC)
DTYPECHECK_CALL(cudaOccupancyMaxActiveClusters)
DTYPECHECK_CALL(cudaOccupancyMaxPotentialClusterSize)
DTYPECHECK_CALL(cudaMallocAsync)
DTYPECHECK_CALL(cudaMemPrefetchAsync)
DTYPECHECK_CALL(cudaFreeAsync)
DTYPECHECK_CALL(cudaMallocHost)
DTYPECHECK_CALL(cudaMallocManaged)
DTYPECHECK_CALL(cudaMemGetInfo)
DTYPECHECK_CALL(cudaMemcpy2DAsync)
DTYPECHECK_CALL(cudaMemcpyToSymbolAsync)
DTYPECHECK_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
DTYPECHECK_CALL(cudaStreamCreate)
DTYPECHECK_CALL(cudaStreamCreateWithFlags)
DTYPECHECK_CALL(cudaStreamDestroy)
DTYPECHECK_CALL(cudaStreamWaitEvent)
#undef DTYPECHECK_CALL
const char* cudaGetErrorName(cudaError_t error);
extern "C" {
int cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void* stream = 0);
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t stream);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemset(void* memory, int value, size_t count);
cudaError_t cudaMemsetAsync(void* memory, int value, size_t count, cudaStream_t stream = 0);
cudaError_t cudaMemcpy(void* to, const void* from, size_t count, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream = 0);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
const char* cudaGetErrorString(cudaError_t error);
}
template <typename T>
cudaError_t cudaMalloc(T** memory, size_t count);
template <typename T>
cudaError_t cudaFuncSetAttribute(T* function, cudaFuncAttribute attribute, int value);
template <typename T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t count);

extern const __device__ uint3 threadIdx, blockIdx;
extern const __device__ dim3 blockDim, gridDim;
extern const __device__ int warpSize;

// clang-format off
__device__ float __int2float_rn(int value);
__device__ int __float2int_rn(float value);
__device__ long long __double2int_rn(double value);
__device__ float __int2float_rz(int value);
__device__ int __float2int_rz(float value);
__device__ long long __double2int_rz(double value);
__device__ float __int2float_ru(int value);
__device__ int __float2int_ru(float value);
__device__ long long __double2int_ru(double value);
__device__ float __int2float_rd(int value);
__device__ int __float2int_rd(float value);
__device__ long long __double2int_rd(double value);
__device__ double __int2double_rn(int value);
__device__ float __uint2float_rn(unsigned value);
__device__ int __float2uint_rn(float value);
__device__ long long __double2uint_rn(double value);
__device__ float __uint2float_rz(unsigned value);
__device__ int __float2uint_rz(float value);
__device__ long long __double2uint_rz(double value);
__device__ float __uint2float_ru(unsigned value);
__device__ int __float2uint_ru(float value);
__device__ long long __double2uint_ru(double value);
__device__ float __uint2float_rd(unsigned value);
__device__ int __float2uint_rd(float value);
__device__ long long __double2uint_rd(double value);
__device__ double __uint2double_rn(unsigned value);
__device__ float __ll2float_rn(long long value);
__device__ int __float2ll_rn(float value);
__device__ long long __double2ll_rn(double value);
__device__ float __ll2float_rz(long long value);
__device__ int __float2ll_rz(float value);
__device__ long long __double2ll_rz(double value);
__device__ float __ll2float_ru(long long value);
__device__ int __float2ll_ru(float value);
__device__ long long __double2ll_ru(double value);
__device__ float __ll2float_rd(long long value);
__device__ int __float2ll_rd(float value);
__device__ long long __double2ll_rd(double value);
__device__ double __ll2double_rn(long long value);
__device__ float __ull2float_rn(unsigned long long value);
__device__ int __float2ull_rn(float value);
__device__ long long __double2ull_rn(double value);
__device__ float __ull2float_rz(unsigned long long value);
__device__ int __float2ull_rz(float value);
__device__ long long __double2ull_rz(double value);
__device__ float __ull2float_ru(unsigned long long value);
__device__ int __float2ull_ru(float value);
__device__ long long __double2ull_ru(double value);
__device__ float __ull2float_rd(unsigned long long value);
__device__ int __float2ull_rd(float value);
__device__ long long __double2ull_rd(double value);
__device__ double __ull2double_rn(unsigned long long value);
__device__ float __double2float_rn(double value);
__device__ float __double2float_rz(double value);
__device__ float __double2float_ru(double value);
__device__ float __double2float_rd(double value);
__device__ double __longlong_as_double(long long value);
__device__ long long __double_as_longlong(double value);
__device__ float __fsqrt_rn(float value);
__device__ float __saturatef(float value);
__device__ float __fmaf_rn(float a, float b, float c);
__device__ float __fmul_rn(float a, float b);
__device__ float __fadd_rn(float a, float b);
__device__ float __fdiv_rn(float a, float b);
__device__ void __threadfence_block();
__device__ void __threadfence_system();
__device__ void __trap();
__device__ void __nanosleep(unsigned ns);
__device__ int __syncthreads_or(int predicate);
__device__ int __syncthreads_and(int predicate);
__device__ int __syncthreads_count(int predicate);
#ifdef __CUDA__  // elsewhere it is the C library's
__device__ long long clock();
#endif
__device__ unsigned __byte_perm(unsigned a, unsigned b, unsigned s);
__device__ size_t __cvta_generic_to_shared(const void* pointer);
__device__ unsigned __match_any_sync(unsigned mask, unsigned value);
__device__ int __popcll(unsigned long long value);
__device__ int __ffsll(long long value);
__device__ int __clzll(long long value);
__device__ unsigned __brev(unsigned value);
__device__ int __dp4a(int a, int b, int c);
__device__ float normcdff(float value);
__device__ double rsqrt(double value);
// clang-format on
// The host's functions of these names may not be called from kernels.
extern "C" __device__ void* memset(void* to, int value, size_t bytes);
extern "C" __device__ void* memcpy(void* to, const void* from, size_t bytes);
extern "C" __device__ __attribute__((noreturn)) void __assert_fail(
    const char* text, const char* file, unsigned line, const char* function);
extern "C" __device__ void __syncthreads();
extern "C" __device__ void __syncwarp(unsigned mask = 0xffffffffu);
extern "C" __device__ void __threadfence();
template <typename T, typename Value>
__device__ T atomicAdd(T* to, Value value);
template <typename T, typename Value>
__device__ T atomicAdd_block(T* to, Value value);
template <typename T, typename Value>
__device__ T atomicAdd_system(T* to, Value value);
template <typename T>
__device__ T atomicMax(T* to, T value);
template <typename T>
__device__ T atomicMin(T* to, T value);
template <typename T>
__device__ T atomicCAS(T* to, T compare, T value);
template <typename T>
__device__ T atomicExch(T* to, T value);
// clang-format off
template <typename T> __device__ T __ldg(const T* from);
template <typename T> __device__ T __ldca(const T* from);
template <typename T> __device__ T __ldcg(const T* from);
template <typename T> __device__ T __ldcs(const T* from);
template <typename T> __device__ T __ldcv(const T* from);
template <typename T> __device__ T __ldlu(const T* from);
template <typename T> __device__ void __stcg(T* to, T value);
template <typename T> __device__ void __stcs(T* to, T value);
template <typename T> __device__ void __stwb(T* to, T value);
template <typename T> __device__ void __stwt(T* to, T value);
// clang-format on
template <typename T>
__device__ T __shfl_sync(unsigned mask, T value, int lane, int width = 32);
template <typename T>
__device__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32);
template <typename T>
__device__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32);
template <typename T>
__device__ T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32);
__device__ int __float_as_int(float value);
__device__ float __int_as_float(int value);
__device__ unsigned __float_as_uint(float value);
__device__ float __uint_as_float(unsigned value);
__host__ __device__ float rsqrtf(float value);
__device__ unsigned __ballot_sync(unsigned mask, int predicate);
__device__ int __any_sync(unsigned mask, int predicate);
__device__ int __all_sync(unsigned mask, int predicate);
__device__ unsigned __activemask();
__device__ int __clz(int value);
__device__ int __popc(unsigned value);
__device__ int __ffs(int value);
__device__ unsigned __umulhi(unsigned a, unsigned b);
__device__ float __fdividef(float a, float b);
__device__ float __frcp_rn(float value);
__device__ long long clock64();
template <typename T>
__device__ T atomicOr(T* to, T value);
template <typename T>
__device__ T atomicAnd(T* to, T value);
template <typename T>
__device__ T atomicSub(T* to, T value);
typedef unsigned long long cudaTextureObject_t;

// nvcc has these without a namespace, in host code too.
template <typename A, typename B>
__host__ __device__ constexpr auto min(A a, B b) -> decltype(a < b ? a : b) {
  return a < b ? a : b;
}
template <typename A, typename B>
__host__ __device__ constexpr auto max(A a, B b) -> decltype(a < b ? b : a) {
  return a < b ? b : a;
}
#define CUDART_INF_F (__builtin_inff())
