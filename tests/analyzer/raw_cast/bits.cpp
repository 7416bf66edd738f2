// The bits of a number, and buffers that are made of bytes, are read as what they are meant for.
#include <torch/extension.h>

void run(const void* x, const void* y);

void bits(at::Tensor half, at::Tensor wide) {
  TORCH_CHECK(half.scalar_type() == at::kHalf && wide.scalar_type() == at::kFloat);
  run(reinterpret_cast<uint16_t*>(half.data_ptr()), reinterpret_cast<uint32_t*>(wide.data_ptr()));
  run(reinterpret_cast<uint16_t*>(half.data_ptr()), reinterpret_cast<uint16_t*>(wide.data_ptr()));
  // EXPECT error: wide is Float here and is read as uint16_t [raw-cast]
  run(reinterpret_cast<int64_t*>(half.data_ptr()), nullptr);
  // EXPECT error: half is Half here and is read as int64_t [raw-cast]
}

// A buffer that the caller lends is written first.
void lent(at::Tensor temp_sums) {
  run(reinterpret_cast<float*>(temp_sums.data_ptr()), nullptr);
  // EXPECT note: temp_sums is cast to float from an untyped pointer, and nothing compares the dtype [raw-cast]
}

void lent_and_given(at::Tensor temp_sums, at::Tensor scales) {
  run(reinterpret_cast<float*>(temp_sums.data_ptr()), reinterpret_cast<float*>(scales.data_ptr()));
  // EXPECT warning: temp_sums and scales are cast to float from an untyped pointer, and nothing compares the dtype [raw-cast]
}

void buffers(at::Tensor x) {
  at::Tensor workspace = at::empty({1024}, x.options().dtype(at::kByte));
  at::Tensor state = at::empty({2}, x.options().dtype(at::kLong));
  run(reinterpret_cast<float*>(workspace.data_ptr()), reinterpret_cast<uint64_t*>(state.data_ptr()));
  run(reinterpret_cast<float*>(state.data_ptr()), nullptr);
  // EXPECT error: state is Long here and is read as float [raw-cast]
}
