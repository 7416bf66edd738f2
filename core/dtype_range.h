// dtype_range.h: the largest and smallest number of the dtypes whose ends a training reaches.
// C++17 and plain, since the tracer asks it too. Sources: IEEE 754 for Half; for 8 bits the OCP
// specification of 8-bit floating point, and for "fnuz" arXiv 2206.02915. BFloat16 has the range of
// Float.
#pragma once

#include "core/dtype.h"

namespace dtypecheck {

struct DtypeRange {
  Dtype dtype;
  double largest;   // finite
  double smallest;  // above 0, subnormal; half of it and less is rounded to 0
};

inline constexpr DtypeRange kNarrowRanges[] = {
    {Dtype::kHalf, 65504, 0x1p-24},          {Dtype::kFloat8_e5m2, 57344, 0x1p-16},
    {Dtype::kFloat8_e4m3fn, 448, 0x1p-9},    {Dtype::kFloat8_e5m2fnuz, 57344, 0x1p-17},
    {Dtype::kFloat8_e4m3fnuz, 240, 0x1p-10},
};

// Of the integers that whole numbers of a training outgrow.
struct IntegerRange {
  Dtype dtype;
  double least, largest;
};

inline constexpr IntegerRange kIntegerRanges[] = {
    {Dtype::kByte, 0, 255},         {Dtype::kChar, -128, 127},
    {Dtype::kShort, -32768, 32767}, {Dtype::kInt, -2147483648.0, 2147483647.0},
    {Dtype::kUInt16, 0, 65535},     {Dtype::kUInt32, 0, 4294967295.0},
};

// None for a dtype whose ends are out of reach.
constexpr const IntegerRange* integer_range(Dtype dtype) {
  for (const IntegerRange& range : kIntegerRanges) {
    if (range.dtype == dtype) return &range;
  }
  return nullptr;
}

// None for a dtype whose ends are out of reach.
constexpr const DtypeRange* narrow_range(Dtype dtype) {
  for (const DtypeRange& range : kNarrowRanges) {
    if (range.dtype == dtype) return &range;
  }
  return nullptr;
}

}  // namespace dtypecheck
