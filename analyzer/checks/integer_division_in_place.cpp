// Finds: an in-place true division of a tensor that is integral there, in a case of a dispatch or
// after a cast. Silent on purpose: a rounding mode, and tensors of a dtype that nobody knows.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static void check(const SourceFacts& facts, CheckFindings& out) {
  for (const IntegerDivision& division : facts.integer_divisions) {
    if (division.is_of_dispatch) {
      out.add(integer_division_in_place, Severity::kNote, division.place, division.function,
              fmt::format("{} is divided in place where the dispatch may be on an integral dtype",
                          division.tensor.name));
      continue;
    }
    const bool is_known = division.tensor.dtypes.single().has_value();
    Finding& finding =
        out.add(integer_division_in_place, is_known ? Severity::kError : Severity::kWarning,
                division.place, division.function,
                fmt::format("{} {} {} here, and a division in place cannot store the quotient",
                            division.tensor.name, is_known ? "is" : "may be",
                            dtypes_text(division.tensor.dtypes)));
    finding.fix = fmt::format("{}.div_(…, \"floor\") for integers, or divide out of place",
                              division.tensor.name);
  }
}

extern const Check integer_division_in_place = {
    .doc = {.id = "integer-division-in-place",
            .severity = Severity::kWarning,
            .summary = "an integral tensor is divided in place",
            .why = "div_ divides truly: result type Float can't be cast to the desired output type "
                   "Long.",
            .fix = "x.div_(y, \"floor\") for integers, or divide out of place.",
            .example = R"(#include <torch/extension.h>

template <typename T>
void add_up(const T* x, T* out, int64_t n);

at::Tensor mean(at::Tensor x, at::Tensor count) {
  at::Tensor out = at::zeros_like(x);
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "mean", [&] {
    add_up(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.numel());
    if (out.is_floating_point()) {
      out.div_(count);
    } else {
      out.div_(count, "floor");
    }
    out.div_(count);
    // EXPECT warning: out may be Byte or Char or Short or Int or Long here, and a division in place cannot store the quotient [integer-division-in-place]
  });
  return out;
}
)"},
    .check = check,
};

}  // namespace dtypecheck::analyzer
