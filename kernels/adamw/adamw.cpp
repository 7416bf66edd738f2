#include "kernels/adamw/adamw.h"

#include <algorithm>
#include <limits>

#include "kernels/threads.h"

namespace dtypecheck::kernels {

// The variants, each in a file of its name.
void adamw_vectors(const AdamW&);

template <>
DeviceVariant<AdamW>::Run DeviceVariant<AdamW>::run = nullptr;
template <>
DeviceVariant<AdamWList>::Run DeviceVariant<AdamWList>::run = nullptr;

static constexpr Variant<AdamW> kVariants[] = {
    DTYPECHECK_GRID_VARIANT(AdamW)  //
    {"vectors", vectors, adamw_vectors},
    {"ref", always, adamw_ref},
};

std::span<const Variant<AdamW>> adamw_variants() { return kVariants; }

static void require_arguments(const AdamW& a) {
  const bool empty = a.n == 0;
  require(a.n >= 0 && a.first >= 0 && a.first <= std::numeric_limits<int64_t>::max() - a.n, "adamw",
          "n and first of 0 or more");
  require(a.step >= 1, "adamw", "a step of 1 or more; steps count from 1");
  require(a.beta1 >= 0 && a.beta1 < 1 && a.beta2 >= 0 && a.beta2 < 1, "adamw",
          "beta1 and beta2 from 0 to less than 1");
  require(std::isfinite(a.rate) && std::isfinite(a.decay), "adamw", "a finite rate and decay");
  // 1e-46 is not 0, and is 0 in Float: a gradient of 0 would then give 0 / 0.
  require(std::isfinite(a.eps) && static_cast<float>(a.eps) > 0, "adamw",
          "an eps above 0 in Float");
  require_numbers(a.weight, "adamw", "weight", empty);
  require_numbers(a.gradient, "adamw", "gradient", empty);
  require_numbers(Output{a.master}, "adamw", "master", /*optional=*/true);
  require_numbers(Output{a.mean}, "adamw", "mean", empty);
  require_numbers(Output{a.square}, "adamw", "square", empty);
  require(a.rounding == Rounding::kNearest || (a.weight.dtype == Dtype::kBFloat16 && !a.master),
          "adamw", "a BFloat16 weight without master for stochastic rounding");
}

void adamw(const AdamW& a) {
  require_arguments(a);
  if (a.device) return run_on_device(a);
  for_each_part((a.n + kPartNumbers - 1) / kPartNumbers, [&](int64_t i) {
    const int64_t first = i * kPartNumbers;
    AdamW part = a;
    part.n = std::min(kPartNumbers, a.n - first);
    part.first = a.first + first;
    part.weight = from(a.weight, first);
    part.gradient = from(a.gradient, first);
    part.mean = a.mean + first;
    part.square = a.square + first;
    if (a.master) part.master = a.master + first;
    run_first(adamw_variants(), part);
  });
}

void adamw(const AdamWList& a) {
  if (a.steps.empty()) return;
  if (!a.steps[0].device) {
    for (const AdamW& step : a.steps) adamw(step);
    return;
  }
  for (const AdamW& step : a.steps) require_arguments(step);
  run_on_device(a);
}

}  // namespace dtypecheck::kernels
