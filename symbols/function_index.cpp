#include "symbols/function_index.h"

#include <dwarf.h>

#include <cstdlib>
#include <memory>

#include "symbols/function_name.h"

namespace dtypecheck::symbols {
namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxDies = 20'000'000;  // a large unit has one million
constexpr int kMaxRanges = 1000;      // of one function

struct FreeScopes {
  void operator()(Dwarf_Die* scopes) const { std::free(scopes); }
};

bool may_hold_functions(int tag) {
  switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
      return true;
    default:
      return false;
  }
}

// The child of a function or block that an address is in.
std::optional<Dwarf_Die> child_at(Dwarf_Die parent, Dwarf_Addr address) {
  Dwarf_Die child;
  int budget = kMaxDies;
  for (int more = dwarf_child(&parent, &child); more == 0 && --budget > 0;
       more = dwarf_siblingof(&child, &child)) {
    const int tag = dwarf_tag(&child);
    const bool is_scope = tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
                          tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
    if (is_scope && dwarf_haspc(&child, address) == 1) return child;
  }
  return std::nullopt;
}

// Where a function was written down: its declaration, not one of its instances.
Dwarf_Die declaration_of(Dwarf_Die function) {
  for (int links = 0; links < 8; ++links) {
    Dwarf_Attribute attribute;
    Dwarf_Die next;
    Dwarf_Attribute* link = dwarf_attr(&function, DW_AT_abstract_origin, &attribute);
    if (!link) link = dwarf_attr(&function, DW_AT_specification, &attribute);
    if (!link || !dwarf_formref_die(link, &next)) break;
    function = next;
  }
  return function;
}

std::string enclosing_names(Dwarf_Die declaration) {
  Dwarf_Die* raw = nullptr;
  const int count = dwarf_getscopes_die(&declaration, &raw);
  const std::unique_ptr<Dwarf_Die, FreeScopes> scopes(raw);
  std::string names;
  for (int i = 1; i < count; ++i) {
    const int tag = dwarf_tag(raw + i);
    if (tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit) break;
    const char* name = dwarf_diename(raw + i);
    if (name) names = std::string(name) + "::" + names;
    if (!name && tag == DW_TAG_namespace) names = "(anonymous namespace)::" + names;
  }
  return names;
}

}  // namespace

FunctionIndex::FunctionIndex(Dwarf_Die unit) : budget_(kMaxDies) { add_children(unit, 0); }

void FunctionIndex::add_children(Dwarf_Die parent, int depth) {
  Dwarf_Die child;
  for (int more = dwarf_child(&parent, &child); more == 0 && --budget_ > 0;
       more = dwarf_siblingof(&child, &child)) {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) add(child);
    if (may_hold_functions(tag) && depth < kMaxDepth) add_children(child, depth + 1);
  }
}

void FunctionIndex::add(Dwarf_Die function) {
  Dwarf_Addr base, begin, end;
  ptrdiff_t next = 0;
  for (int i = 0; i < kMaxRanges; ++i) {
    next = dwarf_ranges(&function, next, &base, &begin, &end);
    if (next <= 0) return;
    if (begin < end) ranges_.push_back({begin, end, function});
  }
}

std::vector<Dwarf_Die> FunctionIndex::functions_at(Dwarf_Addr address) const {
  std::vector<Dwarf_Die> functions;
  for (const Range& range : ranges_) {
    if (address < range.begin || address >= range.end) continue;
    functions.push_back(range.function);
    break;
  }
  if (functions.empty()) return functions;
  std::optional<Dwarf_Die> scope = functions.front();
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    scope = child_at(*scope, address);
    if (!scope) break;
    if (dwarf_tag(&*scope) == DW_TAG_inlined_subroutine)
      functions.insert(functions.begin(), *scope);
  }
  return functions;
}

std::string function_name(Dwarf_Die function) {
  Dwarf_Attribute attribute;
  for (const unsigned kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (!dwarf_attr_integrate(&function, kind, &attribute)) continue;
    if (const char* name = dwarf_formstring(&attribute)) return readable_name(name);
  }
  // A function that no other file can call may have no linkage name.
  Dwarf_Die declaration = declaration_of(function);
  const char* name = dwarf_diename(&declaration);
  return name ? enclosing_names(declaration) + name : "";
}

}  // namespace dtypecheck::symbols
