#include "analyzer/merge_facts.h"

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
}

void add_facts_of_other_switches(SourceFacts& facts, SourceFacts other) {
  // With a switch for debugging that nobody has tried for long, a file may not even compile: the
  // way that is understood better is the file's.
  if (other.parsed && other.lost.size() < facts.lost.size()) std::swap(facts, other);
  if (!other.parsed) return;
  add_fields(facts, other);
  add_new(facts.long_elements, other.long_elements);
  add_new(facts.dispatches, other.dispatches);
  add_new(facts.branches, other.branches);
  add_new(facts.sums, other.sums);
  add_new(facts.large_numbers, other.large_numbers);
  // What a tensor may be is said by checks, and of these some were lost: where a vendor's SDK is
  // missing, say.
  const bool knows_less = other.lost.size() > facts.lost.size();
  if (knows_less && facts.parsed) return;
  add_new(facts.reads, other.reads);
  add_new(facts.ops, other.ops);
  add_new(facts.bit_casts, other.bit_casts);
  add_new(facts.integer_divisions, other.integer_divisions);
  add_new(facts.conversions, other.conversions);
  add_new(facts.half_arithmetic, other.half_arithmetic);
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
