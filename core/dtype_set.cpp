#include "core/dtype_set.h"

#include <algorithm>
#include <charconv>

namespace dtypecheck {
namespace {

struct DtypeNames {
  Dtype dtype;
  int size_bytes;
  const char* name;     // LibTorch's
  const char* torch;    // Python's
  const char* shorter;  // Python's second name, or null
  const char* cpp;  // the C++ element type, or null where it is one of the others or a c10:: class
};

constexpr DtypeNames kNames[] = {
    {Dtype::kByte, 1, "Byte", "uint8", nullptr, "uint8_t"},
    {Dtype::kChar, 1, "Char", "int8", "char", "int8_t"},
    {Dtype::kShort, 2, "Short", "int16", "short", "int16_t"},
    {Dtype::kInt, 4, "Int", "int32", "int", "int32_t"},
    {Dtype::kLong, 8, "Long", "int64", "long", "int64_t"},
    {Dtype::kHalf, 2, "Half", "float16", "half", nullptr},
    {Dtype::kFloat, 4, "Float", "float32", "float", nullptr},
    {Dtype::kDouble, 8, "Double", "float64", "double", nullptr},
    {Dtype::kComplexHalf, 4, "ComplexHalf", "complex32", "chalf", "complex<Half>"},
    {Dtype::kComplexFloat, 8, "ComplexFloat", "complex64", "cfloat", "complex<float>"},
    {Dtype::kComplexDouble, 16, "ComplexDouble", "complex128", "cdouble", "complex<double>"},
    {Dtype::kBool, 1, "Bool", "bool", nullptr, nullptr},
    {Dtype::kQInt8, 1, "QInt8", "qint8", nullptr, nullptr},
    {Dtype::kQUInt8, 1, "QUInt8", "quint8", nullptr, nullptr},
    {Dtype::kQInt32, 4, "QInt32", "qint32", nullptr, nullptr},
    {Dtype::kBFloat16, 2, "BFloat16", "bfloat16", nullptr, nullptr},
    {Dtype::kFloat8_e5m2, 1, "Float8_e5m2", "float8_e5m2", nullptr, nullptr},
    {Dtype::kFloat8_e4m3fn, 1, "Float8_e4m3fn", "float8_e4m3fn", nullptr, nullptr},
    {Dtype::kFloat8_e5m2fnuz, 1, "Float8_e5m2fnuz", "float8_e5m2fnuz", nullptr, nullptr},
    {Dtype::kFloat8_e4m3fnuz, 1, "Float8_e4m3fnuz", "float8_e4m3fnuz", nullptr, nullptr},
    {Dtype::kUInt16, 2, "UInt16", "uint16", nullptr, "uint16_t"},
    {Dtype::kUInt32, 4, "UInt32", "uint32", nullptr, "uint32_t"},
    {Dtype::kUInt64, 8, "UInt64", "uint64", nullptr, "uint64_t"},
    {Dtype::kFloat8_e8m0fnu, 1, "Float8_e8m0fnu", "float8_e8m0fnu", nullptr, nullptr},
    {Dtype::kUndefined, 0, "Undefined", "undefined", nullptr, nullptr},
};

constexpr std::string_view kNumbered = "dtype#";

const DtypeNames* find(Dtype dtype) {
  const auto* entry = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const DtypeNames& names) { return names.dtype == dtype; });
  return entry == std::end(kNames) ? nullptr : entry;
}

std::optional<Dtype> parse_numbered(std::string_view digits) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number > 63) {
    return std::nullopt;
  }
  return static_cast<Dtype>(number);
}

std::string_view without_qualifiers(std::string_view text) {
  for (std::string_view prefix : {"::", "torch.", "torch::", "at::", "c10::", "ScalarType::"}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  return text;
}

bool names(const DtypeNames& entry, std::string_view text) {
  if (text == entry.name || text == entry.torch) return true;
  return (entry.shorter != nullptr && text == entry.shorter) ||
         (entry.cpp != nullptr && text == entry.cpp);
}

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

// Names that only people and compilers use.
constexpr std::pair<std::string_view, Dtype> kFurtherNames[] = {
    {"fp16", Dtype::kHalf},    {"bf16", Dtype::kBFloat16},  {"bfloat", Dtype::kBFloat16},
    {"fp32", Dtype::kFloat},   {"fp64", Dtype::kDouble},    {"long int", Dtype::kLong},
    {"__int64", Dtype::kLong}, {"long long", Dtype::kLong}, {"unsigned char", Dtype::kByte},
};

// kHalf, kFloat16, kUInt8.
bool names_constant(const DtypeNames& entry, std::string_view text) {
  return text == entry.name || equal_but_for_case(text, entry.torch);
}

}  // namespace

std::string dtype_name(Dtype dtype) {
  if (const DtypeNames* entry = find(dtype)) return entry->name;
  return std::string(kNumbered) + std::to_string(static_cast<unsigned>(dtype));
}

std::optional<Dtype> parse_dtype(std::string_view text) {
  if (text.starts_with(kNumbered)) return parse_numbered(text.substr(kNumbered.size()));
  text = without_qualifiers(text);
  const bool constant = text.size() > 1 && text[0] == 'k';
  for (const DtypeNames& entry : kNames) {
    if (constant ? names_constant(entry, text.substr(1)) : names(entry, text)) return entry.dtype;
  }
  return std::nullopt;
}

std::optional<Dtype> parse_dtype_in_words(std::string_view text) {
  text = without_qualifiers(text);
  for (const auto& [name, dtype] : kFurtherNames) {
    if (equal_but_for_case(text, name)) return dtype;
  }
  for (const DtypeNames& entry : kNames) {
    if (entry.dtype == Dtype::kUndefined) continue;
    for (const char* name : {entry.name, entry.torch, entry.shorter, entry.cpp}) {
      if (name != nullptr && equal_but_for_case(text, name)) return entry.dtype;
    }
  }
  return std::nullopt;
}

int dtype_size_bytes(Dtype dtype) {
  const DtypeNames* entry = find(dtype);
  return entry == nullptr ? 0 : entry->size_bytes;
}

std::string DtypeSet::to_string() const {
  std::string text;
  for (unsigned number = 0; number < 64; ++number) {
    if ((bits_ >> number & 1) == 0) continue;
    if (!text.empty()) text += '|';
    text += dtype_name(static_cast<Dtype>(number));
  }
  return text;
}

}  // namespace dtypecheck
