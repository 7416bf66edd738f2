#pragma once
#include <dtypecheck_cuda.h>

struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat16 {
  unsigned short x;
  __nv_bfloat16() = default;
  __host__ __device__ constexpr __nv_bfloat16(const __nv_bfloat16_raw& raw) : x(raw.x) {}
  __host__ __device__ __nv_bfloat16(float value);
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
__host__ __device__ float __bfloat162float(__nv_bfloat16 value);
__host__ __device__ __nv_bfloat16 __float2bfloat16(float value);
__host__ __device__ __nv_bfloat16 __float2bfloat16_rn(float value);
__host__ __device__ __nv_bfloat162 __float22bfloat162_rn(float2 value);
__host__ __device__ __nv_bfloat162 __floats2bfloat162_rn(float low, float high);
__host__ __device__ float2 __bfloat1622float2(__nv_bfloat162 value);
__device__ __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value);

// Without these macros, which LibTorch's builder gives nvcc, both have the operators of numbers.
#if !defined(__CUDA_NO_BFLOAT16_OPERATORS__)
__device__ __nv_bfloat16 operator+(const __nv_bfloat16& a, const __nv_bfloat16& b);
__device__ __nv_bfloat16& operator+=(__nv_bfloat16& a, const __nv_bfloat16& b);
__device__ __nv_bfloat16 operator-(const __nv_bfloat16& a, const __nv_bfloat16& b);
__device__ __nv_bfloat16& operator-=(__nv_bfloat16& a, const __nv_bfloat16& b);
__device__ __nv_bfloat16 operator*(const __nv_bfloat16& a, const __nv_bfloat16& b);
__device__ __nv_bfloat16& operator*=(__nv_bfloat16& a, const __nv_bfloat16& b);
__device__ __nv_bfloat16 operator/(const __nv_bfloat16& a, const __nv_bfloat16& b);
__device__ __nv_bfloat16& operator/=(__nv_bfloat16& a, const __nv_bfloat16& b);
__device__ __nv_bfloat16 operator-(const __nv_bfloat16& a);
__device__ bool operator==(const __nv_bfloat16& a, const __nv_bfloat16& b);
__device__ bool operator!=(const __nv_bfloat16& a, const __nv_bfloat16& b);
__device__ bool operator<(const __nv_bfloat16& a, const __nv_bfloat16& b);
__device__ bool operator<=(const __nv_bfloat16& a, const __nv_bfloat16& b);
__device__ bool operator>(const __nv_bfloat16& a, const __nv_bfloat16& b);
__device__ bool operator>=(const __nv_bfloat16& a, const __nv_bfloat16& b);
#endif
#if !defined(__CUDA_NO_BFLOAT162_OPERATORS__)
__device__ __nv_bfloat162 operator+(const __nv_bfloat162& a, const __nv_bfloat162& b);
__device__ __nv_bfloat162& operator+=(__nv_bfloat162& a, const __nv_bfloat162& b);
__device__ __nv_bfloat162 operator-(const __nv_bfloat162& a, const __nv_bfloat162& b);
__device__ __nv_bfloat162& operator-=(__nv_bfloat162& a, const __nv_bfloat162& b);
__device__ __nv_bfloat162 operator*(const __nv_bfloat162& a, const __nv_bfloat162& b);
__device__ __nv_bfloat162& operator*=(__nv_bfloat162& a, const __nv_bfloat162& b);
__device__ __nv_bfloat162 operator/(const __nv_bfloat162& a, const __nv_bfloat162& b);
__device__ __nv_bfloat162& operator/=(__nv_bfloat162& a, const __nv_bfloat162& b);
#endif

// clang-format off
__device__ __nv_bfloat16 hexp(__nv_bfloat16 value);
__device__ __nv_bfloat16 hlog(__nv_bfloat16 value);
__device__ __nv_bfloat16 hsqrt(__nv_bfloat16 value);
__device__ __nv_bfloat16 hrsqrt(__nv_bfloat16 value);
__device__ __nv_bfloat16 hrcp(__nv_bfloat16 value);
__device__ __nv_bfloat16 htanh(__nv_bfloat16 value);
__device__ __nv_bfloat16 habs(__nv_bfloat16 value);
__device__ __nv_bfloat16 hfloor(__nv_bfloat16 value);
__device__ __nv_bfloat16 hceil(__nv_bfloat16 value);
__device__ __nv_bfloat16 hsin(__nv_bfloat16 value);
__device__ __nv_bfloat16 hcos(__nv_bfloat16 value);
__device__ __nv_bfloat16 __hneg(__nv_bfloat16 value);
__device__ __nv_bfloat16 __habs(__nv_bfloat16 value);
__device__ __nv_bfloat16 hexp2(__nv_bfloat16 value);
__device__ __nv_bfloat16 hlog2(__nv_bfloat16 value);
__device__ __nv_bfloat162 h2exp(__nv_bfloat162 value);
__device__ __nv_bfloat162 h2log(__nv_bfloat162 value);
__device__ __nv_bfloat162 h2sqrt(__nv_bfloat162 value);
__device__ __nv_bfloat162 h2rsqrt(__nv_bfloat162 value);
__device__ __nv_bfloat162 h2rcp(__nv_bfloat162 value);
__device__ __nv_bfloat162 h2tanh(__nv_bfloat162 value);
__device__ __nv_bfloat162 __hneg2(__nv_bfloat162 value);
__device__ __nv_bfloat162 __habs2(__nv_bfloat162 value);
__device__ __nv_bfloat162 h2exp2(__nv_bfloat162 value);
__device__ __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ __nv_bfloat16 __hadd_rn(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ __nv_bfloat16 __hmul_rn(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ __nv_bfloat162 __hmax2(__nv_bfloat162 a, __nv_bfloat162 b);
__device__ __nv_bfloat162 __hmin2(__nv_bfloat162 a, __nv_bfloat162 b);
__device__ __nv_bfloat162 __hsub2(__nv_bfloat162 a, __nv_bfloat162 b);
__device__ __nv_bfloat162 __h2div(__nv_bfloat162 a, __nv_bfloat162 b);
__device__ bool __hgt(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ bool __hlt(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ bool __hge(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ bool __hle(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ bool __heq(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ bool __hne(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ bool __hisnan(__nv_bfloat16 value);
__device__ __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high);
__device__ __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b);
__device__ __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c);
__device__ __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b);
__device__ __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b);
__device__ __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c);
__device__ float __low2float(__nv_bfloat162 value);
__device__ float __high2float(__nv_bfloat162 value);
__device__ __nv_bfloat16 __low2bfloat16(__nv_bfloat162 value);
__device__ __nv_bfloat16 __high2bfloat16(__nv_bfloat162 value);
__device__ __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high);
__device__ __nv_bfloat162 __float2bfloat162_rn(float value);
__device__ unsigned short __bfloat16_as_ushort(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ushort_as_bfloat16(unsigned short value);
__device__ __nv_bfloat16 __int2bfloat16_rn(int value);
__device__ int __bfloat162int_rn(__nv_bfloat16 value);
__device__ __nv_bfloat16 __int2bfloat16_rz(int value);
__device__ int __bfloat162int_rz(__nv_bfloat16 value);
__device__ __nv_bfloat16 __int2bfloat16_ru(int value);
__device__ int __bfloat162int_ru(__nv_bfloat16 value);
__device__ __nv_bfloat16 __int2bfloat16_rd(int value);
__device__ int __bfloat162int_rd(__nv_bfloat16 value);
__device__ __nv_bfloat16 __uint2bfloat16_rn(unsigned value);
__device__ unsigned __bfloat162uint_rn(__nv_bfloat16 value);
__device__ __nv_bfloat16 __uint2bfloat16_rz(unsigned value);
__device__ unsigned __bfloat162uint_rz(__nv_bfloat16 value);
__device__ __nv_bfloat16 __uint2bfloat16_ru(unsigned value);
__device__ unsigned __bfloat162uint_ru(__nv_bfloat16 value);
__device__ __nv_bfloat16 __uint2bfloat16_rd(unsigned value);
__device__ unsigned __bfloat162uint_rd(__nv_bfloat16 value);
__device__ __nv_bfloat16 __short2bfloat16_rn(short value);
__device__ short __bfloat162short_rn(__nv_bfloat16 value);
__device__ __nv_bfloat16 __short2bfloat16_rz(short value);
__device__ short __bfloat162short_rz(__nv_bfloat16 value);
__device__ __nv_bfloat16 __short2bfloat16_ru(short value);
__device__ short __bfloat162short_ru(__nv_bfloat16 value);
__device__ __nv_bfloat16 __short2bfloat16_rd(short value);
__device__ short __bfloat162short_rd(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ushort2bfloat16_rn(unsigned short value);
__device__ unsigned short __bfloat162ushort_rn(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ushort2bfloat16_rz(unsigned short value);
__device__ unsigned short __bfloat162ushort_rz(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ushort2bfloat16_ru(unsigned short value);
__device__ unsigned short __bfloat162ushort_ru(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ushort2bfloat16_rd(unsigned short value);
__device__ unsigned short __bfloat162ushort_rd(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ll2bfloat16_rn(long long value);
__device__ long long __bfloat162ll_rn(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ll2bfloat16_rz(long long value);
__device__ long long __bfloat162ll_rz(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ll2bfloat16_ru(long long value);
__device__ long long __bfloat162ll_ru(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ll2bfloat16_rd(long long value);
__device__ long long __bfloat162ll_rd(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ull2bfloat16_rn(unsigned long long value);
__device__ unsigned long long __bfloat162ull_rn(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ull2bfloat16_rz(unsigned long long value);
__device__ unsigned long long __bfloat162ull_rz(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ull2bfloat16_ru(unsigned long long value);
__device__ unsigned long long __bfloat162ull_ru(__nv_bfloat16 value);
__device__ __nv_bfloat16 __ull2bfloat16_rd(unsigned long long value);
__device__ unsigned long long __bfloat162ull_rd(__nv_bfloat16 value);
__host__ __device__ __nv_bfloat16 __double2bfloat16(double value);
// clang-format on
