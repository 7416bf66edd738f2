#pragma once
#include <dtypecheck_cuda.h>

namespace cub {
enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS, BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY
};
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm {
  BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE,
  BLOCK_LOAD_WARP_TRANSPOSE
};
enum BlockStoreAlgorithm {
  BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE,
  BLOCK_STORE_WARP_TRANSPOSE
};
struct Max { template <typename T> __host__ __device__ T operator()(const T& a, const T& b) const; };
struct Min { template <typename T> __host__ __device__ T operator()(const T& a, const T& b) const; };
struct Sum { template <typename T> __host__ __device__ T operator()(const T& a, const T& b) const; };
struct Equality { template <typename T> __host__ __device__ bool operator()(const T& a, const T& b) const; };
struct Inequality { template <typename T> __host__ __device__ bool operator()(const T& a, const T& b) const; };
struct ArgMax { template <typename T> __host__ __device__ T operator()(const T& a, const T& b) const; };
struct ArgMin { template <typename T> __host__ __device__ T operator()(const T& a, const T& b) const; };
template <typename Key, typename Value>
struct KeyValuePair {
  Key key;
  Value value;
  __host__ __device__ KeyValuePair();
  __host__ __device__ KeyValuePair(const Key& key, const Value& value);
};
// What a group of threads makes of a value of each, with whatever arguments.
template <typename T>
struct Collective {
  struct TempStorage {};
  __device__ Collective();
  __device__ Collective(TempStorage& storage);
  template <typename V> __device__ V Sum(const V& value);
  template <typename V, typename... A> __device__ V Sum(const V& value, const A&... more);
  template <typename V, typename... A> __device__ V Reduce(const V& value, const A&... more);
  template <typename V, typename... A> __device__ V HeadSegmentedSum(const V& value, const A&... more);
  template <typename V, typename... A> __device__ V TailSegmentedSum(const V& value, const A&... more);
#define DTYPECHECK_COLLECTIVE(name) \
  template <typename... A> __device__ void name(A&&... arguments);
  DTYPECHECK_COLLECTIVE(InclusiveSum)
  DTYPECHECK_COLLECTIVE(ExclusiveSum)
  DTYPECHECK_COLLECTIVE(InclusiveScan)
  DTYPECHECK_COLLECTIVE(ExclusiveScan)
  DTYPECHECK_COLLECTIVE(Load)
  DTYPECHECK_COLLECTIVE(Store)
  DTYPECHECK_COLLECTIVE(Sort)
  DTYPECHECK_COLLECTIVE(SortDescending)
  DTYPECHECK_COLLECTIVE(FlagHeads)
  DTYPECHECK_COLLECTIVE(StripedToBlocked)
  DTYPECHECK_COLLECTIVE(BlockedToStriped)
#undef DTYPECHECK_COLLECTIVE
};
template <typename T, int X, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1>
struct BlockReduce : Collective<T> { using Collective<T>::Collective; };
template <typename T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1>
struct BlockScan : Collective<T> { using Collective<T>::Collective; };
template <typename T, int Threads = 32>
struct WarpReduce : Collective<T> { using Collective<T>::Collective; };
template <typename T, int Threads = 32>
struct WarpScan : Collective<T> { using Collective<T>::Collective; };
template <typename T, int X, int Items, BlockLoadAlgorithm A = BLOCK_LOAD_DIRECT>
struct BlockLoad : Collective<T> { using Collective<T>::Collective; };
template <typename T, int X, int Items, BlockStoreAlgorithm A = BLOCK_STORE_DIRECT>
struct BlockStore : Collective<T> { using Collective<T>::Collective; };
template <typename T, int X, int Items, typename Value = int>
struct BlockRadixSort : Collective<T> { using Collective<T>::Collective; };
template <typename T, int X, int Items>
struct BlockExchange : Collective<T> { using Collective<T>::Collective; };
template <typename T, int X>
struct BlockDiscontinuity : Collective<T> { using Collective<T>::Collective; };
struct DeviceRadixSort {
  template <typename... A> static cudaError_t SortPairs(A&&... arguments);
  template <typename... A> static cudaError_t SortPairsDescending(A&&... arguments);
  template <typename... A> static cudaError_t SortKeys(A&&... arguments);
  template <typename... A> static cudaError_t SortKeysDescending(A&&... arguments);
};
struct DeviceReduce {
  template <typename... A> static cudaError_t Sum(A&&... arguments);
  template <typename... A> static cudaError_t Max(A&&... arguments);
  template <typename... A> static cudaError_t Min(A&&... arguments);
  template <typename... A> static cudaError_t ArgMax(A&&... arguments);
  template <typename... A> static cudaError_t ArgMin(A&&... arguments);
  template <typename... A> static cudaError_t Reduce(A&&... arguments);
  template <typename... A> static cudaError_t ReduceByKey(A&&... arguments);
};
struct DeviceScan {
  template <typename... A> static cudaError_t InclusiveSum(A&&... arguments);
  template <typename... A> static cudaError_t ExclusiveSum(A&&... arguments);
  template <typename... A> static cudaError_t InclusiveScan(A&&... arguments);
  template <typename... A> static cudaError_t ExclusiveScan(A&&... arguments);
  template <typename... A> static cudaError_t InclusiveSumByKey(A&&... arguments);
  template <typename... A> static cudaError_t ExclusiveSumByKey(A&&... arguments);
};
struct DeviceSelect {
  template <typename... A> static cudaError_t Flagged(A&&... arguments);
  template <typename... A> static cudaError_t If(A&&... arguments);
  template <typename... A> static cudaError_t Unique(A&&... arguments);
};
struct DeviceRunLengthEncode {
  template <typename... A> static cudaError_t Encode(A&&... arguments);
};
struct DeviceSegmentedReduce {
  template <typename... A> static cudaError_t Sum(A&&... arguments);
  template <typename... A> static cudaError_t Max(A&&... arguments);
  template <typename... A> static cudaError_t Min(A&&... arguments);
  template <typename... A> static cudaError_t Reduce(A&&... arguments);
};
}  // namespace cub
