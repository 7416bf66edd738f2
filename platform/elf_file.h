// elf_file.h: the little of an ELF file that decides whether a program can be traced and which C++
// ABI a library has. Any bytes are taken: what does not fit is "not known", never a crash.
#pragma once

#include <elf.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dtypecheck {

class ElfFile {
 public:
  // Nothing when the file cannot be mapped or is no ELF file.
  static std::optional<ElfFile> open(const std::string& path);

  ElfFile(ElfFile&& other) noexcept;
  ElfFile& operator=(ElfFile&&) = delete;
  ~ElfFile();

  bool is_64_bit() const;
  unsigned machine() const;  // EM_X86_64, …
  // Asks for a dynamic loader; a program without one is static, and nothing can be preloaded into
  // it. 64-bit files only.
  bool has_interpreter() const;
  // The string table of the dynamic symbols, names separated by zeros; empty when there is none.
  // 64-bit files only.
  std::string_view dynamic_names() const;

 private:
  ElfFile(const char* data, size_t size_bytes) : data_(data), size_bytes_(size_bytes) {}

  template <typename T>
  std::optional<T> read_at(uint64_t offset) const;
  std::optional<Elf64_Phdr> program_header(uint32_t type) const;
  std::optional<uint64_t> file_offset_of(uint64_t address) const;

  const char* data_;
  size_t size_bytes_;
};

}  // namespace dtypecheck
