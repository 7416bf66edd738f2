// cause_table.h: for each category what the fault is, its usual causes in order, the cure for each,
// and the remedies in circulation that only hide it. The table is explain/data/causes.txt.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype_set.h"
#include "explain/category.h"

namespace dtypecheck::explain {

struct Cause {
  std::string cause;
  std::string cure;
  std::vector<std::string> signs;  // words of the surroundings that speak for this cause
  std::vector<std::string> when;   // where not empty, one of these must stand in the text
  // Cards and devices that speak for it, wherever the text names them: the environment counts here.
  std::vector<std::string> device;
  bool is_of_device = false;  // it is no cause on another one
  // Where not empty, the messages that it belongs to alone, by id; "words" for a report in words.
  std::vector<std::string> messages;
  // Where not empty, a message that names dtypes names one of these.
  std::vector<Dtype> dtypes;
  bool is_upgrade = false;  // the kernel came later: no cause where the text's LibTorch has it
};

struct Fault {
  std::string meaning;
  std::string shown;          // what shows that it is this one
  std::string asks;           // the line or command whose output shows it
  double silent = 0;          // how common it is among faults that raise nothing
  std::vector<Dtype> dtypes;  // where not empty, a message that names dtypes names one of these
  std::vector<Cause> causes;  // the commonest first
  std::vector<std::string> hides;
};

// One for each category, in the order of the enumerators.
using CauseTable = std::array<Fault, kCategoryCount>;

const Fault& fault_of(Category category);
// Throws InputError with file and line.
CauseTable read_cause_table(std::string_view text, std::string_view file);

}  // namespace dtypecheck::explain
