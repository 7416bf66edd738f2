// A function that hands on a pointer of what it is given: its calls are distinguished, with their
// tensors.
#include <torch/extension.h>

template <typename T>
inline T* pointer_of(const at::Tensor& tensor) {
  return tensor.data_ptr<T>();
}

template <typename T>
void run(const T* x, const T* y, const T* z);

void scale(at::Tensor x, at::Tensor weight, at::Tensor bias) {
  TORCH_CHECK(bias.scalar_type() == x.scalar_type());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scale", [&] {
    run<scalar_t>(pointer_of<scalar_t>(x),
                  pointer_of<scalar_t>(weight),
                  // EXPECT warning: weight is read as the dtype of x, and nothing says that it has it [dispatch-other-tensor-unchecked]
                  pointer_of<scalar_t>(bias));
  });
}

void shift(at::Tensor mask) {
  run(pointer_of<float>(mask), pointer_of<float>(mask.to(at::kFloat)), pointer_of<float>(mask));
  // EXPECT note: mask is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}
