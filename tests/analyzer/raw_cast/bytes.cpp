// Bytes are no claim about the dtype, and a pointer that was typed first has been compared.
#include <cstring>

#include <torch/extension.h>

struct Pixel {
  float r, g, b;
};

void copy(at::Tensor from, at::Tensor to) {
  std::memcpy(to.data_ptr(), from.data_ptr(), from.nbytes());
  const auto* bytes = static_cast<const uint8_t*>(from.data_ptr());
  (void)bytes;
}

float first(at::Tensor image) {
  TORCH_CHECK(image.dtype() == torch::kFloat32);
  return reinterpret_cast<Pixel*>(image.data_ptr<float>())->r;
}
