#pragma once
#include <dtypecheck_cuda.h>

struct __half {
  unsigned short x;
  __half() = default;
  __host__ __device__ __half(float value);
  __host__ __device__ operator float() const;
};
struct __half2 {
  __half x, y;
};
typedef __half half;
typedef __half2 half2;
__host__ __device__ __half __float2half(float value);
__host__ __device__ __half __float2half_rn(float value);
__host__ __device__ float __half2float(__half value);
__device__ __half __int2half_rn(int value);
__device__ __half __hadd(__half a, __half b);
__device__ __half __hsub(__half a, __half b);
__device__ __half __hmul(__half a, __half b);
__device__ __half __hfma(__half a, __half b, __half c);
__device__ __half2 __hadd2(__half2 a, __half2 b);
__device__ __half2 __hmul2(__half2 a, __half2 b);
__device__ __half2 __hfma2(__half2 a, __half2 b, __half2 c);
__device__ __half2 __half2half2(__half value);
__device__ __half2 __halves2half2(__half low, __half high);
__device__ __half2 __float2half2_rn(float value);
__device__ __half __low2half(__half2 value);
__device__ __half __high2half(__half2 value);
__device__ float __low2float(__half2 value);
__device__ float __high2float(__half2 value);
__device__ __half2 __floats2half2_rn(float low, float high);
__device__ __half2 __float22half2_rn(float2 value);
__device__ float2 __half22float2(__half2 value);
