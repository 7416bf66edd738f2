#pragma once
#include <dtypecheck_cuda.h>

#include <cublas_v2.h>
typedef struct cublasLtContext* cublasLtHandle_t;
typedef struct cublasLtMatmulDesc* cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayout* cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreference* cublasLtMatmulPreference_t;
typedef struct cublasLtMatrixTransformDesc* cublasLtMatrixTransformDesc_t;
