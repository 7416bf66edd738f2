// Finds: conversions of Half that have two ways and so do not compile: an int and a template's type
// in one ?:, once that type is Half; a cast from c10::Half to CUDA's __half, or back, with newer
// CUDA headers. Notes: what compiles here may not elsewhere.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static void check(const SourceFacts& facts, CheckFindings& out) {
  for (const TwoWayConversion& conversion : facts.conversions) {
    out.add(ambiguous_half_conversion, Severity::kNote, conversion.place, conversion.function,
            conversion.is_cast
                ? fmt::format("{} is cast to {}, which newer CUDA headers convert in two ways",
                              conversion.from, conversion.to)
                : fmt::format("{} and {} in one ?: do not compile where {} is Half",
                              conversion.from, conversion.to, conversion.to));
  }
}

extern const Check ambiguous_half_conversion = {
    .doc =
        {.id = "ambiguous-half-conversion",
         .severity = Severity::kNote,
         .summary = "an ambiguous conversion of Half",
         .why =
             "c10::Half converts from and to float implicitly, so an int and a Half each convert "
             "to the other, and c10::Half to __half goes by its own operator or by float.",
         .fix = "Name the type: count > 0 ? static_cast<scalar_t>(count) : scalar_t(1); "
                "__float2half(static_cast<float>(x)).",
         .example = R"(#include <torch/extension.h>

template <typename T>
T mean(T sum, int count) {
  const T divisor = count > 0 ? count : (T)1;
  // EXPECT note: int and T in one ?: do not compile where T is Half [ambiguous-half-conversion]
  const T named = count > 0 ? static_cast<T>(count) : (T)1;
  return sum / divisor / named;
}
)"},
    .check = check,
    .scope = Scope::kFile,
};

}  // namespace dtypecheck::analyzer
