#pragma once
#include <dtypecheck_cuda.h>

struct __nv_bfloat16 {
  unsigned short x;
  __nv_bfloat16() = default;
  __host__ __device__ __nv_bfloat16(float value);
  __host__ __device__ operator float() const;
};
struct __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
__host__ __device__ float __bfloat162float(__nv_bfloat16 value);
__host__ __device__ __nv_bfloat16 __float2bfloat16(float value);
__host__ __device__ __nv_bfloat16 __float2bfloat16_rn(float value);
__host__ __device__ __nv_bfloat162 __float22bfloat162_rn(float2 value);
__host__ __device__ __nv_bfloat162 __floats2bfloat162_rn(float low, float high);
__host__ __device__ float2 __bfloat1622float2(__nv_bfloat162 value);
__device__ __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value);
