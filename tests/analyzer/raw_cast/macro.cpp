// What a macro's text reads is reported where the macro is used, and names the lines of the macro.
#include <torch/extension.h>

void run(const int* index, const float* weights);

#define LAUNCH(tensor)                                 \
  run(reinterpret_cast<int*>(tensor.data_ptr()),       \
      reinterpret_cast<float*>(weights.data_ptr()));
// ALSO weights as float [raw-cast]

void gather(at::Tensor weights, at::Tensor first, at::Tensor second) {
  TORCH_CHECK(first.scalar_type() == at::kInt && second.scalar_type() == at::kInt);
  LAUNCH(first)
  // EXPECT warning: weights is cast to float from an untyped pointer, and nothing compares the dtype [raw-cast]
  LAUNCH(second)
  // ALSO the cast to float [raw-cast]
}
