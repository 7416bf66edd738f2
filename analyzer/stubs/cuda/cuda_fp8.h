#pragma once
#include <dtypecheck_cuda.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define DTYPECHECK_FP8(name)                                \
  struct name {                                             \
    unsigned char __x;                                      \
    name() = default;                                       \
    __host__ __device__ explicit name(float value);         \
    __host__ __device__ explicit name(double value);        \
    __host__ __device__ explicit name(__half value);        \
    __host__ __device__ explicit name(__nv_bfloat16 value); \
    __host__ __device__ explicit operator float() const;    \
    __host__ __device__ explicit operator __half() const;   \
  };
DTYPECHECK_FP8(__nv_fp8_e4m3)
DTYPECHECK_FP8(__nv_fp8_e5m2)
#undef DTYPECHECK_FP8
struct __nv_fp8x2_e4m3 { unsigned short __x; };
struct __nv_fp8x2_e5m2 { unsigned short __x; };
struct __nv_fp8x4_e4m3 { unsigned __x; };
struct __nv_fp8x4_e5m2 { unsigned __x; };
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
