#pragma once
#include <thrust/pair.h>

namespace thrust {
template <typename Argument, typename Result>
struct unary_function {};
template <typename A, typename B, typename Result>
struct binary_function {};
template <typename T>
struct plus {
  __host__ __device__ T operator()(const T& a, const T& b) const;
};
template <typename T>
struct identity {
  __host__ __device__ const T& operator()(const T& a) const;
};
}  // namespace thrust
