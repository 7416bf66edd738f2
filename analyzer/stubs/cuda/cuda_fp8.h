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
    __host__ __device__ explicit operator double() const;   \
    __host__ __device__ explicit operator __half() const;   \
  };
DTYPECHECK_FP8(__nv_fp8_e4m3)
DTYPECHECK_FP8(__nv_fp8_e5m2)
DTYPECHECK_FP8(__nv_fp8_e8m0)
#undef DTYPECHECK_FP8
// Two and four in one, those of four bits too.
#define DTYPECHECK_PAIR(name, bits)                          \
  struct name {                                              \
    bits __x;                                                \
    name() = default;                                        \
    __host__ __device__ explicit name(float2 value);         \
    __host__ __device__ explicit name(double2 value);        \
    __host__ __device__ explicit name(__half2 value);        \
    __host__ __device__ explicit name(__nv_bfloat162 value); \
    __host__ __device__ explicit operator float2() const;    \
    __host__ __device__ explicit operator __half2() const;   \
  };
#define DTYPECHECK_QUAD(name, bits)                                             \
  struct name {                                                                 \
    bits __x;                                                                   \
    name() = default;                                                           \
    __host__ __device__ explicit name(float4 value);                            \
    __host__ __device__ explicit name(double4 value);                           \
    __host__ __device__ explicit name(__half2 low, __half2 high);               \
    __host__ __device__ explicit name(__nv_bfloat162 low, __nv_bfloat162 high); \
    __host__ __device__ explicit operator float4() const;                       \
  };
DTYPECHECK_PAIR(__nv_fp8x2_e4m3, unsigned short)
DTYPECHECK_PAIR(__nv_fp8x2_e5m2, unsigned short)
DTYPECHECK_PAIR(__nv_fp8x2_e8m0, unsigned short)
DTYPECHECK_QUAD(__nv_fp8x4_e4m3, unsigned)
DTYPECHECK_QUAD(__nv_fp8x4_e5m2, unsigned)
DTYPECHECK_QUAD(__nv_fp8x4_e8m0, unsigned)
typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
