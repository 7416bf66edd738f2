// dtype_names.h: what LibTorch, Python and C++ call each dtype, its kind and its size; settings
// have words of their own (precision_words.inc). C++17 and plain. tests/core holds it to LibTorch.
#pragma once

#include <string_view>

#include "core/dtype.h"

namespace dtypecheck {

// As c10::isFloatingType() and its like have it. kOther: quantized, bits, integers below a byte.
enum class DtypeKind { kIntegral, kBool, kFloating, kComplex, kOther };

struct DtypeNames {
  Dtype dtype;
  DtypeKind kind;
  int size_bytes;
  const char* name;     // LibTorch's
  const char* torch;    // Python's
  const char* shorter;  // Python's second name, or null
  const char* cpp;      // the C++ element type, or null for a class of c10
};

// clang-format off
inline constexpr DtypeNames kDtypeNames[] = {
    {Dtype::kByte, DtypeKind::kIntegral, 1, "Byte", "uint8", nullptr, "uint8_t"},
    {Dtype::kChar, DtypeKind::kIntegral, 1, "Char", "int8", "char", "int8_t"},
    {Dtype::kShort, DtypeKind::kIntegral, 2, "Short", "int16", "short", "int16_t"},
    {Dtype::kInt, DtypeKind::kIntegral, 4, "Int", "int32", "int", "int32_t"},
    {Dtype::kLong, DtypeKind::kIntegral, 8, "Long", "int64", "long", "int64_t"},
    {Dtype::kHalf, DtypeKind::kFloating, 2, "Half", "float16", "half", nullptr},
    {Dtype::kFloat, DtypeKind::kFloating, 4, "Float", "float32", "float", "float"},
    {Dtype::kDouble, DtypeKind::kFloating, 8, "Double", "float64", "double", "double"},
    {Dtype::kComplexHalf, DtypeKind::kComplex, 4, "ComplexHalf", "complex32", "chalf", "complex<Half>"},
    {Dtype::kComplexFloat, DtypeKind::kComplex, 8, "ComplexFloat", "complex64", "cfloat", "complex<float>"},
    {Dtype::kComplexDouble, DtypeKind::kComplex, 16, "ComplexDouble", "complex128", "cdouble", "complex<double>"},
    {Dtype::kBool, DtypeKind::kBool, 1, "Bool", "bool", nullptr, "bool"},
    {Dtype::kQInt8, DtypeKind::kOther, 1, "QInt8", "qint8", nullptr, nullptr},
    {Dtype::kQUInt8, DtypeKind::kOther, 1, "QUInt8", "quint8", nullptr, nullptr},
    {Dtype::kQInt32, DtypeKind::kOther, 4, "QInt32", "qint32", nullptr, nullptr},
    {Dtype::kBFloat16, DtypeKind::kFloating, 2, "BFloat16", "bfloat16", nullptr, nullptr},
    {Dtype::kQUInt4x2, DtypeKind::kOther, 1, "QUInt4x2", "quint4x2", nullptr, nullptr},
    {Dtype::kQUInt2x4, DtypeKind::kOther, 1, "QUInt2x4", "quint2x4", nullptr, nullptr},
    {Dtype::kBits1x8, DtypeKind::kOther, 1, "Bits1x8", "bits1x8", nullptr, nullptr},
    {Dtype::kBits2x4, DtypeKind::kOther, 1, "Bits2x4", "bits2x4", nullptr, nullptr},
    {Dtype::kBits4x2, DtypeKind::kOther, 1, "Bits4x2", "bits4x2", nullptr, nullptr},
    {Dtype::kBits8, DtypeKind::kOther, 1, "Bits8", "bits8", nullptr, nullptr},
    {Dtype::kBits16, DtypeKind::kOther, 2, "Bits16", "bits16", nullptr, nullptr},
    {Dtype::kFloat8_e5m2, DtypeKind::kFloating, 1, "Float8_e5m2", "float8_e5m2", nullptr, nullptr},
    {Dtype::kFloat8_e4m3fn, DtypeKind::kFloating, 1, "Float8_e4m3fn", "float8_e4m3fn", nullptr, nullptr},
    {Dtype::kFloat8_e5m2fnuz, DtypeKind::kFloating, 1, "Float8_e5m2fnuz", "float8_e5m2fnuz", nullptr, nullptr},
    {Dtype::kFloat8_e4m3fnuz, DtypeKind::kFloating, 1, "Float8_e4m3fnuz", "float8_e4m3fnuz", nullptr, nullptr},
    {Dtype::kUInt16, DtypeKind::kIntegral, 2, "UInt16", "uint16", nullptr, "uint16_t"},
    {Dtype::kUInt32, DtypeKind::kIntegral, 4, "UInt32", "uint32", nullptr, "uint32_t"},
    {Dtype::kUInt64, DtypeKind::kIntegral, 8, "UInt64", "uint64", nullptr, "uint64_t"},
    {Dtype::kUInt1, DtypeKind::kOther, 1, "UInt1", "uint1", nullptr, nullptr},
    {Dtype::kUInt2, DtypeKind::kOther, 1, "UInt2", "uint2", nullptr, nullptr},
    {Dtype::kUInt3, DtypeKind::kOther, 1, "UInt3", "uint3", nullptr, nullptr},
    {Dtype::kUInt4, DtypeKind::kOther, 1, "UInt4", "uint4", nullptr, nullptr},
    {Dtype::kUInt5, DtypeKind::kOther, 1, "UInt5", "uint5", nullptr, nullptr},
    {Dtype::kUInt6, DtypeKind::kOther, 1, "UInt6", "uint6", nullptr, nullptr},
    {Dtype::kUInt7, DtypeKind::kOther, 1, "UInt7", "uint7", nullptr, nullptr},
    {Dtype::kInt1, DtypeKind::kOther, 1, "Int1", "int1", nullptr, nullptr},
    {Dtype::kInt2, DtypeKind::kOther, 1, "Int2", "int2", nullptr, nullptr},
    {Dtype::kInt3, DtypeKind::kOther, 1, "Int3", "int3", nullptr, nullptr},
    {Dtype::kInt4, DtypeKind::kOther, 1, "Int4", "int4", nullptr, nullptr},
    {Dtype::kInt5, DtypeKind::kOther, 1, "Int5", "int5", nullptr, nullptr},
    {Dtype::kInt6, DtypeKind::kOther, 1, "Int6", "int6", nullptr, nullptr},
    {Dtype::kInt7, DtypeKind::kOther, 1, "Int7", "int7", nullptr, nullptr},
    {Dtype::kFloat8_e8m0fnu, DtypeKind::kFloating, 1, "Float8_e8m0fnu", "float8_e8m0fnu", nullptr, nullptr},
    {Dtype::kFloat4_e2m1fn_x2, DtypeKind::kFloating, 1, "Float4_e2m1fn_x2", "float4_e2m1fn_x2", nullptr, nullptr},
    {Dtype::kBComplex32, DtypeKind::kComplex, 4, "BComplex32", "bcomplex32", nullptr, "complex<BFloat16>"},
    {Dtype::kUndefined, DtypeKind::kOther, 0, "Undefined", "undefined", nullptr, nullptr},
};
// clang-format on

// None for a number that is no dtype here.
constexpr const DtypeNames* names_of(Dtype dtype) {
  for (const DtypeNames& names : kDtypeNames) {
    if (names.dtype == dtype) return &names;
  }
  return nullptr;
}

// The dtype that Python calls so: "float16"; kUndefined where there is none.
constexpr Dtype dtype_of_torch(std::string_view name) {
  for (const DtypeNames& names : kDtypeNames) {
    if (name == names.torch) return names.dtype;
  }
  return Dtype::kUndefined;
}

}  // namespace dtypecheck
