#include "kernels/adamw/adamw.h"
#include "kernels/adamw/random_bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/adamw/adamw_vectors.cpp"
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::HWY_NAMESPACE {
#if DTYPECHECK_VECTORS

// The new weight before it is rounded; steps mean and square.
template <class T, class G>
HWY_INLINE V step_numbers(const AdamW& a, const AdamWFactors& f, const T* weight, const G* gradient,
                          int64_t i, size_t count) {
  const F d;
  const V scale = hn::Set(d, a.scale), x = load(gradient + i, count), g = hn::Mul(x, scale);
  V mean = load(a.mean + i, count);
  mean = hn::MulAdd(hn::MulSub(x, scale, mean), hn::Set(d, f.mean_part), mean);
  const V added = hn::Mul(hn::Mul(g, g), hn::Set(d, f.square_part));
  const V square = hn::MulAdd(load(a.square + i, count), hn::Set(d, f.square_kept), added);
  const V spread = hn::Add(hn::Div(hn::Sqrt(square), hn::Set(d, f.root_bias)), hn::Set(d, f.eps));
  const V before = a.master ? load(a.master + i, count) : load(weight + i, count);
  const V kept = hn::Mul(before, hn::Set(d, f.kept));
  const V after = hn::NegMulAdd(hn::Set(d, f.rate), hn::Div(mean, spread), kept);
  store(mean, a.mean + i, count);
  store(square, a.square + i, count);
  if (a.master) store(after, a.master + i, count);
  return after;
}

template <class T, class G>
void step_to_nearest(const AdamW& a, const AdamWFactors& f, T* weight, const G* gradient) {
  for_each_vector(a.n, [&](int64_t i, size_t count) HWY_ATTR {
    store(step_numbers(a, f, weight, gradient, i, count), weight + i, count);
  });
}

HWY_INLINE hn::Vec<U> mix(hn::Vec<U> x) {
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(U(), kMurmurMultiplier1));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<13>(x)), hn::Set(U(), kMurmurMultiplier2));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

template <class G>
void step_stochastically(const AdamW& a, const AdamWFactors& f, BFloat16* weight,
                         const G* gradient) {
  for (int64_t start = 0; start < a.n;) {  // once for each 2^32 numbers, as they share a key
    const uint64_t index = static_cast<uint64_t>(a.first + start);
    const uint64_t key = random_key(a.seed, a.step, index >> 32);
    const auto key1 = hn::Set(U(), static_cast<uint32_t>(key));
    const auto key2 = hn::Set(U(), static_cast<uint32_t>(key >> 32));
    const auto lane = hn::Iota(U(), 0);  // made once: it goes through memory, number by number
    const int64_t to_next_key = (int64_t{1} << 32) - static_cast<uint32_t>(index);
    const int64_t size = std::min(a.n - start, to_next_key);
    for_each_vector(size, [&](int64_t i, size_t count) HWY_ATTR {
      const V after = step_numbers(a, f, weight, gradient, start + i, count);
      const uint32_t first = static_cast<uint32_t>(index + static_cast<uint64_t>(i));
      const auto lower = hn::Add(hn::Set(U(), first), lane);
      const auto random = mix(hn::Xor(mix(hn::Xor(lower, key1)), key2));
      const auto carried = hn::Add(hn::BitCast(U(), after), hn::ShiftRight<16>(random));
      BFloat16 rounded[HWY_MAX_BYTES / sizeof(float)];
      BFloat16* const to = weight + start + i;
      store_upper(keep_nan(after, carried), count == lanes() ? to : rounded);
      if (count != lanes()) std::memcpy(to, rounded, count * sizeof(BFloat16));
    });
    start += size;
  }
}

void run_adamw(const AdamW& a) {
  const AdamWFactors factors(a);
  with_type_of(a.gradient.dtype, [&](auto gradient_number) HWY_ATTR {
    const auto* gradient = static_cast<const decltype(gradient_number)*>(a.gradient.data);
    if (a.rounding == Rounding::kStochastic) {
      return step_stochastically(a, factors, static_cast<BFloat16*>(a.weight.data), gradient);
    }
    with_type_of(a.weight.dtype, [&](auto number) HWY_ATTR {
      step_to_nearest(a, factors, static_cast<decltype(number)*>(a.weight.data), gradient);
    });
  });
}

#else
void run_adamw(const AdamW& a) { adamw_ref(a); }
#endif
}  // namespace dtypecheck::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtypecheck::kernels {

HWY_EXPORT(run_adamw);
void adamw_vectors(const AdamW& a) { HWY_DYNAMIC_DISPATCH(run_adamw)(a); }

}  // namespace dtypecheck::kernels
#endif
