// message_table.h: the sentences in which dtype faults are reported, as LibTorch and its libraries
// print them, and what each one alone says about the fault. The table is explain/data/messages.txt.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explain/category.h"

namespace dtypecheck::explain {

// Which signals of the surroundings can speak about a message.
enum class Family : unsigned {
  kMismatch = 1,   // two dtypes met
  kKernel = 2,     // no kernel for a dtype
  kOptimizer = 4,  // optimizer and scaler
  kValues = 8,     // NaN, inf, a skipped step
  kOwn = 16,       // the sentence says it all
  kProse = 32,     // no message: somebody describes what he sees
};
std::optional<Family> parse_family(std::string_view name);
constexpr unsigned bit_of(Family family) { return static_cast<unsigned>(family); }

// Words that stand in a sentence exactly so, with case, and what they suggest.
struct Spelling {
  Category category = Category::kOther;
  double weight = 0;
  std::vector<std::string> words;
};

struct Message {
  std::string id;
  std::vector<std::string> texts;  // spellings; "{}" is where a dtype or a number stands
  // For each spelling whose dtype each "{}" is; empty where it is nobody's.
  std::vector<std::vector<std::string>> operands;
  Family family = Family::kOwn;
  std::vector<std::pair<Category, double>> leans;  // what the sentence alone suggests
  std::vector<Spelling> spelled;
  std::vector<Category> never;  // what it cannot be, whatever stands around it
  std::string meaning;
  std::vector<std::string> ops;  // "op: operand pair"
  std::string versions;          // which LibTorch says so
  bool is_symptom = false;       // a sign, not an error: it leads only where nothing else does
  bool is_vague = false;         // any op may say it: words around it count as without a message
  size_t least_dtypes = 0;       // so many "{}" must hold a dtype, or the sentence is another one
};

// Errors that are often taken for dtype errors, and what they are instead.
struct OtherError {
  std::vector<std::string> texts;  // in normal form
  std::string what;
};

// Words that many errors about dtypes share, for those that are in no table.
struct UnknownKind {
  std::string id;
  std::vector<std::string> words;  // in normal form, one of them is in the line; empty: any line
  size_t least_dtypes = 0;         // so many dtypes at least are named there for certain
  size_t least_named = 0;          // so many at least are named there at all
  Family family = Family::kMismatch;
  std::vector<std::pair<Category, double>> leans;
};

struct MessageTable {
  std::vector<Message> messages;
  std::vector<UnknownKind> unknown;
  std::vector<OtherError> others;
};

const std::vector<Message>& messages();
const std::vector<UnknownKind>& unknown_kinds();  // the first that fits is meant
const std::vector<OtherError>& other_errors();
// Throws InputError with file and line.
MessageTable read_message_table(std::string_view text, std::string_view file);

}  // namespace dtypecheck::explain
