// cuda/…, cuda/std/…: the standard library under another name, and what threads of a kernel share.
#pragma once
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cuda {
namespace std {
using namespace ::std;
}
template <typename T, typename U>
__host__ __device__ constexpr auto ceil_div(T a, U b) { return (a + b - 1) / b; }
enum thread_scope {
  thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread
};
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
template <typename T, thread_scope S = thread_scope_system>
struct atomic_ref {
  __host__ __device__ explicit atomic_ref(T& value);
  template <typename... A> __host__ __device__ T load(A... how) const;
  template <typename... A> __host__ __device__ void store(T value, A... how) const;
  template <typename... A> __host__ __device__ T exchange(T value, A... how) const;
  template <typename... A> __host__ __device__ bool compare_exchange_weak(T& is, T to, A... how) const;
  template <typename... A> __host__ __device__ bool compare_exchange_strong(T& is, T to, A... how) const;
  template <typename... A> __host__ __device__ T fetch_add(T value, A... how) const;
  template <typename... A> __host__ __device__ T fetch_sub(T value, A... how) const;
  template <typename... A> __host__ __device__ T fetch_or(T value, A... how) const;
  template <typename... A> __host__ __device__ T fetch_and(T value, A... how) const;
  template <typename... A> __host__ __device__ T fetch_max(T value, A... how) const;
  template <typename... A> __host__ __device__ T fetch_min(T value, A... how) const;
};
template <typename T, thread_scope S = thread_scope_system>
struct atomic : atomic_ref<T, S> {
  __host__ __device__ atomic();
  __host__ __device__ atomic(T value);
};
template <thread_scope S>
struct barrier {
  struct arrival_token {};
  __host__ __device__ barrier();
  __host__ __device__ barrier(::std::ptrdiff_t expected);
  __device__ arrival_token arrive(::std::ptrdiff_t count = 1);
  __device__ void wait(const arrival_token& token) const;
  __device__ void arrive_and_wait();
};
template <thread_scope S>
__device__ void init(barrier<S>* it, ::std::ptrdiff_t expected);
template <size_t Alignment>
struct aligned_size_t {
  size_t value;
  __host__ __device__ constexpr explicit aligned_size_t(size_t size) : value(size) {}
  __host__ __device__ constexpr operator size_t() const { return value; }
};
template <thread_scope S, uint8_t Stages>
struct pipeline_shared_state {};
template <thread_scope S>
struct pipeline {
  __device__ void producer_acquire();
  __device__ void producer_commit();
  __device__ void consumer_wait();
  __device__ void consumer_release();
  __device__ bool quit();
};
__device__ pipeline<thread_scope_thread> make_pipeline();
template <typename Group, thread_scope S, uint8_t Stages, typename... A>
__device__ pipeline<S> make_pipeline(const Group& group, pipeline_shared_state<S, Stages>* state,
                                     A... more);
template <uint8_t Prior, thread_scope S>
__device__ void pipeline_consumer_wait_prior(pipeline<S>& it);
template <typename... A>
__host__ __device__ void memcpy_async(A&&... arguments);
}  // namespace cuda
