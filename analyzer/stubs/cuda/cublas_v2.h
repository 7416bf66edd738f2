#pragma once
#include <dtypecheck_cuda.h>

typedef struct cublasContext* cublasHandle_t;
typedef enum {
  CUBLAS_STATUS_SUCCESS,
  CUBLAS_STATUS_NOT_INITIALIZED,
  CUBLAS_STATUS_NOT_SUPPORTED,
  CUBLAS_STATUS_INVALID_VALUE
} cublasStatus_t;
typedef enum { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C } cublasOperation_t;
typedef enum {
  CUBLAS_GEMM_DEFAULT,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP,
  CUBLAS_GEMM_ALGO0_TENSOR_OP,
  CUBLAS_GEMM_ALGO15_TENSOR_OP
} cublasGemmAlgo_t;
typedef enum {
  CUBLAS_DEFAULT_MATH,
  CUBLAS_TENSOR_OP_MATH,
  CUBLAS_TF32_TENSOR_OP_MATH
} cublasMath_t;
typedef enum {
  CUBLAS_COMPUTE_16F,
  CUBLAS_COMPUTE_32F,
  CUBLAS_COMPUTE_32F_FAST_16F,
  CUBLAS_COMPUTE_32I,
  CUBLAS_COMPUTE_64F,
  CUBLAS_COMPUTE_32F_FAST_TF32
} cublasComputeType_t;
typedef enum { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE } cublasPointerMode_t;
template <typename... Arguments>
cublasStatus_t cublasCreate(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasDestroy(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasGemmEx(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasGemmStridedBatchedEx(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasGemmBatchedEx(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasSgemm(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasDgemm(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasHgemm(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasSgemmEx(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasSgemmStridedBatched(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasHgemmStridedBatched(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasSetMathMode(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasGetMathMode(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasSetStream(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasGetStream(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasSetPointerMode(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasGetPointerMode(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasSetWorkspace(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasGetVersion(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasSgemv(Arguments&&... arguments);
const char* cublasGetStatusString(cublasStatus_t status);
template <typename... Arguments>
cublasStatus_t cublasCreate_v2(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasDestroy_v2(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasSetStream_v2(Arguments&&... arguments);
