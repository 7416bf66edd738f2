#pragma once
#include <dtypecheck_cuda.h>

typedef struct curandGenerator_st* curandGenerator_t;
typedef enum { CURAND_STATUS_SUCCESS } curandStatus_t;
typedef enum { CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_PHILOX4_32_10 } curandRngType_t;
template <typename... Arguments>
curandStatus_t curandCreateGenerator(Arguments&&... arguments);
template <typename... Arguments>
curandStatus_t curandSetPseudoRandomGeneratorSeed(Arguments&&... arguments);
template <typename... Arguments>
curandStatus_t curandSetStream(Arguments&&... arguments);
template <typename... Arguments>
curandStatus_t curandDestroyGenerator(Arguments&&... arguments);
template <typename... Arguments>
curandStatus_t curandGenerateUniform(Arguments&&... arguments);
template <typename... Arguments>
curandStatus_t curandGenerateNormal(Arguments&&... arguments);
