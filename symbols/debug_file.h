// debug_file.h: one ELF file with its debug information.
#pragma once

#include <elfutils/libdwfl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/site.h"
#include "symbols/function_index.h"

namespace dtypecheck::symbols {

struct Symbol {
  std::string name;
  uint64_t offset = 0;
};

class DebugFile {
 public:
  // Null for what is not a regular file, is no ELF file or is larger than kMaxFileBytes.
  static std::unique_ptr<DebugFile> open(const std::string& path);

  // Where the byte at this offset of the file is in the address space that the functions below use.
  std::optional<uint64_t> address_of(uint64_t file_offset) const;

  // The line at an address and, where functions were inlined, the lines that called them: innermost
  // first, each with the function that it stands in. Empty without debug information.
  std::vector<SourceLine> frames(uint64_t address);
  std::optional<Symbol> symbol(uint64_t address) const;

 private:
  struct EndSession {
    void operator()(Dwfl* session) const { dwfl_end(session); }
  };
  DebugFile(std::unique_ptr<Dwfl, EndSession> session, Dwfl_Module* module)
      : session_(std::move(session)), module_(module) {}

  bool find_unit(uint64_t address, Dwarf_Die* unit, Dwarf_Addr* bias) const;

  const FunctionIndex& index_of(Dwarf_Die unit);

  std::unique_ptr<Dwfl, EndSession> session_;
  Dwfl_Module* module_;
  std::map<const void*, FunctionIndex> indexes_;  // by the address of the unit's DIE
};

}  // namespace dtypecheck::symbols
