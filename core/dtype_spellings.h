// dtype_spellings.h: what PyTorch makes of a dtype's name: cut short where it prints a graph, and
// as a method that casts. C++17 and plain, as core/dtype_names.h is.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/dtype_names.h"
#include "platform/text.h"

namespace dtypecheck {

// As DTensor and torch.fx print it: "bf16", "f32", "i64", "f8e4m3fn"; "" of what they do not cut.
inline std::string abbreviation(const DtypeNames& names) {
  constexpr std::pair<std::string_view, const char*> kKinds[] = {
      {"bfloat", "bf"}, {"float", "f"}, {"uint", "u"}, {"int", "i"}, {"complex", "c"}};
  const std::string_view name = names.torch;
  for (const auto& [kind, shortened] : kKinds) {
    if (name.substr(0, kind.size()) != kind) continue;
    std::string text = shortened;
    for (const char c : name.substr(kind.size()))
      if (c != '_') text += c;
    return text;
  }
  return "";
}

// "half" of x.half(): what casts bears LibTorch's name in lower case. "" of dtypes without one, as
// complex ones and Float8.
inline std::string cast_method(const DtypeNames& names) {
  const bool has_one = names.dtype <= Dtype::kDouble || names.dtype == Dtype::kBool ||
                       names.dtype == Dtype::kBFloat16;
  return has_one ? lowered(names.name) : "";
}

}  // namespace dtypecheck
