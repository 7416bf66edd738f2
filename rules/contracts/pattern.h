// pattern.h: which combinations of operand dtypes are measured, and the patterns that say what
// comes of each: "^=[fhbd]. m3=*". rules/contracts/probe/patterns.py writes them, and
// rules/contracts/probe/letters.py knows the same letters and rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/dtype_set.h"

namespace dtypecheck::contracts {

// Float, Half, BFloat16, Double, Long, Int, Short, Char, Byte, Bool, ComplexFloat, ComplexHalf,
// ComplexDouble, Float8_e4m3fn, Float8_e5m2. The first four are measured in all combinations.
inline constexpr std::string_view kLetters = "fhbdliscuoFHDeE";
inline constexpr std::string_view kFirstLetters = "fhbd";
inline constexpr std::string_view kResultLetters = "fhbdliscuoFHDeEx";  // x: without a letter
// Of a result, by the dtype that the operands promote to: that one; Float for integers; Long for
// integers; its real part's; the complex one.
inline constexpr std::string_view kSymbols = "^%+|&";

// kUndefined for "x" and for what is no letter; '\0' for a dtype that operands are not measured in.
Dtype dtype_of(char letter);
char operand_letter(Dtype dtype);

// "self,other()" is one operand a name: how many letters a combination of them has. A list that is
// the only operand may have two, one for each half of its elements. Of two operands, dtypes beyond
// the first four are measured beside those and Long, in other modes than "plain" beside Float.
bool is_combination(std::string_view operands, std::string_view combination,
                    std::string_view mode = "plain");

// All of the first four dtypes that is_combination() is true of.
std::vector<std::string> combinations(std::string_view operands);

// True of one operand's letter or class, "." and "~" for each of `count` operands; of one or two
// for a list that is the only one.
bool is_pattern(std::string_view operands, std::string_view pattern);
bool is_pattern_of(size_t count, std::string_view pattern);

// The first word of a checked pattern that the combination fits; "" for none.
std::string_view word_in(std::string_view pattern, std::string_view combination);

// The same with a letter for each symbol: "ff" of "^0". What a symbol says nothing of is "?".
std::string outcome_in(std::string_view operands, std::string_view pattern,
                       std::string_view combination);

}  // namespace dtypecheck::contracts
