// Finds: a sum or a product that goes round a loop in Half or BFloat16, in a variable, an array,
// through a helper or in cuBLAS; a product that is rounded to them before a loop adds it to a
// Float; an op that sums up, or backward(), right behind a cast to them, and a loss in them of what
// was wider; and, as a note, atomic adds to such memory. Templates count where something
// makes the type Half. Silent on purpose: loops of a few steps that are written out, elements that
// each step has its own of, what a model in Half gives where no loss is computed of it.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static void check(const SourceFacts& facts, CheckFindings& out) {
  for (const CutNumbers& numbers : facts.cut_numbers) {
    if (!numbers.is_of_sum()) continue;
    const std::string dtype = numbers.dtype.to_string();
    Finding& finding =
        out.add(half_accumulation, Severity::kWarning, numbers.used, numbers.function,
                fmt::format("{} is given {} in {}, which was wider before", numbers.met,
                            numbers.text, dtype));
    if (numbers.place.line != numbers.used.line)
      add_place(finding, numbers.place, fmt::format("it is cast to {}", dtype));
    finding.fix = numbers.met == "backward"
                      ? "Leave the cast out."
                      : fmt::format("Leave the cast out, or put it behind {}.", numbers.met);
  }
  for (const LowPrecisionSum& sum : facts.sums) {
    const std::string dtypes = dtypes_text(sum.dtypes);
    const bool is_atomic = sum.kind == SumKind::kAtomic;
    out.add(half_accumulation, is_atomic ? Severity::kNote : Severity::kWarning, sum.place,
            sum.function,
            is_atomic ? fmt::format("{} is added to atomically in {}", sum.name, dtypes)
            : sum.kind == SumKind::kProduct
                ? fmt::format("{} is rounded to {} before it is added", sum.name, dtypes)
                : fmt::format("{} sums up in {}", sum.name, dtypes));
  }
}

extern const Check half_accumulation = {
    .doc = {.id = "half-accumulation",
            .severity = Severity::kWarning,
            .summary = "a sum or a product is kept in Half or BFloat16",
            .why = "BFloat16 has 8 bits and Half 11: a sum stops growing at 256 or 2048 times its "
                   "addends, and Half overflows at 65504.",
            .fix = "Sum in Float and round once: at::opmath_type<scalar_t> acc = 0; ...; out = "
                   "static_cast<scalar_t>(acc).",
            .example = R"(#include <torch/extension.h>

template <typename T, typename Sum>
void total(const T* x, T* out, int64_t n) {
  T narrow = 0;
  Sum wide = 0;
  for (int64_t i = 0; i < n; ++i) {
    narrow += x[i];
    // EXPECT warning: narrow sums up in Half or BFloat16 [half-accumulation]
    wide += x[i];
  }
  out[0] = narrow;
  out[1] = static_cast<T>(wide);
}

void total(at::Tensor x) {
  at::Tensor out = at::empty({2}, x.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "total", [&] {
    total<scalar_t, double>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.numel());
  });
}
)"},
    .check = check,
    .scope = Scope::kFunction,
};

}  // namespace dtypecheck::analyzer
