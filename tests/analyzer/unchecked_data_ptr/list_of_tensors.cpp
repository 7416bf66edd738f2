// A check of each tensor of a list that comes in is one of the list.
#include <torch/extension.h>

void run(const float* x);

void checked(const std::vector<at::Tensor>& tensors) {
  for (const auto& t : tensors) TORCH_CHECK(t.scalar_type() == at::kFloat);
  run(tensors[0].data_ptr<float>());
}

void of_device(const std::vector<at::Tensor>& tensors) {
  for (const auto& t : tensors) TORCH_CHECK(t.is_cuda());
  run(tensors[0].data_ptr<float>());
  // EXPECT note: tensors[0] is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}
