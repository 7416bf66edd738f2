// Finds: the untyped data_ptr() of a tensor cast to a type that its dtype was not compared with, in
// the function or in those of the same file that call it.
// Also one that is handed on without a type, to a function or a field whose reader is not seen.
// Misses: fields whose reader is in another file, where the dtype was asked for. Silent on purpose:
// casts to bytes and to vectors that are used to copy, the bits of a number, what is made of bytes;
// tensors that were made here; template parameters that only a caller knows. The type of a dispatch
// is dispatched-raw-cast's, the last branch of a chain dtype-branch's.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

// Bits of a number, as unsigned integers of its size or of a few at once; bytes that a buffer was
// made of, or that packed values are kept in.
static bool is_of_storage(const Read& read) {
  constexpr DtypeSet kUnsigned =
      DtypeSet(Dtype::kUInt16) | Dtype::kUInt32 | Dtype::kUInt64 | Dtype::kByte;
  const auto dtype = read.tensor.dtypes.single();
  if (dtype && (DtypeSet(Dtype::kByte) | Dtype::kChar).contains(*dtype)) return true;
  const DtypeSet bits = read.accepts & kUnsigned;
  return dtype && bits.single() && dtype_size_bytes(*dtype) <= dtype_size_bytes(*bits.single());
}

// What reads the pointer is not seen: it is reported where nothing says what the tensor is.
static void check_handed_on(const SourceFacts& facts, CheckFindings& out) {
  std::vector<const Read*> handed_on;
  for (const Read& read : facts.reads) {
    const bool is_open = read.how == ReadAs::kHandedOn && read.tensor.is_unchecked();
    if (is_open && !is_lent(&read)) handed_on.push_back(&read);
  }
  for (const ReadGroup& group : by_function(handed_on)) {
    const bool is_bound = group.first->callers == Callers::kBound;
    Finding& finding =
        out.add(raw_cast, is_bound ? Severity::kWarning : Severity::kNote, group,
                fmt::format("{} {} handed on as an untyped pointer, and nothing looks at the dtype",
                            names_of(group), is_or_are(group)));
    finding.fix = fmt::format(
        "TORCH_CHECK({0}.scalar_type() == ..., ...) before the pointer is taken, for each dtype "
        "that its reader is written for.",
        group.first->tensor.name);
  }
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  check_handed_on(facts, out);
  std::vector<const Read*> unchecked;
  for (const Read& read : facts.reads) {
    if (read.how != ReadAs::kCast || read.accepts.empty() || read.in_dispatch) continue;
    if (read.tensor.is_unchecked())
      unchecked.push_back(&read);
    else if (!is_of_storage(read))
      add_known_mismatch(raw_cast, read, out);
  }
  for (const BitCast& cast : facts.bit_casts) {
    if (cast.is_other_size) {
      out.add(raw_cast, Severity::kWarning, cast.place, cast.function,
              fmt::format("{} is {} in an instantiation, of which {} reads some bits", cast.name,
                          cast.from, cast.to));
    } else {
      out.add(raw_cast, Severity::kNote, cast.place, cast.function,
              fmt::format("the bits of {} are read as {}, whatever type the template has",
                          cast.name, cast.to));
    }
  }
  for (const ReadGroup& group : by_function(unchecked)) {
    const bool is_bound = group.first->callers == Callers::kBound;
    const Severity severity = std::ranges::all_of(group.all, is_lent) ? Severity::kNote
                              : is_bound                              ? Severity::kError
                                                                      : Severity::kWarning;
    Finding& finding = out.add(
        raw_cast, severity, group,
        fmt::format("{} {} cast to {} from an untyped pointer, and nothing compares the dtype",
                    names_of(group), is_or_are(group), types_of(group)));
    if (const auto dtype = one_dtype_of(group); dtype && *dtype != Dtype::kHalf) {
      finding.fix = fmt::format(
          "TORCH_CHECK({0}.scalar_type() == at::k{1}, ...) before the cast; or take the pointer "
          "with its type, {0}.data_ptr<T>(), which throws on another dtype.",
          group.first->tensor.name, dtype_name(*dtype));
    }
    add_dtype_checks(finding, group);
  }
}

extern const Check raw_cast = {
    .doc = {.id = "raw-cast",
            .severity = Severity::kError,
            .summary =
                "an untyped data_ptr() is cast to a type that nothing compares with the dtype",
            .why =
                "A tensor of another dtype is not refused: its bytes are read as the wrong type, "
                "and the numbers are garbage without a message.",
            .fix =
                "Take the pointer with its type, x.data_ptr<at::Half>(), which throws on another "
                "dtype; or TORCH_CHECK(x.scalar_type() == at::kHalf, ...) before the cast.",
            .example = R"(#include <torch/extension.h>
#include <cuda_fp16.h>

void scale_kernel(__half* x, float* w);

void scale(at::Tensor x, at::Tensor w) {
  TORCH_CHECK(w.scalar_type() == at::kFloat, "w must be Float");
  scale_kernel(reinterpret_cast<__half*>(x.data_ptr()), reinterpret_cast<float*>(w.data_ptr()));
  // EXPECT error: x is cast to __half from an untyped pointer, and nothing compares the dtype [raw-cast]
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
)"},
    .check = check,
};

}  // namespace dtypecheck::analyzer
