// Compiled without inlining, as users debug: between each line here and LibTorch stand functions of
// its headers.
#include <ATen/core/Tensor.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <cstdio>

static at::Tensor project(const at::Tensor& x, const at::Tensor& weight) {
  return at::matmul(x, weight);  // at: project
}

int main() {
  const at::Tensor weight = at::ones({4, 4}).to(at::kHalf);  // at: cast
  try {
    project(at::ones({2, 4}), weight);
  } catch (const c10::Error& error) {
    std::puts(error.what_without_backtrace());
    return 1;
  }
}
