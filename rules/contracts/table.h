// table.h: one contract file, read. Its patterns stay text, checked once, and are searched when an
// op is asked about: a run asks for a few hundred of the thousands.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rules/contracts/contracts.h"

namespace dtypecheck::contracts {

struct Message {
  std::string type;  // "RuntimeError"
  std::string text;  // with {S1} for the dtype of an operand
};

struct Row {
  std::string_view mode;     // "plain"
  uint64_t columns = 0;      // one bit for each runtime
  std::string_view pattern;  // "f=ff,fh m12=*"
};

struct Op {
  std::string_view name;      // "aten::add.Tensor"
  std::string_view operands;  // "self,other()"
  std::vector<Row> rows;
};

struct Table {
  std::string text;  // what the views below point into
  std::vector<Runtime> runtimes;
  std::unordered_map<uint32_t, Message> messages;
  std::vector<Op> ops;
  std::unordered_map<std::string, std::vector<size_t>> by_name;  // "aten::add.Tensor", "aten::add"

  const Row* row(const Op& op, std::string_view mode, size_t column) const;
  // By name with overload, or without: all that the dispatcher has under it.
  std::vector<const Op*> ops_named(std::string_view name) const;

  // What was asked about ops by name, kept; the table itself never changes.
  mutable std::mutex behaviours_mutex;
  mutable std::map<size_t, std::map<std::string, Behaviour, std::less<>>> behaviours;  // by column
};

// Throws InputError with name and line.
std::shared_ptr<const Table> read_table(std::string text, const std::string& name);

// "self,other()" is one operand a name: how many letters a combination of them has. A list that is
// the only operand may have two, one for each half of its elements.
bool is_combination(std::string_view operands, std::string_view combination);

// All that is_combination() is true of.
std::vector<std::string> combinations(std::string_view operands);

// The word that a checked pattern has for the combination; "" for none.
std::string_view outcome_in(std::string_view pattern, std::string_view combination);

// What the runtime of the column does with the op's operands in general.
const Behaviour& behaviour_of(const Table& table, size_t column, std::string_view op);

// The ops, without overload, that a runtime of the table refused for want of the kernel, and
// whether the runtime of this column does.
std::map<std::string, bool> calls_of_kernel(const Table& table, size_t column,
                                            std::string_view kernel, Dtype dtype);

inline constexpr std::string_view kLetters = "fhbd";  // of operands: Float, Half, BFloat16, Double
inline constexpr std::string_view kResultLetters =
    "fhbdliscuoFHDx";  // x: of a dtype without a letter

// kUndefined for "x" and for what is no letter; '\0' for a dtype that operands are not measured in.
Dtype dtype_of(char letter);
char operand_letter(Dtype dtype);

}  // namespace dtypecheck::contracts
