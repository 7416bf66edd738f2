#include "core/dtype_set.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/dtype_names.h"
#include "core/dtype_spellings.h"
#include "core/precision_words.h"
#include "platform/text.h"

namespace dtypecheck {
namespace {

constexpr std::string_view kNumbered = "dtype#";

std::optional<Dtype> parse_numbered(std::string_view digits) {
  const auto number = whole_number<unsigned>(digits);
  return number && *number < 64 ? std::optional(static_cast<Dtype>(*number)) : std::nullopt;
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

// Names that only people and compilers use.
constexpr std::pair<std::string_view, Dtype> kFurtherNames[] = {
    {"long int", Dtype::kLong},    {"__int64", Dtype::kLong},    {"long long", Dtype::kLong},
    {"signed char", Dtype::kChar}, {"short int", Dtype::kShort}, {"unsigned char", Dtype::kByte},
    {"boolean", Dtype::kBool},
};

std::vector<std::pair<std::string_view, Dtype>> names_in_words() {
  std::vector<std::pair<std::string_view, Dtype>> all(std::begin(kFurtherNames),
                                                      std::end(kFurtherNames));
  for (const PrecisionWord& one : kPrecisionWords) {  // "16" is none
    if (one.use == PrecisionUse::kAny && one.word.front() > '9')
      all.emplace_back(one.word, one.dtype);
  }
  for (const DtypeNames& entry : kDtypeNames) {
    if (entry.dtype == Dtype::kUndefined) continue;
    for (const char* name : {entry.name, entry.torch, entry.shorter, entry.cpp}) {
      if (name != nullptr) all.emplace_back(name, entry.dtype);
    }
  }
  return all;
}

// kHalf, kFloat16, kUInt8.
bool names_constant(const DtypeNames& entry, std::string_view text) {
  return text == entry.name || lowered(text) == entry.torch;
}

}  // namespace

std::string dtype_name(Dtype dtype) {
  if (const DtypeNames* entry = names_of(dtype)) return entry->name;
  return std::string(kNumbered) + std::to_string(static_cast<unsigned>(dtype));
}

std::string torch_dtype(Dtype dtype) {
  const DtypeNames* entry = names_of(dtype);
  return entry == nullptr ? dtype_name(dtype) : std::string("torch.") + entry->torch;
}

std::string cpp_type(Dtype dtype) {
  const DtypeNames* entry = names_of(dtype);
  if (entry != nullptr && entry->cpp != nullptr) return entry->cpp;
  return "c10::" + dtype_name(dtype);
}

std::optional<Dtype> parse_dtype_abbreviation(std::string_view text) {
  for (const DtypeNames& entry : kDtypeNames)
    if (!text.empty() && abbreviation(entry) == text) return entry.dtype;
  return std::nullopt;
}

std::optional<Dtype> parse_dtype(std::string_view text) {
  if (text.starts_with(kNumbered)) return parse_numbered(text.substr(kNumbered.size()));
  text = without_qualifiers(text);
  const bool constant = text.size() > 1 && text[0] == 'k';
  for (const DtypeNames& entry : kDtypeNames) {
    if (constant ? names_constant(entry, text.substr(1)) : names(entry, text)) return entry.dtype;
  }
  return std::nullopt;
}

std::optional<Dtype> parse_dtype_in_words(std::string_view text) {
  static const std::vector<std::pair<std::string_view, Dtype>> all = names_in_words();
  const std::string low = lowered(without_qualifiers(text));
  for (const auto& [name, dtype] : all) {
    if (low == lowered(name)) return dtype;
  }
  return std::nullopt;
}

int dtype_size_bytes(Dtype dtype) {
  const DtypeNames* entry = names_of(dtype);
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
