#pragma once
#include <cublas_v2.h>
#include <dtypecheck_cuda.h>
typedef struct cublasLtContext* cublasLtHandle_t;
typedef struct cublasLtMatmulDesc* cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayout* cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreference* cublasLtMatmulPreference_t;
typedef struct cublasLtMatrixTransformDesc* cublasLtMatrixTransformDesc_t;
template <typename... Arguments>
cublasStatus_t cublasLtCreate(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtDestroy(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatmul(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatmulDescCreate(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatmulDescDestroy(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatmulDescSetAttribute(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatrixLayoutCreate(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatrixLayoutDestroy(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatrixLayoutSetAttribute(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatmulPreferenceCreate(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatmulPreferenceDestroy(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(Arguments&&... arguments);
template <typename... Arguments>
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(Arguments&&... arguments);
