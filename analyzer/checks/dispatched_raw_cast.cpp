// Finds: inside a dispatch on one tensor, the untyped pointer of another one cast to the type of
// the case. Misses and silent on purpose: as raw-cast; memory that the caller lends.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static void check(const SourceFacts& facts, CheckFindings& out) {
  std::vector<const Read*> others;
  for (const Read& read : facts.reads) {
    const bool is_other = read.is_cast_as_other_tensor() && read.tensor.is_unchecked();
    if (is_other && !is_lent(&read)) others.push_back(&read);
  }
  for (const ReadGroup& group : by_function(others)) {
    const std::string& dispatched = group.first->dispatched.name;
    Finding& finding = out.add(
        dispatched_raw_cast,
        group.first->callers == Callers::kBound ? Severity::kError : Severity::kWarning, group,
        fmt::format("{} {} cast to the type of {} from an untyped pointer, and nothing says that "
                    "{} its dtype",
                    names_of(group), is_or_are(group),
                    dispatched.empty() ? "the dispatched tensor" : dispatched,
                    is_one_name(group) ? "it has" : "they have"));
    add_checks_of_equality(finding, group);
  }
}

extern const Check dispatched_raw_cast = {
    .doc = {.id = "dispatched-raw-cast",
            .severity = Severity::kError,
            .summary = "inside a dispatch on one tensor, an untyped data_ptr() of another one is "
                       "cast to the same type",
            .why = "Autocast gives half activations beside float weights, and a cast refuses "
                   "nothing: the bytes are read as the wrong type, and the numbers are garbage "
                   "without a message.",
            .fix = "TORCH_CHECK(k.scalar_type() == q.scalar_type(), ...) before the cast, or "
                   "k.data_ptr<scalar_t>(), which throws on another dtype.",
            .example = R"(#include <torch/extension.h>

template <typename T>
void run(const T* q, const T* k);

void attend(at::Tensor q, at::Tensor k, at::Tensor workspace) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, q.scalar_type(), "attend", [&] {
    run(static_cast<scalar_t*>(q.data_ptr()), static_cast<scalar_t*>(k.data_ptr()));
    // EXPECT error: k is cast to the type of q from an untyped pointer, and nothing says that it has its dtype [dispatched-raw-cast]
    run(static_cast<scalar_t*>(q.data_ptr()), static_cast<scalar_t*>(workspace.data_ptr()));
  });
}

void attend_alike(at::Tensor q, at::Tensor k) {
  TORCH_CHECK(q.scalar_type() == k.scalar_type());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, q.scalar_type(), "attend", [&] {
    run(static_cast<scalar_t*>(q.data_ptr()), static_cast<scalar_t*>(k.data_ptr()));
  });
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("attend", &attend); }
)",
            .alias = "dispatch-other-tensor-unchecked"},
    .check = check,
};

}  // namespace dtypecheck::analyzer
