// A finding stands where a check belongs, and names where the tensor was made, handed on, and cast.
#include <cuda_fp16.h>
#include <torch/extension.h>

void run(const void* x);

static void launch(const void* pointer) {
  run(static_cast<const __half*>(pointer));
  // ALSO the cast to __half [raw-cast]
}

void cast_below(at::Tensor x) {
  const void* pointer = x.data_ptr();
  // EXPECT warning: x is cast to __half from an untyped pointer, and nothing compares the dtype [raw-cast]
  launch(pointer);
}

static void read(const at::Tensor& given) {
  run(given.data_ptr<float>());
  // EXPECT note: given is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}

void hand_on(at::Tensor y) {
  read(y);
  // ALSO given is given [unchecked-data-ptr]
}

using real = double;

void made_above() {
  at::Tensor out = at::empty({2}, at::kFloat);
  // ALSO out is made Float [unchecked-data-ptr]
  run(out.data_ptr<float>());
  run(out.data_ptr<real>());
  // EXPECT error: out is Float here and is read as real (double) [unchecked-data-ptr]
}
