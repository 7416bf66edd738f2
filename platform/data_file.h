// data_file.h: reads tables that are text, explain/data/ and rules/kernel_names/, so that whoever
// meets a new message or name can add it without reading C++. The build embeds them, and a test
// reads each file as strictly as the program does.
//
//   # A comment takes a line of its own.
//   message matmul-operands       a block begins at the margin,
//     says mat1 and mat2 must     its fields are indented by two blanks,
//       have the same dtype       and what is indented by four or more goes on, after one blank
//
// In a value "\n" is a line break. The head of each file says which blocks and fields it has.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck {

// A key and its value, and where they stand.
struct Field {
  std::string key, value;
  std::string_view file;
  size_t line = 0;

  // Throws InputError: "explain/data/messages.txt:12: …".
  [[noreturn]] void fail(std::string_view what) const;
  [[noreturn]] void fail_unknown_key(const std::vector<std::string_view>& known) const;

  // "a | b | c": never empty, and no part is.
  std::vector<std::string> parts() const;
  double number(std::string_view text) const;  // a weight or a count: 0 to 100
};

// A key that fields of a block may have, and who reads these.
enum Times { kMany = 0, kOnce = 1, kNeeded = 2 };
struct KnownField {
  std::string_view key;
  int times;  // of Times, joined by |
  std::function<void(const Field&)> read;
};

struct DataBlock {
  Field head;
  std::vector<Field> fields;

  // Each field by the one of its key, in the order of the text. Throws InputError where it is none
  // of these, and as require() and allow_once() do.
  void read(const std::vector<KnownField>& known) const;

  // Throw InputError where one of them is missing or empty, or is there more than once.
  void require(const std::vector<std::string_view>& keys) const;
  void allow_once(const std::vector<std::string_view>& keys) const;
};

// `file` is named in errors and must outlive the blocks.
std::vector<DataBlock> read_blocks(std::string_view text, std::string_view file);

}  // namespace dtypecheck
