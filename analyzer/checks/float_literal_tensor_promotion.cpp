// Finds: a number beyond 65504 that is stored in a Half, or in a type or a tensor that may be one:
// the sentinels of searches, mostly. A note where nothing makes the type Half yet.
// Also torch::tensor() of floating numbers with an integral dtype, and, as a note, of double
// without a dtype; a floating tensor that is cast to an integral dtype and computed with in
// floating point, or is written into an integral tensor. Constants are what somebody wrote so, and
// so are floor(), round() and their kin, and bytes, which hold images.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

// x.to(torch::kLong) * 0.5, counts[i] = x
static void check_tensor(const CutNumbers& numbers, CheckFindings& out) {
  const std::string dtype = numbers.dtype.to_string();
  const bool is_cast = numbers.by == CutBy::kCast;
  Finding& finding =
      out.add(float_literal_tensor_promotion, Severity::kWarning, numbers.place, numbers.function,
              is_cast ? fmt::format("{} is {} and is cast to {}, and {} computes in floating point "
                                    "with it: what is behind the point is dropped",
                                    numbers.text, numbers.element, dtype, numbers.met)
                      : fmt::format("{} is {}, and {}, which it is written into, is {}: what is "
                                    "behind the point is dropped",
                                    numbers.text, numbers.element, numbers.met, dtype));
  finding.why = "A cast to an integral dtype cuts off fractions without a word.";
  finding.fix = is_cast ? "Leave the cast out, or say what is meant: x.floor(), x.round()."
                        : fmt::format("Make {} in a floating dtype.", numbers.met);
  add_place(finding, numbers.used, is_cast ? numbers.met + " is called here" : "it is made here");
}

// torch::tensor(weights, torch::kInt)
static void check_numbers(const SourceFacts& facts, CheckFindings& out) {
  for (const CutNumbers& numbers : facts.cut_numbers) {
    if (numbers.is_default && facts.default_dtype.contains(Dtype::kDouble)) continue;
    if (numbers.is_of_sum()) continue;  // half-accumulation's
    if (numbers.by != CutBy::kTensor) {
      check_tensor(numbers, out);
      continue;
    }
    const std::string dtype = numbers.dtype.to_string();
    Finding& finding = out.add(
        float_literal_tensor_promotion, numbers.is_default ? Severity::kNote : Severity::kWarning,
        numbers.place, numbers.function,
        numbers.is_default
            ? fmt::format("{} is {}, and becomes {}, as tensor() is given no dtype", numbers.text,
                          numbers.element, dtype)
            : fmt::format("{} is {}, and becomes {}: what is behind the point is dropped",
                          numbers.text, numbers.element, dtype));
    finding.why = numbers.is_default
                      ? "torch::tensor() makes floating numbers the default dtype: times, ids and "
                        "sums lose digits behind the seventh."
                      : "A cast to an integral dtype cuts off fractions without a word.";
    finding.fix = "Give the dtype of the numbers, torch::tensor(x, torch::kDouble).";
  }
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  check_numbers(facts, out);
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
