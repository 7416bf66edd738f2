// Finds: a number beyond 65504 that is stored in a Half, or in a type or a tensor that may be one:
// the sentinels of searches, mostly. A note where nothing makes the type Half yet.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static void check(const SourceFacts& facts, CheckFindings& out) {
  for (const LargeNumber& number : facts.large_numbers) {
    if (number.is_half) {
      out.add(float_literal_tensor_promotion, Severity::kWarning, number.place, number.function,
              fmt::format("{} is Half here, at most 65504, and gets {}", number.name, number.text));
    } else {
      out.add(float_literal_tensor_promotion, Severity::kNote, number.place, number.function,
              fmt::format("{} gets {}, and where it is Half it is above the largest Half, 65504",
                          number.name, number.text));
    }
  }
}

extern const Check float_literal_tensor_promotion = {
    .doc = {.id = "float-literal-tensor-promotion",
            .severity = Severity::kWarning,
            .summary = "a number is stored in a type that cannot hold it",
            .why = "In a Half variable 1e10 is inf, so what is compared with it or subtracted from "
                   "it goes wrong; at::full and fill_ throw: value cannot be converted to type "
                   "at::Half without overflow.",
            .fix = "Use std::numeric_limits<scalar_t>::max(), or keep the variable in "
                   "at::opmath_type<scalar_t>.",
            .example = R"(#include <torch/extension.h>

template <typename T>
int64_t nearest(const T* distance, int64_t n) {
  T best = 1e10;
  // EXPECT warning: best is Half here, at most 65504, and gets 1e10 [float-literal-tensor-promotion]
  T limit = 1e4;
  int64_t at = -1;
  for (int64_t i = 0; i < n; ++i) {
    if (distance[i] < best && distance[i] < limit) best = distance[at = i];
  }
  return at;
}

int64_t nearest(at::Tensor x) {
  int64_t at = 0;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "nearest",
                                  [&] { at = nearest(x.data_ptr<scalar_t>(), x.numel()); });
  return at;
}
)"},
    .check = check,
    .scope = Scope::kFunction,
};

}  // namespace dtypecheck::analyzer
