// The table of dtypes against the header of the LibTorch that is installed: the same numbers, names
// and sizes, and none of its dtypes without a row.
#include "core/dtype_names.h"

#include <c10/core/ScalarType.h>

#include <catch2/catch.hpp>
#include <set>
#include <string_view>

#include "core/precision_words.h"

namespace dtypecheck {

static DtypeKind kind_of(c10::ScalarType type) {
  if (type == c10::ScalarType::Bool) return DtypeKind::kBool;
  if (c10::isIntegralType(type, /*includeBool=*/false)) return DtypeKind::kIntegral;
  if (c10::isFloatingType(type)) return DtypeKind::kFloating;
  return c10::isComplexType(type) ? DtypeKind::kComplex : DtypeKind::kOther;
}

static void check_row(c10::ScalarType type, const std::string& name, size_t size_bytes) {
  INFO(name);
  const DtypeNames* names = names_of(static_cast<Dtype>(type));
  REQUIRE(names != nullptr);
  CHECK(names->name == name);
  CHECK(names->kind == kind_of(type));
  CHECK(static_cast<size_t>(names->size_bytes) == size_bytes);
}

TEST_CASE("every dtype of LibTorch has its row"){
#define DTYPECHECK_CHECK_ROW(type, name) check_row(c10::ScalarType::name, #name, sizeof(type));
    AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(DTYPECHECK_CHECK_ROW)
#undef DTYPECHECK_CHECK_ROW
}

TEST_CASE("rows are distinguished, and Python's names lead to them") {
  uint64_t seen = 0;
  for (const DtypeNames& names : kDtypeNames) {
    INFO(names.name);
    CHECK((seen & dtype_bit(names.dtype)) == 0);
    seen |= dtype_bit(names.dtype);
    CHECK(dtype_of_torch(names.torch) == names.dtype);
  }
  CHECK(dtype_of_torch("float17") == Dtype::kUndefined);
}

TEST_CASE("settings spell 16 bits in many ways") {
  for (const char* half :
       {"fp16", "16", "16-true", "16-mixed", "torch.float16", "FLOAT_16", "half", "pure_fp16"})
    CHECK(precision_in(half) == Dtype::kHalf);
  for (const char* brain :
       {"bf16", "bf16-true", "torch.bfloat16", "BFLOAT_16", "amp_bf16", "bfp16"})
    CHECK(precision_in(brain) == Dtype::kBFloat16);
  for (const char* none : {"", "no", "fp32", "32", "160", "fp160", "float", "vit-b-16", "halfway"})
    CHECK(precision_in(none) == Dtype::kUndefined);
  for (const char* weights :
       {"--full-bf16", "precision=bf16-true", "--pure_fp16=True", "--dtype bfloat16",
        "--precision bf16", "--model_weight_dtype=float16"})
    CHECK(asks_for_low_weights(weights));
  for (const char* other :
       {"--bf16", "precision=16-mixed", "amp_bf16", "--full_precision", "--full",
        "--mixed_precision bf16", "--amp-dtype bfloat16", "--dtype float32"})
    CHECK_FALSE(asks_for_low_weights(other));
}

TEST_CASE("each word of a precision stands once in the list, in the case that is compared") {
  std::set<std::string_view> seen;
  for (const PrecisionWord& one : kPrecisionWords) {
    INFO(one.word);
    CHECK(seen.insert(one.word).second);
    CHECK(one.word.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string_view::npos);
    const bool is_low = (dtype_bit(one.dtype) & kLowPrecisionBits) != 0;
    CHECK(precision_in(one.word) == (is_low ? one.dtype : Dtype::kUndefined));
  }
}

}  // namespace dtypecheck
