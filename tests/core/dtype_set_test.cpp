#include "core/dtype_set.h"

#include <catch2/catch.hpp>

#include "core/dtype_spellings.h"

namespace dtypecheck {
namespace {

TEST_CASE("every dtype parses from the name it prints") {
  for (unsigned number = 0; number < 64; ++number) {
    const Dtype dtype = static_cast<Dtype>(number);
    INFO(dtype_name(dtype));
    CHECK(parse_dtype(dtype_name(dtype)) == dtype);
  }
  CHECK(dtype_name(static_cast<Dtype>(50)) == "dtype#50");
}

TEST_CASE("names of torch and of C++") {
  CHECK(parse_dtype("float16") == Dtype::kHalf);
  CHECK(parse_dtype("torch.float16") == Dtype::kHalf);
  CHECK(parse_dtype("torch.half") == Dtype::kHalf);
  CHECK(parse_dtype("c10::Half") == Dtype::kHalf);
  CHECK(parse_dtype("::c10::Half") == Dtype::kHalf);
  CHECK(parse_dtype("at::kHalf") == Dtype::kHalf);
  CHECK(parse_dtype("torch::kFloat16") == Dtype::kHalf);
  CHECK(parse_dtype("at::ScalarType::BFloat16") == Dtype::kBFloat16);
  CHECK(parse_dtype("at::kBFloat16") == Dtype::kBFloat16);
  CHECK(parse_dtype("torch::kUInt8") == Dtype::kByte);
  CHECK(parse_dtype("float") == Dtype::kFloat);
  CHECK(parse_dtype("double") == Dtype::kDouble);
  CHECK(parse_dtype("int64_t") == Dtype::kLong);
  CHECK(parse_dtype("c10::complex<float>") == Dtype::kComplexFloat);
}

TEST_CASE("names that torch cuts short") {
  for (const auto& [text, dtype] :
       std::map<std::string, Dtype>{{"bf16", Dtype::kBFloat16},
                                    {"f16", Dtype::kHalf},
                                    {"f32", Dtype::kFloat},
                                    {"f64", Dtype::kDouble},
                                    {"i32", Dtype::kInt},
                                    {"i64", Dtype::kLong},
                                    {"u8", Dtype::kByte},
                                    {"c64", Dtype::kComplexFloat},
                                    {"f8e4m3fn", Dtype::kFloat8_e4m3fn}}) {
    INFO(text);
    CHECK(parse_dtype_abbreviation(text) == dtype);
  }
  for (const char* text : {"", "f", "f31", "bf", "float32", "F32", "f8_e4m3fn"}) {
    INFO(text);
    CHECK_FALSE(parse_dtype_abbreviation(text));
  }
}

TEST_CASE("methods that cast") {
  std::string all;
  for (const DtypeNames& names : kDtypeNames)
    if (const std::string method = cast_method(names); !method.empty()) all += method + " ";
  CHECK(all == "byte char short int long half float double bool bfloat16 ");
}

TEST_CASE("names of people and compilers, in any case") {
  CHECK(parse_dtype_in_words("fp16") == Dtype::kHalf);
  CHECK(parse_dtype_in_words("HALF") == Dtype::kHalf);
  CHECK(parse_dtype_in_words("bfloat16") == Dtype::kBFloat16);
  CHECK(parse_dtype_in_words("torch.BF16") == Dtype::kBFloat16);
  CHECK(parse_dtype_in_words("unsigned char") == Dtype::kByte);
  CHECK(parse_dtype_in_words("byte") == Dtype::kByte);
  CHECK(parse_dtype_in_words("complexhalf") == Dtype::kComplexHalf);
  CHECK_FALSE(parse_dtype_in_words("undefined").has_value());
  CHECK_FALSE(parse_dtype_in_words("windows").has_value());
  CHECK_FALSE(parse_dtype_in_words("").has_value());
}

TEST_CASE("names as Python and C++ print them parse, too") {
  CHECK(torch_dtype(Dtype::kHalf) == "torch.float16");
  CHECK(torch_dtype(Dtype::kLong) == "torch.int64");
  CHECK(cpp_type(Dtype::kBFloat16) == "c10::BFloat16");
  CHECK(cpp_type(Dtype::kFloat) == "float");
  CHECK(cpp_type(Dtype::kBool) == "bool");
  for (const Dtype dtype : {Dtype::kHalf, Dtype::kBFloat16, Dtype::kFloat, Dtype::kDouble}) {
    CHECK(parse_dtype(torch_dtype(dtype)) == dtype);
    CHECK(parse_dtype(cpp_type(dtype)) == dtype);
  }
}

TEST_CASE("promotion of floating dtypes") {
  CHECK(promoted(DtypeSet(Dtype::kHalf) | Dtype::kFloat) == Dtype::kFloat);
  CHECK(promoted(DtypeSet(Dtype::kHalf) | Dtype::kBFloat16) == Dtype::kFloat);
  CHECK(promoted(DtypeSet(Dtype::kBFloat16) | Dtype::kDouble) == Dtype::kDouble);
  CHECK(promoted(Dtype::kHalf) == Dtype::kHalf);
  CHECK(promoted(DtypeSet(Dtype::kHalf) | Dtype::kLong) == std::nullopt);
  CHECK(promoted(Dtype::kFloat8_e4m3fn) == std::nullopt);
  CHECK(promoted({}) == std::nullopt);
}

TEST_CASE("what is no dtype") {
  for (const char* text :
       {"", "k", "kk", "float17", "torch.", "dtype#", "dtype#64", "dtype#-1", "half ", "HALF"}) {
    INFO(text);
    CHECK_FALSE(parse_dtype(text).has_value());
  }
}

TEST_CASE("sizes") {
  CHECK(dtype_size_bytes(Dtype::kHalf) == 2);
  CHECK(dtype_size_bytes(Dtype::kComplexDouble) == 16);
  CHECK(dtype_size_bytes(Dtype::kFloat8_e4m3fn) == 1);
  CHECK(dtype_size_bytes(static_cast<Dtype>(50)) == 0);
}

TEST_CASE("sets") {
  const DtypeSet both = DtypeSet(Dtype::kHalf) | Dtype::kFloat;
  CHECK(both.size() == 2);
  CHECK(both.to_string() == "Half|Float");
  CHECK(DtypeSet().to_string().empty());
  CHECK_FALSE(both.single().has_value());
  CHECK(DtypeSet(Dtype::kUndefined).single() == Dtype::kUndefined);
  CHECK(both.mixes(kLowPrecision, Dtype::kFloat));
  CHECK_FALSE(DtypeSet(Dtype::kHalf).mixes(kLowPrecision, Dtype::kFloat));
  CHECK(both.within(kFloating));
  CHECK_FALSE(DtypeSet().within(kFloating));
  CHECK((both - Dtype::kHalf) == Dtype::kFloat);
}

}  // namespace
}  // namespace dtypecheck
