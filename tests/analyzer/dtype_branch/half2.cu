// A template that reads whatever 16 bits it is made for as half2: with BFloat16 that is wrong, and in a
// branch that an instantiation does not take it is not.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

__global__ void pairs(half2* data);
__global__ void pairs(__nv_bfloat162* data);

template <typename T>
void scale(T* data) {
  if (std::is_same<T, float>::value) return;
  pairs<<<1, 32>>>((half2*)data);
  // EXPECT warning: data is BFloat16 here, and is treated as Half [dtype-branch]
}

template <typename T>
void scale_each(T* data) {
  if (std::is_same<T, __nv_bfloat16>::value) {
    pairs<<<1, 32>>>((__nv_bfloat162*)data);
  } else {
    pairs<<<1, 32>>>((half2*)data);
  }
}

void run(float* a, __half* b, __nv_bfloat16* c) {
  scale(a), scale(b), scale(c);
  scale_each(b), scale_each(c);
}
