// What a TorchScript program returns has the dtype that its file says. One that is cast, or looked
// at, is as it is read.
#include <torch/script.h>

void run(const float* x, int64_t n);

void detect(torch::jit::Module& module, at::Tensor image) {
  const at::Tensor boxes = module.forward({image}).toTuple()->elements()[0].toTensor().cpu();
  run(boxes.data_ptr<float>(), boxes.numel());
  // EXPECT warning: boxes is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}

void detect_cast(torch::jit::Module& module, at::Tensor image) {
  const at::Tensor boxes = module.forward({image}).toTensor().to(at::kFloat);
  run(boxes.data_ptr<float>(), boxes.numel());
}

void detect_checked(torch::jit::Module& module, at::Tensor image) {
  const at::Tensor boxes = module.forward({image}).toTensor();
  TORCH_CHECK(boxes.scalar_type() == at::kFloat);
  run(boxes.data_ptr<float>(), boxes.numel());
}
