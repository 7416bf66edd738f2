// elf_file.h: the little of an ELF file that decides whether a program can be traced and which C++
// ABI a library has. Any bytes are taken: what does not fit is "not known", never a crash.
#pragma once

#include <elf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct Elf;

namespace dtypecheck {

class ElfFile {
 public:
  // Nothing when the file cannot be mapped or is no ELF file.
  static std::optional<ElfFile> open(const std::string& path);

  bool is_64_bit() const;
  unsigned machine() const;  // EM_X86_64, …
  // The dynamic loader that it asks for; a program without one ("") is static, and nothing can be
  // preloaded into it.
  std::string interpreter() const;
  // The string table of the dynamic symbols, names separated by zeros; empty when there is none.
  std::string_view dynamic_names() const;
  // Of a dynamic symbol that is defined here; and of the slot that its calls, or uses of its
  // address, go through. Both as the file counts, from where it is loaded.
  std::optional<uint64_t> symbol_address(std::string_view name) const;
  std::optional<uint64_t> slot_address(std::string_view name) const;

 private:
  explicit ElfFile(Elf* elf);
  std::unique_ptr<Elf, int (*)(Elf*)> elf_;
};

}  // namespace dtypecheck
