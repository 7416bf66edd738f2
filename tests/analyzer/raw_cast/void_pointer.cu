// The untyped pointer goes through a variable, or through a function of the same file.
#include <cuda_fp16.h>
#include <torch/extension.h>

__global__ void scale_kernel(__half* x) { x[threadIdx.x] = __hadd(x[threadIdx.x], x[threadIdx.x]); }

static void launch(void* pointer) {
  scale_kernel<<<1, 32>>>(static_cast<__half*>(pointer));
}

void scale(at::Tensor x) {
  void* pointer = x.data_ptr();
  // EXPECT warning: x is cast to __half from an untyped pointer, and nothing compares the dtype [raw-cast]
  scale_kernel<<<1, 32>>>((__half*)pointer);
}

void scale_through(at::Tensor y) { launch(y.data_ptr()); }
// EXPECT warning: y is cast to __half from an untyped pointer, and nothing compares the dtype [raw-cast]

void scale_checked(at::Tensor z) {
  TORCH_CHECK(z.scalar_type() == at::kHalf, "z must be Half");
  void* pointer = z.data_ptr();
  scale_kernel<<<1, 32>>>((__half*)pointer);
}
