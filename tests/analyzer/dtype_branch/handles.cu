// A library that is told another dtype than a pointer's, and a way of one dtype that names another: by a descriptor, too. What
// has its own name, integers that hold bits, and what computes in another dtype are right.
#include <ATen/cuda/CUDAContext.h>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <torch/extension.h>

#include <string>

namespace dnnl {
struct engine {};
enum class data_type { f16, bf16, f32 };
struct memory {
  struct desc {
    desc(std::initializer_list<int64_t> dims, data_type type, int tag);
  };
  memory(const desc& of, const engine& where, void* data);
};
}  // namespace dnnl

void gemm(cublasHandle_t handle, at::Tensor a, at::Tensor b, at::Tensor c, int n, bool wide) {
  TORCH_CHECK(a.scalar_type() == at::kBFloat16 && b.scalar_type() == at::kBFloat16);
  TORCH_CHECK(c.scalar_type() == at::kFloat);
  const float one = 1, none = 0;
  cudaDataType type = CUDA_R_16F;
  if (wide) type = CUDA_R_16BF;
  cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.data_ptr(), CUDA_R_16F, n, b.data_ptr(),
               // EXPECT warning: a is BFloat16 here, and is called Half [dtype-branch]
               type, n, &none, c.data_ptr<float>(), CUDA_R_32F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, b.data_ptr<at::BFloat16>(), CUDA_R_32F, n,
               // EXPECT warning: b is BFloat16 here, and is called Float [dtype-branch]
               (int*)c.data_ptr<float>(), CUDA_R_32F, n, &none, c.data_ptr(), type, n, CUBLAS_COMPUTE_32F,
               // EXPECT warning: c is Float here, and is called Half or BFloat16 [dtype-branch]
               CUBLAS_GEMM_DEFAULT);
}

void of_memory(const dnnl::engine& where, at::Tensor x, at::Tensor y) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && y.scalar_type() == at::kBFloat16);
  dnnl::memory::desc wide({2, 3}, dnnl::data_type::f32, 0);
  dnnl::memory right(wide, where, x.data_ptr<float>());
  dnnl::memory left(wide, where, y.data_ptr<at::BFloat16>());
  // EXPECT warning: y is BFloat16 here, and is called Float [dtype-branch]
  dnnl::memory given({{2, 3}, y.scalar_type() == at::kHalf ? dnnl::data_type::f16 : dnnl::data_type::bf16, 0}, where,
                     y.data_ptr<at::BFloat16>());
}

// cuBLASLt has the descriptor behind the pointer, cuDNN before it.
void of_descriptors(cublasLtHandle_t handle, const at::Half* a, const at::Half* b, float* c, int n) {
  const float one = 1, none = 0;
  cublasLtMatrixLayout_t low, wide;
  cublasLtMatmulDesc_t product;
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&low, CUDA_R_16F, n, n, n);
  cublasLtMatrixLayoutCreate(&wide, CUDA_R_32F, n, n, n);
  cublasLtMatmul(handle, product, &one, a, low, b, low, &none, c, wide, c, wide, nullptr, nullptr, 0, 0);
  cublasLtMatmul(handle, product, &one, a, wide, b, low, &none, c, wide, c, wide, nullptr, nullptr, 0, 0);
  // EXPECT warning: a is Half here, and is called Float [dtype-branch]
}

enum class Cache { kAuto, kFp8E4M3, kFp8E5M2 };
template <class T, Cache cache>
void write(at::Tensor x);
void tell(at::Tensor x, cudaDataType type);

void of_cache(at::Tensor x, const std::string& kv_cache_dtype) {
  if (kv_cache_dtype == "auto") {
    write<float, Cache::kAuto>(x);
  } else if (kv_cache_dtype == "fp8" || kv_cache_dtype == "fp8_e4m3") {
    write<float, Cache::kFp8E4M3>(x);
  } else if (kv_cache_dtype == "fp8_e5m2") {
    write<float, Cache::kFp8E4M3>(x);
    // EXPECT warning: kv_cache_dtype is Float8_e5m2 here, and is called Float8_e4m3fn [dtype-branch]
  }
}

template <class T, Cache cache>
struct Kernel {
  Kernel(void* x, float scale);
};
template <class K>
void submit(K kernel);

void of_kernel(at::Tensor x, const std::string& kv_cache_dtype) {
  if (kv_cache_dtype == "fp8_e5m2") submit(Kernel<float, Cache::kFp8E5M2>(nullptr, 1));
  if (kv_cache_dtype == "fp8_e4m3") submit(Kernel<float, Cache::kFp8E5M2>(nullptr, 1));
  // EXPECT warning: kv_cache_dtype is Float8_e4m3fn here, and is called Float8_e5m2 [dtype-branch]
}

void of_way(at::Tensor x, at::Tensor y) {
  if (x.scalar_type() == at::kBFloat16) {
    tell(x, CUDA_R_16F);
    // EXPECT warning: x is BFloat16 here, and is called Half [dtype-branch]
  } else if (x.scalar_type() == at::kHalf) {
    tell(x, CUDA_R_16F);
    tell(x, CUDA_R_32F);
    if (y.scalar_type() == at::kBFloat16) tell(y, CUDA_R_16BF);
  }
}

template <class T>
cudaDataType of_type() {
  if constexpr (std::is_same_v<T, __half>) return CUDA_R_16F;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return CUDA_R_16F;
  // EXPECT warning: T is BFloat16 here, and is called Half [dtype-branch]
  return CUDA_R_32F;
}
