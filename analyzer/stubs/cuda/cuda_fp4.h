#pragma once
#include <cuda_fp8.h>
struct __nv_fp4_e2m1 {
  unsigned char __x;
  __nv_fp4_e2m1() = default;
  __host__ __device__ explicit __nv_fp4_e2m1(float value);
  __host__ __device__ explicit __nv_fp4_e2m1(double value);
  __host__ __device__ explicit __nv_fp4_e2m1(__half value);
  __host__ __device__ explicit __nv_fp4_e2m1(__nv_bfloat16 value);
  __host__ __device__ explicit operator float() const;
  __host__ __device__ explicit operator double() const;
  __host__ __device__ explicit operator __half() const;
};
DTYPECHECK_PAIR(__nv_fp4x2_e2m1, unsigned char)
DTYPECHECK_QUAD(__nv_fp4x4_e2m1, unsigned short)
typedef unsigned char __nv_fp4_storage_t;
typedef unsigned char __nv_fp4x2_storage_t;
