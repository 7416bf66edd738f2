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
  struct stat info{};
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

namespace {

const Elf_Data* data_of(Elf_Scn* section, GElf_Shdr& header) {
  return gelf_getshdr(section, &header) == nullptr ? nullptr : elf_getdata(section, nullptr);
}

bool is_called(Elf* elf, size_t names, const GElf_Sym& symbol, std::string_view name) {
  const char* text = elf_strptr(elf, names, symbol.st_name);
  return text != nullptr && text == name;
}

}  // namespace

std::optional<uint64_t> ElfFile::symbol_address(std::string_view name) const {
  for (Elf_Scn* at = nullptr; (at = elf_nextscn(elf_.get(), at)) != nullptr;) {
    GElf_Shdr header;
    const Elf_Data* data = data_of(at, header);
    if (data == nullptr || header.sh_type != SHT_DYNSYM || header.sh_entsize == 0) continue;
    GElf_Sym symbol;
    for (int i = 0; gelf_getsym(const_cast<Elf_Data*>(data), i, &symbol) != nullptr; ++i) {
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
          is_called(elf_.get(), header.sh_link, symbol, name))
        return symbol.st_value;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> ElfFile::slot_address(std::string_view name) const {
  for (Elf_Scn* at = nullptr; (at = elf_nextscn(elf_.get(), at)) != nullptr;) {
    GElf_Shdr header, symbols_header;
    const Elf_Data* data = data_of(at, header);
    if (data == nullptr || header.sh_type != SHT_RELA || header.sh_link == 0) continue;
    const Elf_Data* symbols = data_of(elf_getscn(elf_.get(), header.sh_link), symbols_header);
    if (symbols == nullptr) continue;
    GElf_Rela slot;
    for (int i = 0; gelf_getrela(const_cast<Elf_Data*>(data), i, &slot) != nullptr; ++i) {
      const auto type = GELF_R_TYPE(slot.r_info);
      if (type != R_X86_64_JUMP_SLOT) continue;
      GElf_Sym symbol;
      const auto index = static_cast<int>(GELF_R_SYM(slot.r_info));
      if (gelf_getsym(const_cast<Elf_Data*>(symbols), index, &symbol) != nullptr &&
          is_called(elf_.get(), symbols_header.sh_link, symbol, name))
        return slot.r_offset;
    }
  }
  return std::nullopt;
}

}  // namespace dtypecheck
