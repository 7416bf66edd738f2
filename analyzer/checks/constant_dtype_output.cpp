// Finds: a tensor that the function makes with a fixed dtype and then reads as the type of a
// dispatch on another tensor. Local data flow only.
#include <fmt/format.h>

#include <map>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

// It stands where the tensor is made, which is what must change; the reads are further places.
static void check(const SourceFacts& facts, CheckFindings& out) {
  std::map<Place, Finding*> found;
  for (const Read& read : facts.reads) {
    const bool is_made = read.tensor.source == TensorSource::kMade;
    const bool is_other = read.is_of_other_tensor() || read.is_cast_as_other_tensor();
    if (!is_other || !is_made || !read.tensor.dtypes.single()) continue;
    const Place& place = read.tensor.place.line > 0 ? read.tensor.place : read.place;
    Finding*& finding = found[place];
    const std::string& dispatched = read.dispatched.name;
    if (finding == nullptr) {
      finding = &out.add(constant_dtype_output, Severity::kError, place, read.function,
                         fmt::format("{} is made {}, and read as the dtype of {}", read.tensor.name,
                                     read.tensor.dtypes.to_string(),
                                     dispatched.empty() ? "the dispatched tensor" : dispatched));
    }
    add_place(*finding, read.place, fmt::format("{} as {}", read.tensor.name, read.type));
  }
}

extern const Check constant_dtype_output = {
    .doc = {.id = "constant-dtype-output",
            .severity = Severity::kError,
            .summary = "a tensor is made with a fixed dtype and read as scalar_t",
            .why = "With an input of any other dtype the pointer throws expected scalar type Half "
                   "but found Float.",
            .fix = "Make it like the input: at::empty(sizes, x.options()).",
            .example = R"(#include <torch/extension.h>

template <typename T>
void run(const T* x, T* out);

at::Tensor scale(at::Tensor x) {
  at::Tensor fixed = at::empty(x.sizes(), at::kFloat);
  // EXPECT error: fixed is made Float, and read as the dtype of x [constant-dtype-output]
  at::Tensor like = at::empty(x.sizes(), x.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scale", [&] {
    run(x.data_ptr<scalar_t>(), fixed.data_ptr<scalar_t>());
    run(x.data_ptr<scalar_t>(), like.data_ptr<scalar_t>());
  });
  return fixed;
}
)",
            .alias = "dispatch-other-tensor-unchecked"},
    .check = check,
};

}  // namespace dtypecheck::analyzer
