// message_table.h: the sentences in which dtype faults are reported, as LibTorch and its libraries
// print them, and what each one alone says about the fault.
#pragma once

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

struct Message {
  const char* id;
  std::vector<std::string_view> texts;  // spellings; "{}" is where a dtype or a number stands
  Family family;
  std::vector<std::pair<Category, double>> leans;  // what the sentence alone suggests
  const char* meaning;
  std::vector<const char*> ops;  // "op: operand pair", from measured runs of LibTorch 1.13 to 2.11
  const char* versions = "";     // which LibTorch says so
  bool is_symptom = false;       // a sign, not an error: it leads only where nothing else does
  size_t least_dtypes = 0;       // so many "{}" must hold a dtype, or the sentence is another one
};

const std::vector<Message>& messages();

// Errors that are often taken for dtype errors, and what they are instead.
struct OtherError {
  std::vector<std::string_view> texts;
  const char* what;
};
const std::vector<OtherError>& other_errors();

}  // namespace dtypecheck::explain
