// Finds: a dispatch over floating dtypes that leaves out Half or BFloat16 where such a tensor can
// come. A warning where it has neither, where the same file handles half elsewhere, or the project
// BFloat16: autocast and half models do not run. Else a note where one is missing: Half alone is
// enough on a GPU, where it is what autocast casts to, unless the project has BFloat16 elsewhere or
// its Python opens autocast, which can cast to either; on the CPU autocast casts to BFloat16, and
// that alone is enough. An error where it is given nothing but what it leaves out. Silent on
// purpose: integer dispatches, tensors that a check above keeps from being half, tensors that are
// made here, statistics that are Float by design.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static constexpr DtypeSet kFullFloats = DtypeSet(Dtype::kFloat) | Dtype::kDouble;

static bool handles_half_elsewhere(const SourceFacts& facts) {
  const auto with_half = [](const Dispatch& dispatch) {
    return dispatch.cases.mixes(kFullFloats, Dtype::kHalf);
  };
  return std::ranges::any_of(facts.dispatches, with_half);
}

// Why a dispatch that has Half needs BFloat16 too; "": nothing says that it does.
static std::string need_of_bfloat16(const SourceFacts& facts) {
  if (!facts.is_of_gpu) return ", which autocast casts to on the CPU";
  if (facts.project_names_bfloat16) return ", which its project has elsewhere";
  return facts.project_opens_autocast ? ", which its project's autocast may cast to" : "";
}

// What cures one that no macro of LibTorch with a list of dtypes in its name wrote; "": one did.
static std::string fix_by_hand(const Dispatch& dispatch, DtypeSet missing) {
  const std::string_view macro = dispatch.macro;
  const bool is_by_name = macro.starts_with("AT_DISPATCH_") && macro != "AT_DISPATCH_V2" &&
                          macro != "AT_DISPATCH_SWITCH";
  if (is_by_name) return "";
  const std::string names = missing.size() == 2 ? "Half and BFloat16" : missing.to_string();
  return fmt::format(
      "Add {} to {}, with sums kept in Float; or cast the tensor to Float first and say so.", names,
      macro.empty() ? "its branches" : fmt::format("the dtypes of {}", macro));
}

// In words for one that is written by hand, else the same macro with the types that are missing.
static void add_cure(Finding& finding, const Dispatch& dispatch, DtypeSet missing) {
  if (const std::string fix = fix_by_hand(dispatch, missing); !fix.empty()) finding.fix = fix;
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

// It gives names to dtypes, and what they are names of may have no Half.
static bool is_table(const SourceFacts& facts, const Dispatch& dispatch) {
  return std::ranges::any_of(facts.tables, [&](const DtypeTable& table) {
    return table.place.file == dispatch.place.file && table.place.line == dispatch.place.line;
  });
}

// AT_DISPATCH_FLOATING_TYPES(at::kBFloat16, ...): no tensor comes that has a case. True: it is so.
static bool check_given(const Dispatch& dispatch, CheckFindings& out) {
  const DtypeSet given = dispatch.tensor.dtypes;
  const bool is_refused = !given.empty() && given.within(kLowPrecision) &&
                          !given.intersects(dispatch.cases) &&
                          dispatch.macro.starts_with("AT_DISPATCH_");
  if (!is_refused) return false;
  Finding& finding = out.add(
      dispatch_missing_half, Severity::kError, dispatch.place, dispatch.function,
      fmt::format("this dispatch is always given {}, and has no case for it", given.to_string()));
  add_cure(finding, dispatch, kLowPrecision - dispatch.cases);
  return true;
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  const bool half_elsewhere = handles_half_elsewhere(facts);
  for (const Dispatch& dispatch : facts.dispatches) {
    if (check_given(dispatch, out)) continue;
    if (dispatch.tensor.source == TensorSource::kMade) continue;
    if (is_float_by_design(dispatch.tensor.name)) continue;
    if (!dispatch.cases.intersects(kFullFloats)) continue;
    const DtypeSet missing = (kLowPrecision - dispatch.cases) & dispatch.tensor.dtypes;
    if (missing.empty()) continue;
    const bool lacks_half = missing.contains(Dtype::kHalf);
    const bool is_uneven = half_elsewhere && lacks_half;
    bool warns = is_uneven || missing == kLowPrecision;
    std::string because = is_uneven ? ", which other dispatches of this file have" : "";
    // BFloat16 is what autocast casts to there.
    const bool suits_autocast = !facts.is_of_gpu && dispatch.cases.contains(Dtype::kBFloat16);
    if (suits_autocast && !warns) continue;
    if (dispatch.cases.contains(Dtype::kHalf)) {
      because = need_of_bfloat16(facts);
      if (because.empty()) continue;
      warns = warns || facts.project_names_bfloat16;
    }
    const std::string tensor = dispatch.tensor.name.empty() ? "a tensor" : dispatch.tensor.name;
    const std::string names =
        missing.size() == 2 ? "neither Half nor BFloat16" : "no " + missing.to_string();
    warns = warns && !is_table(facts, dispatch);
    Finding& finding = out.add(dispatch_missing_half, warns ? Severity::kWarning : Severity::kNote,
                               dispatch.place, dispatch.function,
                               fmt::format("this dispatch on {} has {}{}", tensor, names, because));
    if (missing == DtypeSet(Dtype::kBFloat16))
      finding.why =
          "The op throws \"not implemented for 'BFloat16'\" where autocast or the model has it.";
    add_cure(finding, dispatch, missing);
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
                "at::opmath_type<scalar_t>; or cast the tensor to Float first and say so.",
            .example = R"(#include <torch/extension.h>

template <typename T>
void run(T* x);

void scale(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] { run(x.data_ptr<scalar_t>()); });
  // EXPECT warning: this dispatch on x has neither Half nor BFloat16 [dispatch-missing-half]
}

void shift(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "shift", [&] { run(x.data_ptr<scalar_t>()); });
}

void count(at::Tensor index) {
  AT_DISPATCH_INTEGRAL_TYPES(index.scalar_type(), "count", [&] { run(index.data_ptr<scalar_t>()); });
}
)"},
    .check = check,
    .scope = Scope::kFile,
};

}  // namespace dtypecheck::analyzer
