// Finds: item<T>() of a tensor whose dtype is known and does not fit into T: an int64 sum read as
// int, a Double read as float, a Float cast to Half just to read one number of it, an int64 sum
// that is cast to Int first. Silent on purpose: tensors of a dtype that nobody knows, which
// item<T>() converts; positions and counts of elements, beyond int in larger tensors than there
// are.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

// item<int>() checks the range and throws; item<float>() of a Double rounds without a word.
static bool loses(Dtype dtype, DtypeSet to) {
  const DtypeSet narrow_integers =
      DtypeSet(Dtype::kInt) | Dtype::kShort | Dtype::kUInt32 | Dtype::kUInt16;
  if (dtype == Dtype::kLong) return to.within(narrow_integers) && !to.contains(Dtype::kLong);
  if (dtype == Dtype::kDouble) return to.within(DtypeSet(Dtype::kFloat) | kLowPrecision);
  if (dtype == Dtype::kFloat) return to.within(kLowPrecision);
  return false;
}

// count.to(at::kInt).item<int>(): what did not fit was lost in the cast.
static bool report_cast(const Read& read, CheckFindings& out) {
  const DtypeSet to = read.tensor.dtypes;
  const auto from = read.tensor.cast_from.single();
  const bool cuts =
      from && kFloating.contains(*from) && to.within(kIntegral) && read.accepts.within(kFloating);
  if (!from || !to.single() || !(cuts || loses(*from, to))) return false;
  if (read.tensor.is_position) return true;
  const bool wraps = *from == Dtype::kLong;
  Finding& finding = out.add(scalar_item, wraps || cuts ? Severity::kWarning : Severity::kNote,
                             read.place, read.function,
                             fmt::format("{} is {}, cast to {}, which {}", read.tensor.name,
                                         dtype_name(*from), to.to_string(),
                                         cuts    ? "drops what is behind the point"
                                         : wraps ? "wraps what does not fit"
                                                 : "rounds it"));
  if (cuts) finding.fix = "Leave the cast out.";
  if (cuts) finding.why = "A cast to an integral dtype cuts off fractions without a word.";
  add_places(finding, read);
  return true;
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  for (const Read& read : facts.reads) {
    if (read.how != ReadAs::kItem || report_cast(read, out)) continue;
    const auto dtype = read.tensor.dtypes.single();
    if (!dtype || !loses(*dtype, read.accepts) || read.tensor.is_position) continue;
    const bool throws = *dtype == Dtype::kLong;
    Finding& finding = out.add(
        scalar_item, throws ? Severity::kWarning : Severity::kNote, read.place, read.function,
        fmt::format("{} is {}, and item<{}>() {}", read.tensor.name, read.tensor.dtypes.to_string(),
                    read.type, throws ? "throws on what does not fit" : "rounds it"));
    add_places(finding, read);
  }
}

extern const Check scalar_item = {
    .doc = {.id = "scalar-item",
            .severity = Severity::kWarning,
            .summary = "item<T>() of a tensor whose dtype does not fit into T",
            .why = "A sum or a count in int64 is beyond int on large inputs: value cannot be "
                   "converted to type int without overflow.",
            .fix =
                "Read it in its own dtype, item<int64_t>(), and narrow where the range is known.",
            .example = R"(#include <torch/extension.h>

int64_t edges(at::Tensor degree) {
  const at::Tensor total = degree.to(at::kLong).sum();
  const int narrow = total.item<int>();
  // EXPECT warning: total is Long, and item<int>() throws on what does not fit [scalar-item]
  const int64_t wide = total.item<int64_t>();
  return narrow + wide + degree.item<int>();
}
)"},
    .check = check,
};

}  // namespace dtypecheck::analyzer
