#pragma once
#include <dtypecheck_cuda.h>

struct __half;
struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat16 {
  unsigned short x;
  __nv_bfloat16() = default;
  __host__ __device__ constexpr __nv_bfloat16(const __nv_bfloat16_raw& raw) : x(raw.x) {}
  __host__ __device__ __nv_bfloat16(float value);
  __host__ __device__ __nv_bfloat16(__half value);
  __host__ __device__ operator float() const;
};
struct __nv_bfloat162_raw { unsigned short x, y; };
struct __nv_bfloat162 {
  __nv_bfloat16 x, y;
  __nv_bfloat162() = default;
  __host__ __device__ constexpr __nv_bfloat162(const __nv_bfloat16& low, const __nv_bfloat16& high)
      : x(low), y(high) {}
  __host__ __device__ constexpr __nv_bfloat162(const __nv_bfloat162_raw& raw)
      : x(__nv_bfloat16_raw{raw.x}), y(__nv_bfloat16_raw{raw.y}) {}
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define DTYPECHECK_HALF __nv_bfloat16
#define DTYPECHECK_HALF2 __nv_bfloat162
#define DTYPECHECK_NAME bfloat16
#define DTYPECHECK_OPERATORS !defined(__CUDA_NO_BFLOAT16_OPERATORS__)
#define DTYPECHECK_OPERATORS2 !defined(__CUDA_NO_BFLOAT162_OPERATORS__)
#include <dtypecheck_half.h>
