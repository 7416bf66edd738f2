// precision_words.h: how settings of programs spell precisions: "fp16", "16-true", "bf16-mixed",
// "torch.bfloat16", "FLOAT_16", "pure_bf16". C++17 and plain, as core/codes.h is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "platform/text.h"

namespace dtypecheck {

enum class PrecisionUse { kAny, kCompute, kWeights };

struct PrecisionWord {
  std::string_view word;
  Dtype dtype;
  PrecisionUse use;
  const char* families;
};

inline constexpr PrecisionWord kPrecisionWords[] = {
#define PRECISION(word, dtype, use, families) {word, Dtype::dtype, PrecisionUse::use, families},
#include "core/precision_words.inc"
#undef PRECISION
};

// kHalf or kBFloat16, kUndefined for anything else. What begins with one of the words, and goes on
// with no letter or digit, is spelled so.
inline Dtype precision_in(std::string_view value) {
  constexpr std::size_t kMostBytes = 32;
  if (value.size() > kMostBytes) return Dtype::kUndefined;
  std::string text;
  for (const char c : lowered(value))
    if (c != '"' && c != '\'') text += c;
  if (text.compare(0, 6, "torch.") == 0) text.erase(0, 6);
  const auto goes_on = [&](std::size_t at) {
    return at < text.size() &&
           ((text[at] >= 'a' && text[at] <= 'z') || (text[at] >= '0' && text[at] <= '9'));
  };
  for (const PrecisionWord& one : kPrecisionWords) {
    const bool is_low = (dtype_bit(one.dtype) & kLowPrecisionBits) != 0;
    if (is_low && text.compare(0, one.word.size(), one.word) == 0 && !goes_on(one.word.size()))
      return one.dtype;
  }
  return Dtype::kUndefined;
}

// What is in the names under which programs keep a precision: weight_dtype, full_bf16, --use-amp.
// Such a name is looked at in lower case, with '_' for what is no letter or digit and at both ends.
inline constexpr std::string_view kPrecisionNames[] = {
    "precision", "dtype", "16", "half", "autocast", "master", "stochastic", "_amp_"};
inline bool is_named_like_precision(std::string_view name) {
  std::string text = "_" + lowered(name) + "_";
  for (char& c : text) c = is_of_name(c) ? c : '_';
  return std::any_of(std::begin(kPrecisionNames), std::end(kPrecisionNames),
                     [&](std::string_view part) { return text.find(part) != std::string::npos; });
}

// A file of YAML, JSON or TOML, which may have settings.
inline constexpr std::string_view kConfigurationEndings[] = {".yaml", ".yml", ".json", ".toml"};
inline bool is_configuration(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot != path.npos &&
         std::find(std::begin(kConfigurationEndings), std::end(kConfigurationEndings),
                   path.substr(dot)) != std::end(kConfigurationEndings);
}

// "--full-bf16", "pure_fp16", "precision=16-true": 16-bit weights, and not only arithmetic. So do
// "--dtype bfloat16" and "--precision bf16" where the weights have 16 bits, and no "--bf16".
inline bool asks_for_low_weights(std::string_view option) {
  const auto is_same = [](char a, char b) { return (a == '-' ? '_' : a) == (b == '-' ? '_' : b); };
  const auto has = [&](std::string_view word) {
    return std::search(option.begin(), option.end(), word.begin(), word.end(), is_same) !=
           option.end();
  };
  const bool names_any = (has("dtype") || has("precision")) && !has("mixed") && !has("amp");
  return std::any_of(std::begin(kPrecisionWords), std::end(kPrecisionWords), [&](const auto& one) {
    const bool is_low = (dtype_bit(one.dtype) & kLowPrecisionBits) != 0;
    return has(one.word) && is_low &&
           (one.use == PrecisionUse::kWeights || (names_any && one.use == PrecisionUse::kAny));
  });
}

}  // namespace dtypecheck
