#pragma once
#include <dtypecheck_torch.h>
#include <dtypecheck_cuda.h>

template <typename T, typename Value>
__device__ T gpuAtomicAdd(T* to, Value value);
template <typename T, typename Value>
__device__ void gpuAtomicAddNoReturn(T* to, Value value);
template <typename T>
__device__ T gpuAtomicMul(T* to, T value);
template <typename T>
__device__ T gpuAtomicMax(T* to, T value);
template <typename T>
__device__ T gpuAtomicMin(T* to, T value);
