#include <torch/torch.h>

#include <array>
#include <cstdint>
#include <vector>

// What a program holds its numbers in, through casts, arrays and named options.
at::Tensor fires(std::vector<int64_t>& ids, std::vector<std::array<int, 4>>& boxes, std::vector<double>& times) {
  at::Tensor a = torch::from_blob(ids.data(), {4});
  // EXPECT error: a buffer of long becomes a tensor of Float, as from_blob is given no dtype [from-blob-dtype]
  at::Tensor b = torch::from_blob((void*)boxes.data(), {4, 4});
  // EXPECT error: a buffer of int becomes a tensor of Float, as from_blob is given no dtype [from-blob-dtype]
  auto options = torch::TensorOptions().dtype(torch::kFloat32);
  bool done = false;
  at::Tensor c = torch::from_blob(static_cast<void*>(&done), {1}, options);
  // EXPECT error: a buffer of bool becomes a tensor of Float [from-blob-dtype]
  double raw[4] = {};
  at::Tensor d = torch::from_blob(raw, {4}, torch::kFloat);
  // EXPECT error: a buffer of double becomes a tensor of Float [from-blob-dtype]
  at::Tensor e = torch::from_blob(&times[0], {4}, torch::kLong);
  // EXPECT error: a buffer of double becomes a tensor of Long [from-blob-dtype]
  return a + b + c + d + e;
}

template <typename T>
at::Tensor of_any(std::vector<T>& values, at::ScalarType dtype) {
  return torch::from_blob(values.data(), {4}, dtype);
}

template <int n>
struct Agent {
  at::Tensor state(std::array<int, n> cells) {
    return torch::from_blob(cells.begin(), {n});
    // EXPECT error: a buffer of int becomes a tensor of Float, as from_blob is given no dtype [from-blob-dtype]
  }
  at::Tensor scores(std::array<float, n> values) { return torch::from_blob(values.data(), {n}); }
};

namespace theirs {
class Half;  // of which only the name is known
}
at::Tensor of_name(theirs::Half* values) { return torch::from_blob(values, {4}); }

at::Tensor near(std::vector<int64_t>& ids, std::vector<float>& pairs, std::vector<uint16_t>& bits, uint8_t* pixels,
                void* anything, std::vector<bool>& flags, at::ScalarType dtype, const std::vector<int>& counts) {
  at::Tensor a = torch::from_blob(ids.data(), {4}, torch::kLong);
  at::Tensor b = torch::from_blob(ids.data(), {4}, at::TensorOptions(torch::kInt64));
  at::Tensor c = torch::from_blob(pairs.data(), {2}, torch::kComplexFloat);
  at::Tensor d = torch::from_blob(bits.data(), {4}, torch::kBFloat16);
  at::Tensor e = torch::from_blob(pixels, {4}, torch::kFloat);
  at::Tensor f = torch::from_blob(anything, {4}, torch::kDouble);
  bool done[4] = {};
  at::Tensor g = torch::from_blob(done, {4}, torch::kByte);
  at::Tensor h = torch::from_blob(ids.data(), {4}, dtype);
  at::Tensor i = torch::from_blob(const_cast<int*>(counts.data()), {4}, torch::kInt);
  return a + b + c + d + e + f + g + h + i + of_any(ids, torch::kLong);
}
