// Added to through a helper, into an array of sums; opmath is wide, and elements are no sums.
#include <vector>

#include <ATen/OpMathType.h>
#include <torch/extension.h>

template <typename T>
struct Sum {
  static void update(T* value, T more) { *value = *value + more; }
};

template <typename T, typename Wide>
void segments(const T* x, T* out, int64_t rows, int64_t columns) {
  std::vector<T> narrow(columns);
  std::vector<Wide> wide(columns);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      Sum<T>::update(&narrow[column], x[row * columns + column]);
      // EXPECT warning: narrow[column] sums up in Half or BFloat16 [half-accumulation]
      Sum<Wide>::update(&wide[column], x[row * columns + column]);
    }
  }
  for (int64_t column = 0; column < columns; ++column) out[column] += narrow[column];
  for (int i = 0; i < 4; ++i) out[0] += x[i];
}

void segment(at::Tensor x) {
  at::Tensor out = at::zeros({x.size(1)}, x.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "segment", [&] {
    using opmath_t = at::opmath_type<scalar_t>;
    segments<scalar_t, opmath_t>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.size(0), x.size(1));
  });
}
