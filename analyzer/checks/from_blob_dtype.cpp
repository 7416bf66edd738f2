// Finds: from_blob() of a buffer whose elements have another type than the tensor gets, or of one
// that is not Float without a dtype. Silent on bytes, unsigned integers, 16 bits that a Half or
// BFloat16 may lie in, and pointers to void, whose elements nobody knows.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static void check(const SourceFacts& facts, CheckFindings& out) {
  for (const WrappedBuffer& buffer : facts.buffers) {
    Finding& finding =
        out.add(from_blob_dtype, Severity::kError, buffer.place, buffer.function,
                fmt::format("a buffer of {} becomes a tensor of {}{}", buffer.element,
                            buffer.dtype.to_string(),
                            buffer.is_default ? ", as from_blob is given no dtype" : ""));
    const auto stored = buffer.stored.single(), meant = buffer.dtype.single();
    if (stored && meant)
      finding.fix = fmt::format(
          "Give the dtype of the elements, and cast the tensor: "
          "torch::from_blob(data, sizes, torch::k{}).to(torch::k{}).",
          dtype_name(*stored), dtype_name(*meant));
  }
}

extern const Check from_blob_dtype = {
    .doc = {.id = "from-blob-dtype",
            .severity = Severity::kError,
            .summary = "from_blob reads a buffer as another type than it holds",
            .why = "from_blob takes the bytes as they are: the numbers are wrong, and where the "
                   "dtype is wider, memory behind the buffer is read.",
            .fix = "Give the dtype of the elements: torch::from_blob(data, sizes, torch::kInt); "
                   "cast the tensor afterwards.",
            .example = R"(#include <torch/torch.h>

#include <vector>

at::Tensor board(std::vector<int>& cells, std::vector<float>& scores) {
  at::Tensor scored = torch::from_blob(scores.data(), {8, 8});
  at::Tensor taken = torch::from_blob(cells.data(), {8, 8}, torch::kInt);
  return torch::from_blob(cells.data(), {8, 8}, torch::kLong);
  // EXPECT error: a buffer of int becomes a tensor of Long [from-blob-dtype]
}
)"},
    .check = check,
};

}  // namespace dtypecheck::analyzer
