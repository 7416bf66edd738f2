// text_syntax.h: what the parser and the printer of the text form have to agree on. Private to
// those who read and write it.
#pragma once

#include <string>
#include <string_view>

#include "core/op_call.h"
#include "ops/arguments.h"
#include "ops/ops.h"

namespace dtypecheck {

// Beside letters, digits and _: what may stand without quotes. Parsing takes more (see
// TextCursor::word).
inline constexpr std::string_view kFreeWordCharacters = ".:/<>+-~@$,[]&*{}!";
inline constexpr std::string_view kOpCharacters = ":<>-";
inline constexpr std::string_view kDottedOpCharacters = ":<>-.";
inline constexpr std::string_view kArgumentCharacters = ".[]";
inline constexpr std::string_view kParameterCharacters = ".-/";

// The op of a Python function or a compiled region has dots in its name and no overload.
inline bool has_dotted_name(std::string_view op) {
  return ops::is_python(op) || ops::is_compiled(op);
}

inline TensorKind default_kind(DtypeSet dtypes) {
  return dtypes.empty() ? TensorKind::kUndefined : TensorKind::kDense;
}

inline Role default_role(std::string_view argument) {
  return argument == "out" ? Role::kOut : ops::role_of_argument(argument);
}

}  // namespace dtypecheck
