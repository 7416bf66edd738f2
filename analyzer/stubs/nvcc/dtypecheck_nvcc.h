// What nvcc lets host code and kernels have and Clang does not, for a real toolkit. Included before
// all else with -x cuda.
#pragma once

#include <type_traits>

// min and max without a namespace, in host code too.
template <typename A, typename B,
          typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
__host__ inline constexpr std::common_type_t<A, B> min(A a, B b) {
  return a < b ? a : b;
}
template <typename A, typename B,
          typename = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>>>
__host__ inline constexpr std::common_type_t<A, B> max(A a, B b) {
  return a < b ? b : a;
}

// cooperative_groups::this_cluster() and its like, whose intrinsics are nvcc's own.
#if defined(CUDART_VERSION) && CUDART_VERSION >= 12000
#define _CG_CLUSTER_INTRINSICS_AVAILABLE
#if __has_include(<crt/sm_90_rt.h>)
#include <crt/sm_90_rt.h>
#endif
#endif

// CUDA 13 dropped these; what was written for 12 still derives from them.
#if defined(CUDART_VERSION) && CUDART_VERSION >= 13000
namespace thrust {
template <typename Argument, typename Result>
struct unary_function {
  typedef Argument argument_type;
  typedef Result result_type;
};
template <typename First, typename Second, typename Result>
struct binary_function {
  typedef First first_argument_type;
  typedef Second second_argument_type;
  typedef Result result_type;
};
}  // namespace thrust
#endif
