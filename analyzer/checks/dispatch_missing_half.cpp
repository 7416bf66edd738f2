// Finds: a dispatch over floating dtypes that leaves out Half or BFloat16 where such a tensor can
// come. A note, since many leave it out on purpose; a warning where the same file handles half
// elsewhere. Silent on purpose: integer dispatches, tensors that a check above keeps from being
// half, tensors that are made here.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static constexpr DtypeSet kFullFloats = DtypeSet(Dtype::kFloat) | Dtype::kDouble;

static bool handles_half_elsewhere(const SourceFacts& facts) {
  const auto with_half = [](const Dispatch& dispatch) {
    return dispatch.cases.mixes(kFullFloats, kLowPrecision);
  };
  return std::any_of(facts.dispatches.begin(), facts.dispatches.end(), with_half);
}

// The same macro with the types that are missing.
static void add_wider_macro(Finding& finding, const Dispatch& dispatch, DtypeSet missing) {
  struct Wider {
    const char* macro;
    DtypeSet missing;
    const char* with_them;
  };
  static const Wider kWider[] = {
      {"AT_DISPATCH_FLOATING_TYPES", kLowPrecision,
       "AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, "},
      {"AT_DISPATCH_FLOATING_TYPES_AND_HALF", Dtype::kBFloat16,
       "AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, "},
      {"AT_DISPATCH_FLOATING_TYPES_AND", Dtype::kBFloat16,
       "AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, "},
      {"AT_DISPATCH_FLOATING_TYPES_AND", Dtype::kHalf,
       "AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, "},
      {"AT_DISPATCH_ALL_TYPES", kLowPrecision,
       "AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, "},
      {"AT_DISPATCH_ALL_TYPES_AND", Dtype::kBFloat16, "AT_DISPATCH_ALL_TYPES_AND2(at::kBFloat16, "},
      {"AT_DISPATCH_ALL_TYPES_AND", Dtype::kHalf, "AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, "},
  };
  for (const Wider& wider : kWider) {
    if (dispatch.macro != wider.macro || missing != wider.missing) continue;
    return add_replacement(finding, dispatch.place, dispatch.macro + "(", wider.with_them);
  }
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  const bool half_elsewhere = handles_half_elsewhere(facts);
  for (const Dispatch& dispatch : facts.dispatches) {
    if (dispatch.tensor.source == TensorSource::kMade) continue;
    if (!dispatch.cases.intersects(kFullFloats)) continue;
    const DtypeSet missing = (kLowPrecision - dispatch.cases) & dispatch.tensor.dtypes;
    if (missing.empty()) continue;
    const bool warns = half_elsewhere && missing.contains(Dtype::kHalf);
    const std::string tensor = dispatch.tensor.name.empty() ? "a tensor" : dispatch.tensor.name;
    std::string names = missing.to_string();
    if (missing.size() == 2)
      names = "neither Half nor BFloat16";
    else
      names = fmt::format("no {}", names);
    Finding& finding =
        out.add(dispatch_missing_half, warns ? Severity::kWarning : Severity::kNote, dispatch.place,
                dispatch.function,
                fmt::format("this dispatch on {} has {}{}", tensor, names,
                            warns ? ", which other dispatches of this file have" : ""));
    add_wider_macro(finding, dispatch, missing);
  }
}

extern const Check dispatch_missing_half = {
    .doc = {.id = "dispatch-missing-half",
            .severity = Severity::kNote,
            .summary = "a dispatch over floating dtypes without Half or BFloat16",
            .why =
                "The op throws \"not implemented for 'Half'\" under autocast and on half models.",
            .fix =
                "AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, ...), with sums kept in "
                "at::opmath_type<scalar_t>; or cast the tensor to Float first and say so."},
    .check = check,
    .example = R"(#include <torch/extension.h>

template <typename T>
void run(T* x);

void scale(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] { run(x.data_ptr<scalar_t>()); });
  // EXPECT note: this dispatch on x has neither Half nor BFloat16 [dispatch-missing-half]
}

void shift(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "shift", [&] { run(x.data_ptr<scalar_t>()); });
}

void count(at::Tensor index) {
  AT_DISPATCH_INTEGRAL_TYPES(index.scalar_type(), "count", [&] { run(index.data_ptr<scalar_t>()); });
}
)",
};

}  // namespace dtypecheck::analyzer
