// trace_words.h: what the parser and the printer of the text form have to agree on. Private to
// trace_text_*.cpp.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "core/op_call.h"
#include "ops/arguments.h"

namespace dtypecheck {

// Beside letters, digits and _: what may stand without quotes. Parsing takes more (see
// TextCursor::word).
inline constexpr std::string_view kFreeWordCharacters = ".:/<>+-~@$,[]&*{}!";
inline constexpr std::string_view kOpCharacters = ":<>-";
inline constexpr std::string_view kDottedOpCharacters = ":<>-.";
inline constexpr std::string_view kArgumentCharacters = ".[]";
inline constexpr std::string_view kParameterCharacters = ".-/";

inline constexpr std::string_view kKeys[] = {
    "raised",   "at", "inside", "in",         "phase",   "step",     "count", "throws",
    "autocast", "entered", "id", "parent", "non-finite", "inexact", "repaired", "compiled",
    "follows"};

inline bool is_key(std::string_view word) {
  return std::find(std::begin(kKeys), std::end(kKeys), word) != std::end(kKeys);
}

// The op of a Python function or a compiled region has dots in its name and no overload.
inline bool has_dotted_name(std::string_view op) {
  return op.starts_with("python::") || op.starts_with("compiled::");
}

inline TensorKind default_kind(DtypeSet dtypes) {
  return dtypes.empty() ? TensorKind::kUndefined : TensorKind::kDense;
}

inline Role default_role(std::string_view argument) {
  return argument == "out" ? Role::kOut : ops::role_of_argument(argument);
}

}  // namespace dtypecheck
