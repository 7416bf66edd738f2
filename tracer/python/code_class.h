// code_class.h: whose code a Python code object is. Asked for every frame of every walk, so the
// answer is kept in a table keyed by the code object's address, without a lock. An entry also holds
// its file name and name, by address: a freed code object whose address is used again does not
// match, and is looked at afresh; nor does an entry that is half written.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "tracer/python/layout.h"

namespace dtypecheck::tracer::python {

enum class CodeKind : uint8_t {
  kNone = 0,
  kTorch = 1,
  kStandardLibrary = 2,
  kLibrary = 3,
  kUser = 4,
  // nn.Module's own call, whose `self` is the module that is called; it is torch's code as well.
  kModuleCall = 5,
};

// Low three bits: the kind; the others: which local holds `self` (kModuleCall).
using CodeClass = uint8_t;
inline CodeKind kind_of(CodeClass c) { return static_cast<CodeKind>(c & 7); }
inline size_t self_slot_of(CodeClass c) { return c >> 3; }

inline uint64_t word_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

struct CodeEntry {
  std::atomic<uint64_t> code;
  std::atomic<uint64_t> check;  // of file name and name, and the class in the low byte
};
inline constexpr unsigned kCodeTableBits = 13;
extern CodeEntry code_table[1u << kCodeTableBits];

inline CodeEntry& code_entry(const Object* code) {
  return code_table[word_of(code) * 0x9E3779B97F4A7C15u >> (64 - kCodeTableBits)];
}

// Addresses have 47 bits, and the low four are 0.
template <const Layout& At = layout>
inline uint64_t code_check(const Object* code) {
  return (word_of(code_filename<At>(code)) << 8) ^ (word_of(code_name<At>(code)) << 20);
}

// The class, or -1 when the code object was not seen yet (or its entry was needed for another one).
template <const Layout& At = layout>
inline int known_class(const Object* code) {
  const CodeEntry& entry = code_entry(code);
  if (entry.code.load(std::memory_order_relaxed) != word_of(code)) return -1;
  const uint64_t difference = entry.check.load(std::memory_order_relaxed) ^ code_check<At>(code);
  return difference < 256 ? static_cast<int>(difference) : -1;
}

// Cold, but without the GIL: looks at the code object and keeps what it found. `caller` is the code
// of the frame that called it, or null.
CodeClass classify_code(const Object* code, const Object* caller);

// The local in which a function finds its first argument. One that an inner function captures lives
// in a cell: up to 3.10 its own slot is then empty, and the cells follow the locals; from 3.11 on
// the cell lies in the slot.
size_t slot_of_first(const Object* code);

// Where Python, its libraries and torch lie: read once, with the GIL held.
void learn_paths();

}  // namespace dtypecheck::tracer::python
