#include "kernels/adamw/adamw.h"
#include "kernels/adamw/random_bits.h"

namespace dtypecheck::kernels {

// BFloat16 is the upper half of Float; what is added to the lower half decides what it carries.
static uint16_t round_stochastically(float value, uint32_t random) {
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>((bit_cast<uint32_t>(value) + (random >> 16)) >> 16);
}

void adamw_ref(const AdamW& a) {
  const AdamWFactors f(a);
  for (int64_t i = 0; i < a.n; ++i) {
    const float gradient = load(a.gradient, i), g = gradient * a.scale;
    const float mean = std::fma(std::fma(gradient, a.scale, -a.mean[i]), f.mean_part, a.mean[i]);
    const float square = std::fma(a.square[i], f.square_kept, g * g * f.square_part);
    const float spread = std::sqrt(square) / f.root_bias + f.eps;
    const float before = a.master ? a.master[i] : load({a.weight.data, a.weight.dtype}, i);
    const float weight = std::fma(-f.rate, mean / spread, before * f.kept);
    a.mean[i] = mean;
    a.square[i] = square;
    if (a.master) a.master[i] = weight;
    if (a.rounding == Rounding::kNearest) {
      store(a.weight, i, weight);
    } else {
      const uint64_t index = static_cast<uint64_t>(a.first + i);
      const uint64_t key = random_key(a.seed, a.step, index >> 32);
      static_cast<uint16_t*>(a.weight.data)[i] =
          round_stochastically(weight, random_bits(key, static_cast<uint32_t>(index)));
    }
  }
}

}  // namespace dtypecheck::kernels
