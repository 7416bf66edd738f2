#pragma once
#include <dtypecheck_cuda.h>

struct __half_raw { unsigned short x; };
struct __half {
  unsigned short x;
  __half() = default;
  __host__ __device__ constexpr __half(const __half_raw& raw) : x(raw.x) {}
  __host__ __device__ __half(float value);
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
__host__ __device__ __half __float2half(float value);
__host__ __device__ __half __float2half_rn(float value);
__host__ __device__ float __half2float(__half value);
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

// Without these macros, which LibTorch's builder gives nvcc, both have the operators of numbers.
#if !defined(__CUDA_NO_HALF_OPERATORS__)
__device__ __half operator+(const __half& a, const __half& b);
__device__ __half& operator+=(__half& a, const __half& b);
__device__ __half operator-(const __half& a, const __half& b);
__device__ __half& operator-=(__half& a, const __half& b);
__device__ __half operator*(const __half& a, const __half& b);
__device__ __half& operator*=(__half& a, const __half& b);
__device__ __half operator/(const __half& a, const __half& b);
__device__ __half& operator/=(__half& a, const __half& b);
__device__ __half operator-(const __half& a);
__device__ bool operator==(const __half& a, const __half& b);
__device__ bool operator!=(const __half& a, const __half& b);
__device__ bool operator<(const __half& a, const __half& b);
__device__ bool operator<=(const __half& a, const __half& b);
__device__ bool operator>(const __half& a, const __half& b);
__device__ bool operator>=(const __half& a, const __half& b);
#endif
#if !defined(__CUDA_NO_HALF2_OPERATORS__)
__device__ __half2 operator+(const __half2& a, const __half2& b);
__device__ __half2& operator+=(__half2& a, const __half2& b);
__device__ __half2 operator-(const __half2& a, const __half2& b);
__device__ __half2& operator-=(__half2& a, const __half2& b);
__device__ __half2 operator*(const __half2& a, const __half2& b);
__device__ __half2& operator*=(__half2& a, const __half2& b);
__device__ __half2 operator/(const __half2& a, const __half2& b);
__device__ __half2& operator/=(__half2& a, const __half2& b);
#endif

// clang-format off
__device__ __half hexp(__half value);
__device__ __half hlog(__half value);
__device__ __half hsqrt(__half value);
__device__ __half hrsqrt(__half value);
__device__ __half hrcp(__half value);
__device__ __half htanh(__half value);
__device__ __half habs(__half value);
__device__ __half hfloor(__half value);
__device__ __half hceil(__half value);
__device__ __half hsin(__half value);
__device__ __half hcos(__half value);
__device__ __half __hneg(__half value);
__device__ __half __habs(__half value);
__device__ __half hexp2(__half value);
__device__ __half hlog2(__half value);
__device__ __half2 h2exp(__half2 value);
__device__ __half2 h2log(__half2 value);
__device__ __half2 h2sqrt(__half2 value);
__device__ __half2 h2rsqrt(__half2 value);
__device__ __half2 h2rcp(__half2 value);
__device__ __half2 h2tanh(__half2 value);
__device__ __half2 __hneg2(__half2 value);
__device__ __half2 __habs2(__half2 value);
__device__ __half2 h2exp2(__half2 value);
__device__ __half __hmax(__half a, __half b);
__device__ __half __hmin(__half a, __half b);
__device__ __half __hdiv(__half a, __half b);
__device__ __half __hadd_rn(__half a, __half b);
__device__ __half __hmul_rn(__half a, __half b);
__device__ __half2 __hmax2(__half2 a, __half2 b);
__device__ __half2 __hmin2(__half2 a, __half2 b);
__device__ __half2 __hsub2(__half2 a, __half2 b);
__device__ __half2 __h2div(__half2 a, __half2 b);
__device__ bool __hgt(__half a, __half b);
__device__ bool __hlt(__half a, __half b);
__device__ bool __hge(__half a, __half b);
__device__ bool __hle(__half a, __half b);
__device__ bool __heq(__half a, __half b);
__device__ bool __hne(__half a, __half b);
__device__ bool __hisnan(__half value);
__device__ unsigned short __half_as_ushort(__half value);
__device__ __half __ushort_as_half(unsigned short value);
__device__ short __half_as_short(__half value);
__device__ __half __short_as_half(short value);
__device__ __half2 make_half2(__half low, __half high);
__device__ __half2 __low2half2(__half2 value);
__device__ __half2 __high2half2(__half2 value);
__host__ __device__ __half __float2half_rz(float value);
__host__ __device__ __half __double2half(double value);
__device__ __half __int2half_rn(int value);
__device__ int __half2int_rn(__half value);
__device__ __half __int2half_rz(int value);
__device__ int __half2int_rz(__half value);
__device__ __half __int2half_ru(int value);
__device__ int __half2int_ru(__half value);
__device__ __half __int2half_rd(int value);
__device__ int __half2int_rd(__half value);
__device__ __half __uint2half_rn(unsigned value);
__device__ unsigned __half2uint_rn(__half value);
__device__ __half __uint2half_rz(unsigned value);
__device__ unsigned __half2uint_rz(__half value);
__device__ __half __uint2half_ru(unsigned value);
__device__ unsigned __half2uint_ru(__half value);
__device__ __half __uint2half_rd(unsigned value);
__device__ unsigned __half2uint_rd(__half value);
__device__ __half __short2half_rn(short value);
__device__ short __half2short_rn(__half value);
__device__ __half __short2half_rz(short value);
__device__ short __half2short_rz(__half value);
__device__ __half __short2half_ru(short value);
__device__ short __half2short_ru(__half value);
__device__ __half __short2half_rd(short value);
__device__ short __half2short_rd(__half value);
__device__ __half __ushort2half_rn(unsigned short value);
__device__ unsigned short __half2ushort_rn(__half value);
__device__ __half __ushort2half_rz(unsigned short value);
__device__ unsigned short __half2ushort_rz(__half value);
__device__ __half __ushort2half_ru(unsigned short value);
__device__ unsigned short __half2ushort_ru(__half value);
__device__ __half __ushort2half_rd(unsigned short value);
__device__ unsigned short __half2ushort_rd(__half value);
__device__ __half __ll2half_rn(long long value);
__device__ long long __half2ll_rn(__half value);
__device__ __half __ll2half_rz(long long value);
__device__ long long __half2ll_rz(__half value);
__device__ __half __ll2half_ru(long long value);
__device__ long long __half2ll_ru(__half value);
__device__ __half __ll2half_rd(long long value);
__device__ long long __half2ll_rd(__half value);
__device__ __half __ull2half_rn(unsigned long long value);
__device__ unsigned long long __half2ull_rn(__half value);
__device__ __half __ull2half_rz(unsigned long long value);
__device__ unsigned long long __half2ull_rz(__half value);
__device__ __half __ull2half_ru(unsigned long long value);
__device__ unsigned long long __half2ull_ru(__half value);
__device__ __half __ull2half_rd(unsigned long long value);
__device__ unsigned long long __half2ull_rd(__half value);
// clang-format on
