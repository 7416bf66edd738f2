#include "platform/elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace dtypecheck {

std::optional<ElfFile> ElfFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat info{};
  const bool usable =
      ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= off_t{sizeof(Elf32_Ehdr)};
  const auto size_bytes = static_cast<size_t>(info.st_size);
  void* data = usable ? ::mmap(nullptr, size_bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  ::close(fd);
  if (data == MAP_FAILED) return std::nullopt;
  ElfFile file(static_cast<const char*>(data), size_bytes);
  if (std::memcmp(data, ELFMAG, SELFMAG) != 0) return std::nullopt;
  return file;
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

ElfFile::~ElfFile() {
  if (data_) ::munmap(const_cast<char*>(data_), size_bytes_);
}

template <typename T>
std::optional<T> ElfFile::read_at(uint64_t offset) const {
  if (offset > size_bytes_ || size_bytes_ - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, data_ + offset, sizeof(T));  // nothing says that it is aligned
  return value;
}

bool ElfFile::is_64_bit() const { return data_[EI_CLASS] == ELFCLASS64; }

// At the same place in either class.
unsigned ElfFile::machine() const {
  return read_at<Elf64_Half>(offsetof(Elf64_Ehdr, e_machine)).value_or(EM_NONE);
}

std::optional<Elf64_Phdr> ElfFile::program_header(uint32_t type) const {
  const auto header = read_at<Elf64_Ehdr>(0);
  if (!header || !is_64_bit()) return std::nullopt;
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto entry = read_at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!entry) return std::nullopt;
    if (entry->p_type == type) return entry;
  }
  return std::nullopt;
}

bool ElfFile::has_interpreter() const { return program_header(PT_INTERP).has_value(); }

std::optional<uint64_t> ElfFile::file_offset_of(uint64_t address) const {
  const auto header = read_at<Elf64_Ehdr>(0);
  for (uint64_t i = 0; header && i < header->e_phnum; ++i) {
    const auto entry = read_at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!entry) break;
    if (entry->p_type != PT_LOAD || address < entry->p_vaddr) continue;
    if (address - entry->p_vaddr < entry->p_filesz)
      return entry->p_offset + (address - entry->p_vaddr);
  }
  return std::nullopt;
}

std::string_view ElfFile::dynamic_names() const {
  const auto dynamic = program_header(PT_DYNAMIC);
  if (!dynamic) return {};
  uint64_t address = 0, length = 0;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic->p_filesz; at += sizeof(Elf64_Dyn)) {
    const auto entry = read_at<Elf64_Dyn>(dynamic->p_offset + at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_STRTAB) address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRSZ) length = entry->d_un.d_val;
  }
  const auto offset = file_offset_of(address);
  if (!offset || *offset > size_bytes_ || length > size_bytes_ - *offset) return {};
  return {data_ + *offset, length};
}

}  // namespace dtypecheck
