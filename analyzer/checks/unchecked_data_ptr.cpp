// Finds: typed pointers and accessors of a fixed type on parameters whose dtype nobody compared.
// One finding a function. A note for indices, and where callers that are not seen may check.
// Silent on purpose: item<T>(), which converts; bytes; tensors made here.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static bool is_of_fixed_type(const Read& read) {
  return read.is_typed() && !read.in_dispatch && (!read.accepts.empty() || read.is_of_class);
}

static bool reads_floats(const ReadGroup& group) {
  return std::ranges::any_of(group.all,
                             [](const Read* read) { return read->accepts.intersects(kFloating); });
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  std::vector<const Read*> unchecked;
  for (const Read& read : facts.reads) {
    if (!is_of_fixed_type(read)) continue;
    if (read.tensor.is_unchecked())
      unchecked.push_back(&read);
    else
      add_known_mismatch(unchecked_data_ptr, read, out);
  }
  for (const ReadGroup& group : by_function(unchecked)) {
    const Read& read = *group.first;
    // What a TorchScript program returns nobody but the reader can look at.
    const bool is_answer = std::ranges::any_of(
        group.all, [](const Read* one) { return one->tensor.source == TensorSource::kProgram; });
    const bool warns = (read.callers == Callers::kBound || is_answer) && reads_floats(group);
    Finding& finding = out.add(
        unchecked_data_ptr, warns ? Severity::kWarning : Severity::kNote, group,
        fmt::format("{} {} read as {}, and nothing says that {} of that dtype", names_of(group),
                    is_or_are(group), types_of(group), is_one_name(group) ? "it is" : "they are"));
    if (!reads_floats(group)) {
      const bool is_long = read.accepts == DtypeSet(Dtype::kLong);
      finding.why = fmt::format(
          "A tensor of another integral dtype throws deep inside: expected scalar type {} but "
          "found {}, with neither the op nor the argument named.",
          is_long ? "Long" : "Int", is_long ? "Int" : "Long");
    }
    // `x` of the check's document may be another tensor here.
    const bool is_one_dtype = read.accepts.single().has_value() && !read.tensor.name.empty();
    if (is_one_dtype)
      finding.fix = fmt::format(
          "TORCH_CHECK({0}.scalar_type() == at::k{1}, \"{0} must be {1}, got \", "
          "{0}.scalar_type()) where the tensor comes in{2}{3}.",
          read.tensor.name, dtype_name(*read.accepts.single()),
          is_one_name(group) ? "" : ", and the same of the others",
          reads_floats(group) ? "; or dispatch on the dtype" : "");
    add_dtype_checks(finding, group);
  }
}

extern const Check unchecked_data_ptr = {
    .doc = {.id = "unchecked-data-ptr",
            .severity = Severity::kWarning,
            .summary =
                "a typed pointer of a fixed type on a parameter whose dtype nothing compares",
            .why =
                "Under autocast, or on a half model, it throws deep inside: expected scalar type "
                "Float but found Half, with neither the op nor the argument named.",
            .fix = "TORCH_CHECK(x.scalar_type() == at::kFloat, \"x must be Float, got \", "
                   "x.scalar_type()) where the tensor comes in, or dispatch on its dtype.",
            .example = R"(#include <torch/extension.h>

void run(const float* points, const float* mask);

void query(at::Tensor points, at::Tensor mask) {
  TORCH_CHECK(points.dtype() == at::kFloat && points.is_contiguous());
  run(points.data_ptr<float>(), mask.data_ptr<float>());
  // EXPECT warning: mask is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("query", &query); }
)"},
    .check = check,
    .scope = Scope::kFile,
};

}  // namespace dtypecheck::analyzer
