#include "rules/contracts/pattern.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "platform/text.h"

namespace dtypecheck::contracts {
namespace {

constexpr DtypeSet kIntegers = kIntegral | Dtype::kBool;
constexpr DtypeSet kFloats = kLowPrecision | Dtype::kFloat | Dtype::kDouble;

size_t operand_count(std::string_view operands) {
  return static_cast<size_t>(std::count(operands.begin(), operands.end(), ',')) + 1;
}

bool is_lone_list(std::string_view operands) {
  return operands.ends_with("[]") && operand_count(operands) == 1;
}

bool is_within(std::string_view combination, std::string_view letters) {
  return combination.find_first_not_of(letters) == combination.npos;
}

size_t count_of(std::string_view combination, char letter) {
  return static_cast<size_t>(std::count(combination.begin(), combination.end(), letter));
}

// Two dtypes at most.
bool is_pair(std::string_view combination) {
  const size_t second = combination.find_first_not_of(combination[0]);
  return second == combination.npos ||
         is_within(combination, std::string{combination[0], combination[second]});
}

// One beside Float, or one Float beside it.
bool is_one_odd(std::string_view combination) {
  const size_t floats = count_of(combination, 'f');
  return is_pair(combination) && (floats == 1 || floats + 1 == combination.size());
}

// One operand's part of a pattern: "f", "[fh]", ".", "~". Empty where it is none.
std::string_view take_class(std::string_view& pattern) {
  size_t size = 1;
  if (pattern.front() == '[') {
    const size_t end = pattern.find(']');
    size = end == pattern.npos ? 0 : end + 1;
    if (size < 3 || !is_within(pattern.substr(1, size - 2), kLetters)) return "";
  } else if (pattern.front() != '.' && pattern.front() != '~' &&
             kLetters.find(pattern.front()) == kLetters.npos) {
    return "";
  }
  const std::string_view taken = pattern.substr(0, size);
  pattern.remove_prefix(size);
  return taken;
}

std::optional<size_t> size_of(std::string_view pattern) {
  size_t size = 0;
  for (; !pattern.empty(); ++size) {
    if (take_class(pattern).empty()) return std::nullopt;
  }
  return size;
}

bool fits(std::string_view pattern, std::string_view combination) {
  for (const char letter : combination) {
    if (pattern.empty()) return false;
    const std::string_view one = take_class(pattern);
    const bool is_first = one == "~" && letter == combination[0];
    if (!is_first && one != "." && one.find(letter) == one.npos) return false;
  }
  return pattern.empty();
}

// The operand without dimensions changes what the others promote to only where it is of a higher
// kind: c10's result_type.
DtypeSet counting(DtypeSet with_dimensions, DtypeSet without) {
  if (with_dimensions.empty()) return without;
  if (with_dimensions.intersects(kComplex)) return with_dimensions;
  if (without.intersects(kComplex)) {
    // Floating operands with a complex number keep their precision.
    return with_dimensions.within(kIntegers) ? with_dimensions | without
                                             : with_dimensions | Dtype::kComplexHalf;
  }
  const bool is_higher = with_dimensions.within(kIntegers) &&
                         (with_dimensions == DtypeSet(Dtype::kBool) || !without.within(kIntegers));
  return is_higher ? with_dimensions | without : with_dimensions;
}

std::optional<Dtype> promoted_complex(DtypeSet dtypes) {
  DtypeSet reals = dtypes & kFloats;
  if (dtypes.contains(Dtype::kComplexHalf)) reals |= Dtype::kHalf;
  if (dtypes.contains(Dtype::kComplexFloat)) reals |= Dtype::kFloat;
  if (dtypes.contains(Dtype::kComplexDouble)) reals |= Dtype::kDouble;
  const Dtype real = dtypecheck::promoted(reals).value_or(Dtype::kFloat);
  if (real == Dtype::kDouble) return Dtype::kComplexDouble;
  return real == Dtype::kHalf ? Dtype::kComplexHalf : Dtype::kComplexFloat;
}

// torch.promote_types of all of them: of the highest kind (complex, floating, integer, Bool) the
// widest, Short where Byte meets Char. Of float8 there is none, but of one dtype alone.
std::optional<Dtype> widest(DtypeSet dtypes) {
  if (dtypes.size() == 1) return dtypes.single();
  if (!dtypes.within(kFloats | kComplex | kIntegers)) return std::nullopt;
  if (dtypes.intersects(kComplex)) return promoted_complex(dtypes);
  if (dtypes.intersects(kFloats)) return dtypecheck::promoted(dtypes & kFloats);
  for (const Dtype integer : {Dtype::kLong, Dtype::kInt, Dtype::kShort}) {
    if (dtypes.contains(integer)) return integer;
  }
  const DtypeSet small = dtypes - Dtype::kBool;
  return small.size() == 1 ? small.single() : Dtype::kShort;
}

std::optional<Dtype> promoted(std::string_view operands, std::string_view combination) {
  DtypeSet with_dimensions, without;
  for (const char letter : combination) {
    const bool is_scalar = next_piece(operands, ',').ends_with("()");
    (is_scalar ? without : with_dimensions) |= dtype_of(letter);
  }
  return widest(counting(with_dimensions, without));
}

Dtype real_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kComplexHalf:
      return Dtype::kHalf;
    case Dtype::kComplexFloat:
      return Dtype::kFloat;
    case Dtype::kComplexDouble:
      return Dtype::kDouble;
    default:
      return kIntegers.contains(dtype) ? Dtype::kFloat : dtype;
  }
}

Dtype meaning(char symbol, Dtype promoted_to) {
  const bool is_integer = kIntegers.contains(promoted_to);
  switch (symbol) {
    case '%':
      return is_integer ? Dtype::kFloat : promoted_to;
    case '+':
      return is_integer ? Dtype::kLong : promoted_to;
    case '|':
      return real_of(promoted_to);
    case '&':
      return widest(DtypeSet(real_of(promoted_to)) | Dtype::kComplexHalf)
          .value_or(Dtype::kUndefined);
    default:
      return promoted_to;
  }
}

}  // namespace

bool is_combination(std::string_view operands, std::string_view combination,
                    std::string_view mode) {
  if (combination.empty() || !is_within(combination, kLetters)) return false;
  const size_t count = operand_count(operands);
  if (is_lone_list(operands)) {
    if (combination.size() == 1) return true;
    if (combination.size() != 2 || combination[0] == combination[1]) return false;
  } else if (combination.size() != count) {
    return false;
  }
  if (is_within(combination, kFirstLetters)) return count <= 3 || is_pair(combination);
  if (count_of(combination, combination[0]) == combination.size()) return true;
  if (combination.size() == 2)
    return combination.find_first_of(mode == "plain" ? "fhbdl" : "f") != combination.npos;
  return is_one_odd(combination);
}

std::vector<std::string> combinations(std::string_view operands) {
  constexpr size_t kMostOperands = 8;  // of any op that LibTorch has; a file may say anything
  const size_t longest = is_lone_list(operands) ? 2 : operand_count(operands);
  std::vector<std::string> of_length = {""};
  std::vector<std::string> all;
  for (size_t length = 1; length <= std::min(longest, kMostOperands); ++length) {
    std::vector<std::string> longer;
    for (const std::string& shorter : of_length) {
      for (const char letter : kFirstLetters) longer.push_back(shorter + letter);
    }
    of_length = std::move(longer);
    std::copy_if(of_length.begin(), of_length.end(), std::back_inserter(all),
                 [&](const std::string& one) { return is_combination(operands, one); });
  }
  return all;
}

bool is_pattern_of(size_t count, std::string_view pattern) { return size_of(pattern) == count; }

bool is_pattern(std::string_view operands, std::string_view pattern) {
  // Spelled out, it has to be one that can be; what a class stands for, only in part.
  if (is_within(pattern, kLetters)) return is_combination(operands, pattern);
  return is_pattern_of(operand_count(operands), pattern) ||
         (is_lone_list(operands) && is_pattern_of(2, pattern));
}

std::string_view word_in(std::string_view pattern, std::string_view combination) {
  std::string_view of_the_rest;
  while (!pattern.empty()) {
    const std::string_view part = next_piece(pattern, ' ');
    const size_t equals = part.find('=');
    std::string_view list = part.substr(equals + 1);
    if (list == "*") of_the_rest = part.substr(0, equals);
    while (!list.empty() && list != "*") {
      if (fits(next_piece(list, ','), combination)) return part.substr(0, equals);
    }
  }
  return of_the_rest;
}

std::string outcome_in(std::string_view operands, std::string_view pattern,
                       std::string_view combination) {
  const std::string_view word = word_in(pattern, combination);
  if (word.empty() || word == "?" || word == "." || word == "-" || word.front() == 'm')
    return std::string(word);
  std::string outcome;
  for (const char symbol : word) {
    char letter = symbol;
    if (symbol >= '0' && symbol <= '9') {
      const auto position = static_cast<size_t>(symbol - '0');
      letter = position < combination.size() ? combination[position] : '\0';
    } else if (kSymbols.find(symbol) != kSymbols.npos) {
      const auto dtype = promoted(operands, combination);
      letter = dtype ? operand_letter(meaning(symbol, *dtype)) : '\0';
    }
    if (letter == '\0') return "?";
    outcome += letter;
  }
  return outcome;
}

Dtype dtype_of(char letter) {
  // In the order of kLetters.
  constexpr Dtype kDtypes[] = {Dtype::kFloat,         Dtype::kHalf,          Dtype::kBFloat16,
                               Dtype::kDouble,        Dtype::kLong,          Dtype::kInt,
                               Dtype::kShort,         Dtype::kChar,          Dtype::kByte,
                               Dtype::kBool,          Dtype::kComplexFloat,  Dtype::kComplexHalf,
                               Dtype::kComplexDouble, Dtype::kFloat8_e4m3fn, Dtype::kFloat8_e5m2};
  static_assert(std::size(kDtypes) == kLetters.size());
  const size_t index = kLetters.find(letter);
  return index < std::size(kDtypes) ? kDtypes[index] : Dtype::kUndefined;
}

char operand_letter(Dtype dtype) {
  const auto letter =
      std::ranges::find_if(kLetters, [&](char one) { return dtype_of(one) == dtype; });
  return letter == kLetters.end() ? '\0' : *letter;
}

}  // namespace dtypecheck::contracts
