// table.h: one contract file, read. Its patterns stay text, checked once, and are searched when an
// op is asked about: a run asks for a few hundred of the thousands.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rules/contracts/contracts.h"
#include "rules/contracts/pattern.h"

namespace dtypecheck::contracts {

struct Message {
  // "RuntimeError", and in some runtimes another, as one bit for each of these says.
  std::string type;
  std::vector<std::pair<std::string, uint64_t>> others;
  std::string text;  // with {S1} for the dtype of an operand

  const std::string& type_in(size_t column) const;
};

struct Row {
  std::string_view mode;     // "plain"
  uint64_t columns = 0;      // one bit for each runtime
  std::string_view pattern;  // "f=ff,fh m12=*"
};

struct Op {
  std::string_view name;      // "aten::add.Tensor"
  std::string_view operands;  // "self,other()"
  std::string_view fixed;     // "index:l": tensors beside them, and the dtype that they had
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

// "lo" of an op with the fixed "index:l,mask:o".
std::string fixed_letters(const Op& op);

// What the runtime of the column does with the op's operands in general.
const Behaviour& behaviour_of(const Table& table, size_t column, std::string_view op);

}  // namespace dtypecheck::contracts
