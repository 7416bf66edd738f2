// dtype_set.h: scalar types, and sets of them with one bit each.
// A traced operand has exactly one bit; an operand in analysed source may have several. One type
// serves both.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/dtype_names.h"

namespace dtypecheck {

// The name as LibTorch prints it ("Half", "BFloat16"); "dtype#50" for one without a name here.
std::string dtype_name(Dtype dtype);

// The name as Python prints it: "torch.float16".
std::string torch_dtype(Dtype dtype);

// The type of its elements as a C++ compiler prints it: "c10::Half", "float".
std::string cpp_type(Dtype dtype);

// Accepts LibTorch's names, torch's ("float16", "torch.float16") and C++'s ("c10::Half",
// "at::kHalf", "float").
std::optional<Dtype> parse_dtype(std::string_view text);

// The dtype that a message, a compiler or a person means, in any case: the same names, and "fp16",
// "bf16", "unsigned char", "__int64". Never kUndefined.
std::optional<Dtype> parse_dtype_in_words(std::string_view text);

// Of a name that torch cuts short, as DTensor and torch.fx print it: "bf16", "f32", "i64",
// "f8e4m3fn".
std::optional<Dtype> parse_dtype_abbreviation(std::string_view text);

// Bytes of one element; 0 when not known.
int dtype_size_bytes(Dtype dtype);

class DtypeSet {
 public:
  constexpr DtypeSet() = default;
  constexpr DtypeSet(Dtype dtype) : bits_(dtype_bit(dtype)) {}  // NOLINT: a dtype is a set
  static constexpr DtypeSet from_bits(uint64_t bits) {
    DtypeSet set;
    set.bits_ = bits;
    return set;
  }

  constexpr uint64_t bits() const { return bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return std::popcount(bits_); }
  constexpr bool contains(Dtype dtype) const { return !(*this & DtypeSet(dtype)).empty(); }
  constexpr bool intersects(DtypeSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool within(DtypeSet other) const { return bits_ != 0 && (bits_ & ~other.bits_) == 0; }
  // True when some dtypes lie in one set and some in the other: Half beside Float.
  constexpr bool mixes(DtypeSet a, DtypeSet b) const { return intersects(a) && intersects(b); }
  // The one dtype of a set of one.
  constexpr std::optional<Dtype> single() const {
    if (size() != 1) return std::nullopt;
    return static_cast<Dtype>(std::countr_zero(bits_));
  }

  constexpr DtypeSet operator|(DtypeSet other) const { return from_bits(bits_ | other.bits_); }
  constexpr DtypeSet operator&(DtypeSet other) const { return from_bits(bits_ & other.bits_); }
  constexpr DtypeSet operator-(DtypeSet other) const { return from_bits(bits_ & ~other.bits_); }
  constexpr DtypeSet& operator|=(DtypeSet other) {
    bits_ |= other.bits_;
    return *this;
  }
  constexpr bool operator==(const DtypeSet&) const = default;

  // "Half", or "Half|Float" for more than one.
  std::string to_string() const;

 private:
  uint64_t bits_ = 0;
};

inline constexpr DtypeSet kLowPrecision = DtypeSet::from_bits(kLowPrecisionBits);
template <typename Fits>
constexpr DtypeSet dtypes_that(const Fits& fit) {
  DtypeSet dtypes;
  for (const DtypeNames& names : kDtypeNames) {
    if (fit(names)) dtypes |= names.dtype;
  }
  return dtypes;
}
constexpr DtypeSet dtypes_of(DtypeKind kind) {
  return dtypes_that([&](const DtypeNames& names) { return names.kind == kind; });
}
inline constexpr DtypeSet kFloating = dtypes_of(DtypeKind::kFloating);
inline constexpr DtypeSet kComplex = dtypes_of(DtypeKind::kComplex);
inline constexpr DtypeSet kIntegral = dtypes_of(DtypeKind::kIntegral);
inline constexpr DtypeSet kFloat8 = dtypes_that(
    [](const DtypeNames& names) { return std::string_view(names.name).starts_with("Float8_"); });

// torch.promote_types of all of them: the widest, and Float where Half meets BFloat16. Nothing
// where one is no dtype that LibTorch computes in.
constexpr std::optional<Dtype> promoted(DtypeSet floating) {
  if (!floating.within(kLowPrecision | Dtype::kFloat | Dtype::kDouble)) return std::nullopt;
  if (floating.contains(Dtype::kDouble)) return Dtype::kDouble;
  return floating.size() == 1 ? floating.single() : Dtype::kFloat;
}

}  // namespace dtypecheck
