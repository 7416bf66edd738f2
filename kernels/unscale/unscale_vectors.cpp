#include "kernels/unscale/unscale.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/unscale/unscale_vectors.cpp"
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::HWY_NAMESPACE {
#if DTYPECHECK_VECTORS

using D = hn::Repartition<double, F>;
using HalfOfF = hn::Half<F>;

template <class T>
double unscale_as(const T* x, const Unscale& a) {
  const V factor = hn::Set(F(), a.factor);
  auto low = hn::Zero(D()), high = low;
  for_each_vector(a.n, [&](int64_t i, size_t count) HWY_ATTR {
    const V y = hn::Mul(load(x + i, count), factor);
    if (a.y) store(y, a.y + i, count);
    const auto lower = hn::PromoteTo(D(), hn::LowerHalf(HalfOfF(), y));
    const auto upper = hn::PromoteTo(D(), hn::UpperHalf(HalfOfF(), y));
    low = hn::MulAdd(lower, lower, low);
    high = hn::MulAdd(upper, upper, high);
  });
  return hn::GetLane(hn::SumOfLanes(D(), hn::Add(low, high)));
}

void run_unscale(const Unscale& a) {
  with_type_of(a.x.dtype, [&](auto number) HWY_ATTR {
    *a.sum_of_squares = unscale_as(static_cast<const decltype(number)*>(a.x.data), a);
  });
}

#else
void run_unscale(const Unscale& a) { unscale_ref(a); }
#endif
}  // namespace dtypecheck::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtypecheck::kernels {

HWY_EXPORT(run_unscale);
void unscale_vectors(const Unscale& a) { HWY_DYNAMIC_DISPATCH(run_unscale)(a); }

}  // namespace dtypecheck::kernels
#endif
