// What LibTorch's complex numbers convert from and to.
#pragma once
#include <dtypecheck_cuda.h>

namespace thrust {
template <typename T>
struct complex {
  __host__ __device__ complex(const T& real = T(), const T& imag = T());
  template <typename U>
  __host__ __device__ complex(const complex<U>& other);
  __host__ __device__ T real() const;
  __host__ __device__ T imag() const;
};
template <typename T>
__host__ __device__ T abs(const complex<T>& x);
template <typename T>
__host__ __device__ T arg(const complex<T>& x);
template <typename T>
__host__ __device__ T norm(const complex<T>& x);
template <typename T>
__host__ __device__ complex<T> polar(const T& size, const T& angle = T());
#define DTYPECHECK_COMPLEX(name) \
  template <typename T>          \
  __host__ __device__ complex<T> name(const complex<T>& x);
DTYPECHECK_COMPLEX(acos)
DTYPECHECK_COMPLEX(acosh)
DTYPECHECK_COMPLEX(asin)
DTYPECHECK_COMPLEX(asinh)
DTYPECHECK_COMPLEX(atan)
DTYPECHECK_COMPLEX(atanh)
DTYPECHECK_COMPLEX(conj)
DTYPECHECK_COMPLEX(cos)
DTYPECHECK_COMPLEX(cosh)
DTYPECHECK_COMPLEX(exp)
DTYPECHECK_COMPLEX(log)
DTYPECHECK_COMPLEX(log10)
DTYPECHECK_COMPLEX(proj)
DTYPECHECK_COMPLEX(sin)
DTYPECHECK_COMPLEX(sinh)
DTYPECHECK_COMPLEX(sqrt)
DTYPECHECK_COMPLEX(tan)
DTYPECHECK_COMPLEX(tanh)
#undef DTYPECHECK_COMPLEX
template <typename T, typename U>
__host__ __device__ complex<T> pow(const complex<T>& x, const complex<U>& y);
template <typename T, typename U>
__host__ __device__ complex<T> pow(const complex<T>& x, const U& y);
template <typename T, typename U>
__host__ __device__ complex<U> pow(const T& x, const complex<U>& y);
}  // namespace thrust
