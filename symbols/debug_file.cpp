#include "symbols/debug_file.h"

#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "symbols/function_name.h"

namespace dtypecheck::symbols {
namespace {

constexpr off_t kMaxFileBytes = off_t{8} << 30;  // libtorch with debug information is 4 GB

// libdw asks a debuginfod server when this is set, and waits for its answer.
class WithoutDebuginfod {
 public:
  WithoutDebuginfod() {
    if (const char* urls = std::getenv(kName)) urls_ = urls;
    unsetenv(kName);
  }
  ~WithoutDebuginfod() {
    if (!urls_.empty()) setenv(kName, urls_.c_str(), 1);
  }

 private:
  static constexpr const char* kName = "DEBUGINFOD_URLS";
  std::string urls_;
};

// O_NONBLOCK: to open a pipe would wait for its writer.
int open_regular(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return -1;
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= kMaxFileBytes) return fd;
  close(fd);
  return -1;
}

const Dwfl_Callbacks* callbacks() {
  static const Dwfl_Callbacks functions = {
      .find_elf = dwfl_build_id_find_elf,
      .find_debuginfo = dwfl_standard_find_debuginfo,
      .section_address = dwfl_offline_section_address,
      .debuginfo_path = nullptr,
  };
  return &functions;
}

// A compiler that was given a relative path writes down that one, and where it ran.
std::string folder_of(Dwarf_Die* unit) {
  Dwarf_Attribute attribute;
  const char* folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
  return folder == nullptr ? "" : folder;
}

std::string normal_path(const std::string& folder, const char* path) {
  return (std::filesystem::path(folder) / path).lexically_normal();
}

int call_line(Dwarf_Die* inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0) return 0;
  return static_cast<int>(line);
}

std::string call_file(Dwarf_Die* unit, const std::string& folder, Dwarf_Die* inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word index = 0;
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &index) != 0) return "";
  if (dwarf_getsrcfiles(unit, &files, &count) != 0 || index >= count) return "";
  const char* file = dwarf_filesrc(files, index, nullptr, nullptr);
  return file ? normal_path(folder, file) : "";
}

SourceLine line_at(Dwarf_Die* unit, const std::string& folder, Dwarf_Addr address) {
  SourceLine source;
  Dwarf_Line* line = dwarf_getsrc_die(unit, address);
  if (!line) return source;
  dwarf_lineno(line, &source.line);
  if (const char* file = dwarf_linesrc(line, nullptr, nullptr))
    source.file = normal_path(folder, file);
  return source;
}

// With split DWARF, the functions are in another file than the line table.
Dwarf_Die unit_with_functions(Dwarf_Die unit) {
  uint8_t type = 0;
  Dwarf_Die split = {};
  if (dwarf_cu_info(unit.cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) != 0)
    return unit;
  return type == DW_UT_skeleton && split.addr != nullptr ? split : unit;
}

}  // namespace

std::unique_ptr<DebugFile> DebugFile::open(const std::string& path) {
  const int fd = open_regular(path);
  if (fd < 0) return nullptr;
  std::unique_ptr<Dwfl, EndSession> session(dwfl_begin(callbacks()));
  if (!session) {
    close(fd);
    return nullptr;
  }
  dwfl_report_begin(session.get());
  Dwfl_Module* module = dwfl_report_offline(session.get(), path.c_str(), path.c_str(), fd);
  if (!module) close(fd);  // else it is libdw's
  dwfl_report_end(session.get(), nullptr, nullptr);
  if (!module) return nullptr;
  const WithoutDebuginfod offline;
  Dwarf_Addr bias;
  dwfl_module_getdwarf(module, &bias);
  return std::unique_ptr<DebugFile>(new DebugFile(std::move(session), module));
}

std::optional<uint64_t> DebugFile::address_of(uint64_t file_offset) const {
  Dwarf_Addr bias = 0;
  Elf* elf = dwfl_module_getelf(module_, &bias);
  size_t count = 0;
  if (!elf || elf_getphdrnum(elf, &count) != 0) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf, static_cast<int>(i), &segment)) return std::nullopt;
    const bool is_code = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
    if (is_code && file_offset - segment.p_offset < segment.p_filesz) {
      return file_offset - segment.p_offset + segment.p_vaddr + bias;
    }
  }
  return std::nullopt;
}

// libdw looks in .debug_aranges alone, which Clang does not write.
bool DebugFile::find_unit(uint64_t address, Dwarf_Die* unit, Dwarf_Addr* bias) const {
  if (Dwarf_Die* found = dwfl_module_addrdie(module_, address, bias)) {
    *unit = *found;
    return true;
  }
  Dwarf_Die* next = nullptr;
  while ((next = dwfl_module_nextcu(module_, next, bias)) != nullptr) {
    if (dwarf_haspc(next, address - *bias) != 1) continue;
    *unit = *next;
    return true;
  }
  return false;
}

std::vector<SourceLine> DebugFile::frames(uint64_t address) {
  Dwarf_Die unit;
  Dwarf_Addr bias = 0;
  if (!find_unit(address, &unit, &bias)) return {};
  const std::string folder = folder_of(&unit);
  SourceLine line = line_at(&unit, folder, address - bias);
  if (!line.known()) return {};

  std::vector<SourceLine> frames;
  Dwarf_Die with_functions = unit_with_functions(unit);
  for (Dwarf_Die function : index_of(with_functions).functions_at(address - bias)) {
    line.function = function_name(function);
    frames.push_back(line);
    line = SourceLine{call_file(&with_functions, folder, &function), call_line(&function), ""};
  }
  if (frames.empty()) frames.push_back(line);  // line tables only: a function may have no DIE
  return frames;
}

const FunctionIndex& DebugFile::index_of(Dwarf_Die unit) {
  return indexes_.try_emplace(unit.addr, unit).first->second;
}

std::optional<Symbol> DebugFile::symbol(uint64_t address) const {
  GElf_Off offset = 0;
  GElf_Sym found;
  const char* name =
      dwfl_module_addrinfo(module_, address, &offset, &found, nullptr, nullptr, nullptr);
  if (!name || !*name) return std::nullopt;
  return Symbol{readable_name(name), offset};
}

}  // namespace dtypecheck::symbols
