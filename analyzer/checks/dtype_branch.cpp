// Finds: in a chain of questions for a dtype, a switch over it, or behind a lone question that
// returns, a last branch that takes whatever the others leave as one dtype; a branch that is the
// same as that of another dtype, with its type; one whose dtype a branch above has taken; a dtype
// to compute in that is chosen for Half and not for BFloat16; a library that is told another dtype
// than a pointer's; a branch that names another dtype of its size, and never its own. Misses:
// handles that a project's own class wraps, chains over an integer. Silent on purpose: branches
// that take a typed pointer, which refuses another dtype; tensors whose dtypes a check above
// narrowed to those that have a branch.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

// The branches before it asked for some dtypes, and nothing refuses the many that they leave.
static bool is_left_over(const Read& read) {
  const TensorFact& tensor = read.tensor;
  return tensor.is_undetermined() && !tensor.is_unchecked() && tensor.dtypes.size() > kNarrowed;
}

// An untyped pointer is cast in what the branches before it leave.
static void check_casts(const SourceFacts& facts, CheckFindings& out) {
  std::vector<const Read*> casts;
  for (const Read& read : facts.reads) {
    const bool is_cast = read.how == ReadAs::kCast && !read.accepts.empty() && !read.in_dispatch;
    if (is_cast && is_left_over(read)) casts.push_back(&read);
  }
  for (const ReadGroup& group : by_function(casts)) {
    const Read& read = *group.first;
    out.add(dtype_branch, read.callers == Callers::kBound ? Severity::kError : Severity::kWarning,
            group,
            fmt::format("{} {} {} here, and cast to {} from an untyped pointer", names_of(group),
                        is_or_are(group), left_over_text(read.tensor.dtypes), types_of(group)));
  }
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  check_casts(facts, out);
  for (const DtypeBranch& branch : facts.branches) {
    const std::string name = branch.tensor.name.empty() ? "the tensor" : branch.tensor.name;
    const std::string served = branch.served.to_string();
    if (branch.fault == BranchFault::kHalfAlone) {
      out.add(dtype_branch, Severity::kWarning, branch.place, branch.function,
              fmt::format("{} becomes {} where it is Half, and stays BFloat16 where it is that",
                          name, served))
          .fix =
          "Ask for both: at::isReducedFloatingType(x.scalar_type()), or "
          "at::toOpMathType(x.scalar_type()).";
      continue;
    }
    if (branch.fault == BranchFault::kDead) {
      out.add(dtype_branch, Severity::kWarning, branch.place, branch.function,
              fmt::format("a branch above is taken where {} is {}, so this one never is", name,
                          branch.dtypes.to_string()))
          .fix = "Ask for the dtype that the branch is written for, or remove it.";
      continue;
    }
    if (branch.fault == BranchFault::kTypeTrait) {
      out.add(dtype_branch, Severity::kWarning, branch.place, branch.function,
              fmt::format("every {} other than {} is treated as {}", name,
                          (kAnyDtype - branch.dtypes).to_string(), served))
          .fix = "Take the dtype of the type: c10::CppTypeToScalarType<T>::value.";
      continue;
    }
    if (branch.fault == BranchFault::kTold) {
      Finding& finding = out.add(
          dtype_branch, branch.callers == Callers::kBound ? Severity::kError : Severity::kWarning,
          branch.place, branch.function,
          fmt::format("{} is {} here, and is called {}", name, dtypes_text(branch.dtypes),
                      dtypes_text(branch.served)));
      finding.why = "It is read as what it is called: the numbers are garbage without a message.";
      finding.fix = fmt::format("Name {}.", dtypes_text(branch.dtypes));
      continue;
    }
    const std::string left = left_over_text(branch.dtypes);
    const bool is_alike = branch.fault == BranchFault::kAlike;
    out.add(dtype_branch, branch.callers == Callers::kBound ? Severity::kError : Severity::kWarning,
            branch.place, branch.function,
            branch.fault == BranchFault::kUndone
                ? fmt::format("nothing is done here with {} {}, and nothing refuses it", name, left)
                : fmt::format("{} is {} here, and is treated as {}{}", name, left, served,
                              is_alike ? ": another branch is the same" : ""));
  }
}

extern const Check dtype_branch = {
    .doc =
        {.id = "dtype-branch",
         .severity = Severity::kError,
         .summary = "a branch on a dtype treats one dtype as another",
         .why = "Nothing refuses the dtypes that have no branch of their own: their bytes are read "
                "as another type, and the numbers are garbage without a message.",
         .fix =
             "Test for each dtype that is supported, and refuse the rest: else TORCH_CHECK(false, "
             "\"not implemented for \", x.scalar_type()).",
         .example = R"(#include <torch/extension.h>

template <typename T>
void run(void* x);

void scale(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) {
    run<at::Half>(x.data_ptr());
  } else {
    run<float>(x.data_ptr());
    // EXPECT error: x is of any dtype but Half here, and is treated as Float [dtype-branch]
  }
}

void shift(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kHalf || x.scalar_type() == at::kFloat);
  if (x.scalar_type() == at::kHalf) {
    run<at::Half>(x.data_ptr());
  } else {
    run<float>(x.data_ptr());
  }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scale", &scale);
  m.def("shift", &shift);
}
)",
         .alias = "raw-cast"},
    .check = check,
};

}  // namespace dtypecheck::analyzer
