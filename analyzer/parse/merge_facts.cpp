#include "analyzer/parse/merge_facts.h"

#include <algorithm>
#include <set>
#include <utility>

namespace dtypecheck::analyzer {

template <typename Fact>
static void add_new(std::vector<Fact>& facts, std::vector<Fact>& others) {
  std::set<Place> known;
  for (const Fact& fact : facts) known.insert(fact.place);
  for (Fact& fact : others) {
    if (!known.contains(fact.place)) facts.push_back(std::move(fact));
  }
}

template <typename Fact>
static void append(std::vector<Fact>& facts, std::vector<Fact>& others) {
  for (Fact& fact : others) facts.push_back(std::move(fact));
}

// A field holds what is written with any of the switches.
static void add_fields(SourceFacts& facts, SourceFacts& other) {
  append(facts.classes, other.classes);
  append(facts.field_writes, other.field_writes);
  append(facts.open_fields, other.open_fields);
  append(facts.methods, other.methods);
  facts.casts_modules = facts.casts_modules || other.casts_modules;
  facts.lowers_modules = facts.lowers_modules || other.lowers_modules;
  facts.default_dtype |= other.default_dtype;
}

void add_facts_of_other_switches(SourceFacts& facts, SourceFacts other) {
  // With a switch for debugging that nobody has tried for long, a file may not even compile: the
  // way that is understood better is the file's.
  if (other.parsed && other.lost.size() < facts.lost.size()) std::swap(facts, other);
  if (!other.parsed) return;
  add_fields(facts, other);
  constexpr bool kAlways = true, kUnderstood = false;
  const bool understood = !facts.parsed || other.lost.size() <= facts.lost.size();
#define ADD_NEW(member, Type, merged) \
  if (merged || understood) add_new(facts.member, other.member);
  DTYPECHECK_FACTS(ADD_NEW)
#undef ADD_NEW
  if (!understood) return;
  for (const auto& [to, from] :
       {std::pair(&facts.bound, &other.bound), std::pair(&facts.called, &other.called)}) {
    to->insert(to->end(), from->begin(), from->end());
  }
  for (OutsideCall& call : other.outside_calls) facts.outside_calls.push_back(std::move(call));
  append(facts.pointer_uses, other.pointer_uses);
  facts.functions = std::max(facts.functions, other.functions);
  facts.sees_tensors = facts.sees_tensors || other.sees_tensors;
}

}  // namespace dtypecheck::analyzer
