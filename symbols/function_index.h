// function_index.h: which function of a compilation unit an address is in.
//
// libdw's dwarf_getscopes() walks the unit anew for each address, and in 0.188 does not look into
// namespaces, where Clang puts the functions that are defined there.
#pragma once

#include <elfutils/libdw.h>

#include <optional>
#include <string>
#include <vector>

namespace dtypecheck::symbols {

class FunctionIndex {
 public:
  explicit FunctionIndex(Dwarf_Die unit);

  // The function, preceded by the functions inlined there: innermost first. Empty when there is
  // none.
  std::vector<Dwarf_Die> functions_at(Dwarf_Addr address) const;

 private:
  struct Range {
    Dwarf_Addr begin, end;
    Dwarf_Die function;
  };
  void add_children(Dwarf_Die parent, int depth);
  void add(Dwarf_Die function);

  std::vector<Range> ranges_;
  int budget_;  // DIEs still to be looked at: a damaged unit may be a circle
};

// "sdxl::Block::forward". Empty when the DIE has no name.
std::string function_name(Dwarf_Die function);

}  // namespace dtypecheck::symbols
