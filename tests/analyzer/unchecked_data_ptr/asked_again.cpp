// What a condition's way checked holds where the same condition holds again, also inside another
// one, and not once one of its variables was written.
#include <torch/extension.h>

struct Params {
  bool has_mips;
  const float* mips;
  void* mask;
};
void run(const float* x);

void again(Params& p, at::Tensor mips, at::Tensor bias, bool has_bias) {
  if (p.has_mips) {
    TORCH_CHECK(mips.scalar_type() == at::kFloat);
    if (has_bias) TORCH_CHECK(bias.scalar_type() == at::kFloat);
  }
  if (p.has_mips) {
    run(mips.data_ptr<float>());
    if (has_bias) run(bias.data_ptr<float>());
  }
  run(p.has_mips && has_bias ? bias.data_ptr<float>() : nullptr);
}

void another(Params& p, at::Tensor mips, at::Tensor bias, bool has_bias) {
  if (p.has_mips) TORCH_CHECK(mips.scalar_type() == at::kFloat);
  if (!p.has_mips) TORCH_CHECK(bias.scalar_type() == at::kFloat);
  if (has_bias) run(bias.data_ptr<float>());
  // EXPECT warning: bias and mips are read as float, and nothing says that they are of that dtype [unchecked-data-ptr]
  p.has_mips = has_bias;
  if (p.has_mips) run(mips.data_ptr<float>());
}

// The variable is empty where nothing was given, and checked where something was.
void given(Params& p, at::Tensor x, c10::optional<at::Tensor> z_, c10::optional<at::Tensor> mask_) {
  at::Tensor z, mask;
  const bool has_z = z_.has_value();
  if (has_z) {
    z = z_.value();
    TORCH_CHECK(z.scalar_type() == x.scalar_type());
    if (mask_.has_value()) {
      mask = mask_.value();
      TORCH_CHECK(mask.scalar_type() == x.scalar_type());
    } else {
      mask = torch::empty_like(z);
    }
  }
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "given", [&] {
    p.mask = has_z ? mask.data_ptr<scalar_t>() : nullptr;
  });
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("again", &again);
  m.def("another", &another);
  m.def("given", &given);
}
