#include "kernels/cat/cat.h"
#include "kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cat/cat_vectors.cpp"
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::HWY_NAMESPACE {
#if DTYPECHECK_VECTORS

template <class From, class To>
HWY_INLINE void cast(const From* from, int64_t n, To* to) {
  for_each_vector(
      n, [=](int64_t i, size_t count) HWY_ATTR { store(load(from + i, count), to + i, count); });
}
// Numbers of one dtype keep their bits, what a NaN carries too.
template <class T>
HWY_INLINE void cast(const T* from, int64_t n, T* to) {
  std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
}

void copy_numbers(Input from, int64_t n, Output to) {
  with_type_of(from.dtype, [&](auto number) HWY_ATTR {
    const auto* numbers = static_cast<const decltype(number)*>(from.data);
    with_type_of(to.dtype, [&](auto other) HWY_ATTR {
      cast(numbers, n, static_cast<decltype(other)*>(to.data));
    });
  });
}

// A part is a stretch of y, wherever pieces and rows begin in it.
void run_cat(const Cat& c) {
  int64_t cols = 0;
  for (const CatPiece& piece : c.pieces) cols += piece.cols;
  const int64_t n = c.rows * cols;
  for_each_part((n + kPartNumbers - 1) / kPartNumbers, [&](int64_t part) {
    const int64_t first = part * kPartNumbers, last = std::min(n, first + kPartNumbers);
    for (int64_t r = first / cols; r * cols < last; ++r) {
      int64_t begin = r * cols;  // of the piece, in y
      for (const CatPiece& piece : c.pieces) {
        const int64_t from = std::max(begin, first), to = std::min(begin + piece.cols, last);
        if (from < to)
          copy_numbers(kernels::from(piece.x, r * piece.row_stride + from - begin), to - from,
                       kernels::from(c.y, from));
        begin += piece.cols;
      }
    }
  });
}

#else
void run_cat(const Cat& c) { cat_ref(c); }
#endif
}  // namespace dtypecheck::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtypecheck::kernels {

HWY_EXPORT(run_cat);
void cat_vectors(const Cat& c) { HWY_DYNAMIC_DISPATCH(run_cat)(c); }

}  // namespace dtypecheck::kernels
#endif
