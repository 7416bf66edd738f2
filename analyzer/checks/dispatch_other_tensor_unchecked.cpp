// Finds: inside a dispatch on one tensor, scalar_t pointers and accessors of another one whose
// dtype is compared with nothing. One finding a dispatch.
// Also of a tensor that is made here with the options of another one. Misses: fields that are made
// equal elsewhere. Silent on purpose: tensors made like the dispatched one, or compared with it.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

// Buffers that the caller allocates for the op to fill, as a rule like its inputs.
static bool is_named_as_output(const Read& read) {
  const std::string& name = read.tensor.name;
  return name.starts_with("out") || name.starts_with("grad_") || name.starts_with("result") ||
         name.starts_with("d_");
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  std::vector<const Read*> others;
  for (const Read& read : facts.reads) {
    if (!read.is_of_other_tensor()) continue;
    const bool is_like_other = !read.tensor.like.empty() && !read.tensor.looked_at;
    if (read.tensor.is_undetermined() || is_like_other) others.push_back(&read);
  }
  for (const ReadGroup& group : by_function(others)) {
    const Read& read = *group.first;
    const bool outputs =
        std::ranges::all_of(group.all, [](const Read* one) { return is_named_as_output(*one); });
    const std::string& dispatched = read.dispatched.name;
    out.add(
        dispatch_other_tensor_unchecked, outputs ? Severity::kNote : Severity::kWarning, group,
        fmt::format("{} {} read as the dtype of {}, and nothing says that {} it", names_of(group),
                    is_or_are(group), dispatched.empty() ? "the dispatched tensor" : dispatched,
                    is_one_name(group) ? "it has" : "they have"));
  }
}

extern const Check dispatch_other_tensor_unchecked = {
    .doc = {.id = "dispatch-other-tensor-unchecked",
            .severity = Severity::kWarning,
            .summary = "inside a dispatch on one tensor, another one is read as the same dtype",
            .why = "Autocast gives half activations beside float weights: the pointer throws "
                   "expected scalar type Half but found Float, with neither op nor argument named.",
            .fix = "TORCH_CHECK(weight.scalar_type() == x.scalar_type(), ...) before the dispatch, "
                   "or bring it to that dtype: weight = weight.to(x.scalar_type()).",
            .example = R"(#include <torch/extension.h>

template <typename T>
void run(const T* value, const T* grid, T* out);

at::Tensor sample(at::Tensor value, at::Tensor grid) {
  at::Tensor out = at::empty_like(value);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, value.scalar_type(), "sample", [&] {
    run(value.data_ptr<scalar_t>(), grid.data_ptr<scalar_t>(), out.data_ptr<scalar_t>());
    // EXPECT warning: grid is read as the dtype of value, and nothing says that it has it [dispatch-other-tensor-unchecked]
  });
  return out;
}

at::Tensor sample_same(at::Tensor value, at::Tensor grid) {
  TORCH_CHECK(value.scalar_type() == grid.scalar_type());
  at::Tensor out = at::empty_like(value);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, value.scalar_type(), "sample", [&] {
    run(value.data_ptr<scalar_t>(), grid.data_ptr<scalar_t>(), out.data_ptr<scalar_t>());
  });
  return out;
}
)"},
    .check = check,
    .scope = Scope::kFile,
};

}  // namespace dtypecheck::analyzer
