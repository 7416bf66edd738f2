// Ops whose results have a dtype of their own, and casts that change the device alone.
#include <tuple>

#include <torch/extension.h>

void run(const float* x);
void run(const int* x);
void run(const int64_t* x);
void run(const bool* x);

void moved(at::Tensor x) {
  at::Tensor there = at::zeros({2}, at::kInt).to(x.device());
  at::Tensor on_gpu = at::zeros({2}, at::kInt).to(at::kCUDA);
  at::Tensor by_options = at::zeros({2}, at::kInt).to(x.options().dtype(at::kFloat));
  run(there.data_ptr<int>());
  run(on_gpu.data_ptr<float>());
  // EXPECT error: on_gpu is Int here and is read as float [unchecked-data-ptr]
  run(by_options.data_ptr<float>());
}

void compared(at::Tensor x) {
  at::Tensor zero = x == 0;
  at::Tensor same = at::eq(x, x);
  at::Tensor both = (x > 0) & (x < 3);
  run(zero.data_ptr<bool>());
  run(same.data_ptr<float>());
  // EXPECT error: same is Bool here and is read as float [unchecked-data-ptr]
  run(both.data_ptr<int>());
  // EXPECT error: both is Bool here and is read as int [unchecked-data-ptr]
}

void indices(at::Tensor x) {
  at::Tensor best = x.argmax(1);
  auto [values, order] = x.sort(0);
  auto largest = at::topk(x, 3);
  at::Tensor high, place;
  std::tie(high, place) = x.max(1);
  run(best.data_ptr<int64_t>());
  run(order.data_ptr<int>());
  // EXPECT error: order is Long here and is read as int [unchecked-data-ptr]
  run(std::get<1>(largest).data_ptr<int>());
  // EXPECT error: std::get<1>(largest) is Long here and is read as int [unchecked-data-ptr]
  run(place.data_ptr<int>());
  // EXPECT error: place is Long here and is read as int [unchecked-data-ptr]
  run(values.data_ptr<float>());
  // EXPECT note: values is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
  run(x.nonzero().data_ptr<int64_t>());
}

void ranges(int64_t n) {
  at::Tensor whole = at::arange(n);
  at::Tensor parts = at::arange(0, 1.0, 0.5);
  at::Tensor named = at::arange(0, n, at::TensorOptions().dtype(at::kInt));
  run(whole.data_ptr<int>());
  // EXPECT error: whole is Long here and is read as int [unchecked-data-ptr]
  run(parts.data_ptr<float>());
  run(named.data_ptr<int>());
}
