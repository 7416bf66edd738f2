// cuBLAS sums in the type that it is told to compute in; and a pointer's dtype is what it is told.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

void in_half(cublasHandle_t handle, const __half* a, const __half* b, __half* c, int n) {
  const __half one = __float2half(1.0f), none = __float2half(0.0f);
  cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &none, c, n);
  // EXPECT warning: cublasHgemm sums up in Half [half-accumulation]
  cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, CUDA_R_16F, n, b, CUDA_R_16F, n, &none, c,
               // EXPECT warning: cublasGemmEx sums up in Half [half-accumulation]
               CUDA_R_16F, n, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}

void in_float(cublasHandle_t handle, const __half* a, const __half* b, __half* c, int n) {
  const float one = 1, none = 0;
  cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, CUDA_R_16F, n, b, CUDA_R_16F, n, &none, c,
               CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

void other_name(cublasHandle_t handle, const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n) {
  const float one = 1, none = 0;
  cublasSgemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, (const void*)a, CUDA_R_16F, n, b, CUDA_R_16BF,
                // EXPECT warning: a is BFloat16 here, and is called Half [dtype-branch]
                n, &none, c, CUDA_R_16BF, n);
}
