#pragma once
#include <dtypecheck_cuda.h>

struct __nv_bfloat16;
struct __half_raw { unsigned short x; };
struct __half {
  unsigned short x;
  __half() = default;
  __host__ __device__ constexpr __half(const __half_raw& raw) : x(raw.x) {}
  __host__ __device__ __half(float value);
  __host__ __device__ __half(__nv_bfloat16 value);
  __host__ __device__ operator float() const;
};
struct __half2_raw { unsigned short x, y; };
struct __half2 {
  __half x, y;
  __half2() = default;
  __host__ __device__ constexpr __half2(const __half& low, const __half& high) : x(low), y(high) {}
  __host__ __device__ constexpr __half2(const __half2_raw& raw)
      : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
};
typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define DTYPECHECK_HALF __half
#define DTYPECHECK_HALF2 __half2
#define DTYPECHECK_NAME half
#define DTYPECHECK_OPERATORS !defined(__CUDA_NO_HALF_OPERATORS__)
#define DTYPECHECK_OPERATORS2 !defined(__CUDA_NO_HALF2_OPERATORS__)
#include <dtypecheck_half.h>
