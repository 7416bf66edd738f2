// Finds: a dtype mapped to a name of another one: a text that says another dtype, an enumerator of
// the same size that says another kind, sign or format. Silent on names of another size, which may
// stand for what a library lacks, and on Bool, which others keep in a byte.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/check.h"
#include "core/dtype_names.h"

namespace dtypecheck::analyzer {

static void add_gap(const DtypeTable& table, Dtype has, Dtype lacks, Severity severity,
                    const std::string& because, CheckFindings& out) {
  const auto key =
      std::ranges::find_if(table.keys, [&](const TableKey& one) { return one.dtype == has; });
  const Place& place = key == table.keys.end() ? table.keys.back().place : key->place;
  Finding& finding = out.add(
      dtype_table, severity, place, table.function,
      fmt::format("this table has {} and no {}{}", dtype_name(has), dtype_name(lacks), because));
  finding.why =
      "Tensors of the dtype that is missing are refused, or get what the table gives to "
      "what it does not know.";
  finding.fix = fmt::format("Add {}, or refuse it by name.", dtype_name(lacks));
}

// Another table of the file that has all of these dtypes, and more.
static DtypeSet more_elsewhere(const SourceFacts& facts, DtypeSet dtypes) {
  constexpr DtypeSet kUsual =
      kLowPrecision | Dtype::kFloat | Dtype::kDouble | Dtype::kLong | Dtype::kInt | Dtype::kBool;
  DtypeSet more;
  for (const DtypeTable& other : facts.tables) {
    const DtypeSet theirs = other.dtypes();
    if (dtypes.within(theirs)) more |= (theirs - dtypes) & kUsual;
  }
  return more;
}

static void check_gaps(const SourceFacts& facts, CheckFindings& out) {
  for (const DtypeTable& table : facts.tables) {
    const DtypeSet dtypes = table.dtypes();
    if (!dtypes.contains(Dtype::kFloat)) continue;
    if (dtypes.contains(Dtype::kHalf) && !dtypes.contains(Dtype::kBFloat16)) {
      const bool is_known = facts.project_names_bfloat16;
      add_gap(table, Dtype::kHalf, Dtype::kBFloat16,
              is_known ? Severity::kWarning : Severity::kNote,
              is_known ? ", which its project has elsewhere" : "", out);
    }
    const DtypeSet more = more_elsewhere(facts, dtypes);
    if (dtypes.contains(Dtype::kInt) && !dtypes.contains(Dtype::kLong)) {
      add_gap(table, Dtype::kInt, Dtype::kLong, Severity::kNote, "", out);
    } else if (more.contains(Dtype::kLong)) {
      add_gap(table, table.keys.back().dtype, Dtype::kLong, Severity::kNote,
              ", which another table of this file has", out);
    }
  }
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  check_gaps(facts, out);
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
