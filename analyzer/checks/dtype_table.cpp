// Finds: a dtype mapped to a name of another one: a text that says another dtype, an enumerator of
// the same size that says another kind, sign or format. Silent on names of another size, which may
// stand for what a library lacks, and on Bool, which others keep in a byte.
#include <fmt/format.h>

#include "analyzer/check.h"
#include "core/dtype_names.h"

namespace dtypecheck::analyzer {

static void check(const SourceFacts& facts, CheckFindings& out) {
  for (const TableEntry& entry : facts.table_entries) {
    const DtypeNames* dtype = names_of(entry.dtype);
    const DtypeNames* named = names_of(entry.named);
    if (dtype == nullptr || named == nullptr) continue;
    out.add(dtype_table, Severity::kError, entry.place, entry.function,
            fmt::format("{} stands for {}, and its name says {}", entry.name, dtype->name,
                        named->name));
  }
}

extern const Check dtype_table = {
    .doc = {.id = "dtype-table",
            .severity = Severity::kError,
            .summary = "a table maps a dtype to the name of another one",
            .why = "What is read by the name has other bits than the tensor: the numbers are "
                   "wrong, and nothing refuses them.",
            .fix = "Name the dtype itself on both sides.",
            .example = R"(#include <torch/torch.h>

#include <string>

at::ScalarType parse(const std::string& name) {
  if (name == "float16" || name == "half") return at::kHalf;
  if (name == "bfloat16") return at::kHalf;
  // EXPECT error: bfloat16 stands for Half, and its name says BFloat16 [dtype-table]
  return at::kFloat;
}
)"},
    .check = check,
};

}  // namespace dtypecheck::analyzer
