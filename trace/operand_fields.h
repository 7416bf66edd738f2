// operand_fields.h: what the text of a trace and JSON say of an operand or a result. Private to
// op_call_fields.cpp and to the parser of text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/op_call.h"
#include "trace/text_cursor.h"

namespace dtypecheck::trace {

// " ARG=OPERANDS" for each argument, the elements of a list as one.
void print_operands(const std::vector<Operand>& operands, std::string& out);
void print_results(const std::vector<Operand>& results, std::string& out);  // " -> OPERANDS"

// What stands behind "ARG=" and behind "->".
void parse_argument(TextCursor& cursor, const std::string& name, std::vector<Operand>& operands);
void parse_results(TextCursor& cursor, std::vector<Operand>& results);

Dtype parse_dtype_here(TextCursor& cursor);
OpCallId parse_id(TextCursor& cursor);  // "#7"

// The enum value, of those up to `last`, whose name stands here.
template <typename Enum>
Enum parse_name(TextCursor& cursor, Enum last, const char* (*name_of)(Enum),
                std::string_view what) {
  TextCursor ahead = cursor;
  const std::string word = ahead.name("", what);
  for (int number = 0; number <= static_cast<int>(last); ++number) {
    if (word != name_of(static_cast<Enum>(number))) continue;
    cursor = ahead;
    return static_cast<Enum>(number);
  }
  cursor.fail(what);
}

nlohmann::ordered_json operand_json(const Operand& operand);
nlohmann::ordered_json result_json(const Operand& result);

}  // namespace dtypecheck::trace
