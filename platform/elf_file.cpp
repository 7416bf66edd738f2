#include "platform/elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace dtypecheck {

ElfFile::ElfFile(Elf* elf) : elf_(elf, elf_end) {}

std::optional<ElfFile> ElfFile::open(const std::string& path) {
  elf_version(EV_CURRENT);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat info {};
  const bool is_file = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  ElfFile file(is_file ? elf_begin(fd, ELF_C_READ_MMAP, nullptr) : nullptr);
  if (file.elf_ != nullptr) elf_cntl(file.elf_.get(), ELF_C_FDDONE);
  ::close(fd);
  if (file.elf_ == nullptr || elf_kind(file.elf_.get()) != ELF_K_ELF) return std::nullopt;
  return file;
}

bool ElfFile::is_64_bit() const { return gelf_getclass(elf_.get()) == ELFCLASS64; }

unsigned ElfFile::machine() const {
  GElf_Ehdr header;
  return gelf_getehdr(elf_.get(), &header) == nullptr ? EM_NONE : header.e_machine;
}

std::string ElfFile::interpreter() const {
  size_t count = 0, size = 0;
  const char* bytes = elf_rawfile(elf_.get(), &size);
  elf_getphdrnum(elf_.get(), &count);
  GElf_Phdr header;
  for (size_t i = 0; i < count && gelf_getphdr(elf_.get(), static_cast<int>(i), &header); ++i) {
    if (header.p_type != PT_INTERP || bytes == nullptr || header.p_offset >= size) continue;
    const std::string_view rest(bytes + header.p_offset, size - header.p_offset);
    return std::string(rest.substr(0, std::min<size_t>(header.p_filesz, rest.find('\0'))));
  }
  return "";
}

std::string_view ElfFile::dynamic_names() const {
  for (Elf_Scn* at = nullptr; (at = elf_nextscn(elf_.get(), at)) != nullptr;) {
    GElf_Shdr symbols;
    if (gelf_getshdr(at, &symbols) == nullptr || symbols.sh_type != SHT_DYNSYM) continue;
    const Elf_Data* names = elf_rawdata(elf_getscn(elf_.get(), symbols.sh_link), nullptr);
    if (names != nullptr && names->d_buf != nullptr) {
      return {static_cast<const char*>(names->d_buf), names->d_size};
    }
  }
  return {};
}

}  // namespace dtypecheck
