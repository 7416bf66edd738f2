// A check of each tensor of a list that comes in is one of the list.
#include <torch/extension.h>

void run(const float* x);

void checked(const std::vector<at::Tensor>& tensors) {
  for (const auto& t : tensors) TORCH_CHECK(t.scalar_type() == at::kFloat);
  run(tensors[0].data_ptr<float>());
}

void check_all(at::ArrayRef<at::Tensor> all) {
  for (const at::Tensor& t : all) TORCH_CHECK(t.scalar_type() == at::kFloat);
}

void checked_elsewhere(std::vector<at::Tensor> tensors, bool has_tensors) {
  if (has_tensors) check_all(tensors);
  if (has_tensors) {
    at::Tensor& t = tensors[1];
    run(t.data_ptr<float>());
  }
}

void of_device(const std::vector<at::Tensor>& tensors) {
  for (const auto& t : tensors) TORCH_CHECK(t.is_cuda());
  run(tensors[0].data_ptr<float>());
  // EXPECT note: tensors[0] is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}
