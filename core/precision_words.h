// precision_words.h: how settings of programs spell the two 16-bit dtypes: "fp16", "16-true",
// "bf16-mixed", "torch.bfloat16", "FLOAT_16", "pure_bf16". C++17 and plain, as core/codes.h is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/dtype.h"

namespace dtypecheck {

// kHalf or kBFloat16, kUndefined for anything else. What begins with one of the words, and goes on
// with no letter or digit, is spelled so.
inline Dtype precision_in(std::string_view value) {
  constexpr struct {
    std::string_view word;
    Dtype dtype;
  } kWords[] = {
      {"float16", Dtype::kHalf},      {"float_16", Dtype::kHalf},      {"fp16", Dtype::kHalf},
      {"f16", Dtype::kHalf},          {"half", Dtype::kHalf},          {"16", Dtype::kHalf},
      {"bfloat16", Dtype::kBFloat16}, {"bfloat_16", Dtype::kBFloat16}, {"bfp16", Dtype::kBFloat16},
      {"bf16", Dtype::kBFloat16},     {"bfloat", Dtype::kBFloat16}};
  constexpr std::size_t kMostBytes = 32;
  if (value.size() > kMostBytes) return Dtype::kUndefined;
  std::string text;
  for (const char c : value)
    if (c != '"' && c != '\'') text += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  std::string_view rest = text;
  for (const std::string_view before : {"torch.", "pure_", "amp_"})
    if (rest.substr(0, before.size()) == before) rest.remove_prefix(before.size());
  const auto goes_on = [&](std::size_t at) {
    return at < rest.size() &&
           ((rest[at] >= 'a' && rest[at] <= 'z') || (rest[at] >= '0' && rest[at] <= '9'));
  };
  for (const auto& [word, dtype] : kWords)
    if (rest.substr(0, word.size()) == word && !goes_on(word.size())) return dtype;
  return Dtype::kUndefined;
}

// "--full_bf16", "pure_fp16", "16-true": 16-bit weights, and not only arithmetic, as an option.
inline bool asks_for_low_weights(std::string_view option) {
  for (const std::string_view word : {"full_", "full-", "pure_", "pure-", "16-true"})
    if (option.find(word) != option.npos) return true;
  return false;
}

}  // namespace dtypecheck
