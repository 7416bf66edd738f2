// Finds: `long` or `long long` written as the element type of a tensor. Silent on int64_t, also
// where that is a name for one of them, and on pointers that are cast to `long long`.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static void check(const SourceFacts& facts, CheckFindings& out) {
  for (const Read& read : facts.reads) {
    if (!read.is_written_long) continue;
    const bool is_longer = read.type.find("long long") != std::string::npos;
    Finding& finding = out.add(
        long_for_int64, Severity::kWarning, read.place, read.function,
        fmt::format("{} is read as {}, which {}; Long tensors are int64_t", read.tensor.name,
                    read.type,
                    is_longer ? "is no type of a dtype on Linux" : "has 32 bits on Windows"));
    if (read.type == "long") add_replacement(finding, read.type_place, "long", "int64_t");
  }
  for (const LongElement& element : facts.long_elements) {
    Finding& finding =
        out.add(long_for_int64, Severity::kWarning, element.place, element.function,
                fmt::format("{} of long, which has 32 bits on Windows; Long tensors are int64_t",
                            element.type));
    add_replacement(finding, element.type_place, "long", "int64_t");
  }
}

extern const Check long_for_int64 = {
    .doc = {.id = "long-for-int64",
            .severity = Severity::kWarning,
            .summary = "long for the elements of an int64 tensor",
            .why = "long has 64 bits on Linux and 32 on Windows, where the extension does not "
                   "compile, or does not link. With long long it is the other way round: on Linux "
                   "LibTorch has no data_ptr<long long>().",
            .fix = "Write int64_t: index.data_ptr<int64_t>().",
            .example = R"(#include <torch/extension.h>

int64_t first(at::Tensor index) {
  TORCH_CHECK(index.scalar_type() == at::kLong);
  long* wrong = index.data_ptr<long>();
  // EXPECT warning: index is read as long, which has 32 bits on Windows; Long tensors are int64_t [long-for-int64]
  int64_t* right = index.data_ptr<int64_t>();
  return wrong[0] + right[0];
}
)"},
    .check = check,
    .scope = Scope::kFile,
};

}  // namespace dtypecheck::analyzer
