// Cases that a check or a comparison of types rules out are not walked through.
#include <type_traits>

#include <cuda_fp16.h>
#include <torch/extension.h>

void run(const void* x);

void by_check(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) {
    AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "by_check", [&] {
      run(x.data_ptr<scalar_t>());
      run(reinterpret_cast<__half*>(x.data_ptr()));
    });
  }
}

void by_type(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "by_type", [&] {
    if (std::is_same<scalar_t, at::Half>::value) {
      run(reinterpret_cast<__half*>(x.data_ptr()));
    } else if (x.scalar_type() == at::kFloat) {
      run(reinterpret_cast<float*>(x.data_ptr()));
    }
  });
}

static bool is_half(const at::Tensor& x) { return x.scalar_type() == at::kHalf; }

static void require(bool condition) {
  if (!condition) throw 1;
}

void by_function(at::Tensor x, at::Tensor y, at::Tensor z) {
  require(is_half(x) && is_half(y));
  const bool is_float = z.scalar_type() == at::kFloat;
  run(reinterpret_cast<__half*>(x.data_ptr()));
  run(reinterpret_cast<__half*>(y.data_ptr()));
  if (is_float) run(reinterpret_cast<float*>(z.data_ptr()));
  if (!is_float) run(reinterpret_cast<float*>(x.data_ptr()));
  // EXPECT error: x is Half here and is read as float [raw-cast]
}
