// Tensors whose dtype the function itself decides, and one that only looks so.
#include <torch/extension.h>

void run(const float* a, const int* b);

at::Tensor fill(at::Tensor x, at::Tensor y) {
  at::Tensor a = at::zeros({4});
  at::Tensor b = torch::empty({4}, torch::TensorOptions().dtype(torch::kInt32).device(x.device()));
  run(a.data_ptr<float>(), b.data_ptr<int>());
  x = x.to(at::kFloat).contiguous();
  run(x.data_ptr<float>(), b.data_ptr<int>());
  at::Tensor like = torch::empty_like(x);
  run(like.data_ptr<float>(), b.data_ptr<int>());
  at::Tensor cast = y.to(torch::kCUDA, torch::kFloat32);
  run(cast.data_ptr<float>(), b.data_ptr<int>());
  at::Tensor moved = y.to(torch::kCUDA);
  run(moved.data_ptr<float>(), b.data_ptr<int>());
  // EXPECT warning: moved is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
  return like;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("fill", &fill); }
