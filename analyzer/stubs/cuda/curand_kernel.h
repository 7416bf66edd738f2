#pragma once
#include <dtypecheck_cuda.h>

#include <curand.h>
struct curandStatePhilox4_32_10_t {};
struct curandStateXORWOW {};
typedef curandStatePhilox4_32_10_t curandStatePhilox4_32_10;
typedef curandStateXORWOW curandState, curandState_t;
template <typename State>
__device__ void curand_init(unsigned long long seed, unsigned long long sequence,
                            unsigned long long offset, State* state);
#define DTYPECHECK_CURAND(type, name) \
  template <typename State>           \
  __device__ type name(State* state);
DTYPECHECK_CURAND(unsigned, curand)
DTYPECHECK_CURAND(uint4, curand4)
DTYPECHECK_CURAND(float, curand_uniform)
DTYPECHECK_CURAND(double, curand_uniform_double)
DTYPECHECK_CURAND(float4, curand_uniform4)
DTYPECHECK_CURAND(float, curand_normal)
DTYPECHECK_CURAND(float2, curand_normal2)
DTYPECHECK_CURAND(float4, curand_normal4)
template <typename State>
__device__ unsigned curand_poisson(State* state, double mean);
#undef DTYPECHECK_CURAND
