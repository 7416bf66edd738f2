// dtype.h: the dtypes, by the numbers that stand in a trace. C++17 and plain, because the tracer is
// compiled as the LibTorch that it goes into asks for; names are in dtype_names.h, sets in
// dtype_set.h.
#pragma once

#include <cstdint>

namespace dtypecheck {

// The numbers are those of c10::ScalarType, which has only ever grown at its end (since LibTorch
// 1.13), so the tracer can store a scalar type without a table. Undefined moved between versions
// and is ours.
enum class Dtype : uint8_t {
  kByte = 0,
  kChar = 1,
  kShort = 2,
  kInt = 3,
  kLong = 4,
  kHalf = 5,
  kFloat = 6,
  kDouble = 7,
  kComplexHalf = 8,
  kComplexFloat = 9,
  kComplexDouble = 10,
  kBool = 11,
  kQInt8 = 12,
  kQUInt8 = 13,
  kQInt32 = 14,
  kBFloat16 = 15,
  kQUInt4x2 = 16,
  kQUInt2x4 = 17,
  kBits1x8 = 18,
  kBits2x4 = 19,
  kBits4x2 = 20,
  kBits8 = 21,
  kBits16 = 22,
  kFloat8_e5m2 = 23,
  kFloat8_e4m3fn = 24,
  kFloat8_e5m2fnuz = 25,
  kFloat8_e4m3fnuz = 26,
  kUInt16 = 27,
  kUInt32 = 28,
  kUInt64 = 29,
  kUInt1 = 30,
  kUInt2 = 31,
  kUInt3 = 32,
  kUInt4 = 33,
  kUInt5 = 34,
  kUInt6 = 35,
  kUInt7 = 36,
  kInt1 = 37,
  kInt2 = 38,
  kInt3 = 39,
  kInt4 = 40,
  kInt5 = 41,
  kInt6 = 42,
  kInt7 = 43,
  kFloat8_e8m0fnu = 44,
  kFloat4_e2m1fn_x2 = 45,
  kBComplex32 = 46,
  kUndefined = 63,
};

// A set of dtypes is a word with a bit for each.
constexpr uint64_t dtype_bit(Dtype dtype) { return uint64_t{1} << static_cast<unsigned>(dtype); }
inline constexpr uint64_t kLowPrecisionBits = dtype_bit(Dtype::kHalf) | dtype_bit(Dtype::kBFloat16);

}  // namespace dtypecheck
