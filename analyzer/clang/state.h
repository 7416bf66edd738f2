// state.h: what is known of dtypes at one point of a function.
//
// Each tensor, dtype or TensorOptions that the source can name has a symbol. Symbols that must have
// the same dtype, since the source compared them or made one from the other, form a class; a class
// has the set of dtypes that are still possible. A branch copies the state, the end of it joins.
#pragma once

#include <map>
#include <vector>

#include "core/dtype_set.h"

namespace dtypecheck::analyzer {

// A place that holds a value: a variable, or a field of one (a null variable stands for *this).
using Key = std::vector<const void*>;

class State {
 public:
  bool dead = false;  // control does not come here

  void add(int symbol, DtypeSet dtypes);
  bool knows(int symbol) const { return nodes_.contains(symbol); }
  DtypeSet dtypes(int symbol) const;
  bool looked_at(int symbol) const;
  bool same(int a, int b) const { return root(a) == root(b); }

  void narrow(int symbol, DtypeSet to);
  void exclude(int symbol, DtypeSet gone);
  void unify(int a, int b);
  void look_at(int symbol);

  int symbol_at(const Key& key) const;  // -1: none
  void bind(const Key& key, int symbol) { symbols_[key] = symbol; }

  // What holds whichever of the two ways control came.
  static State join(const State& a, const State& b);

 private:
  struct Node {
    int parent;
    DtypeSet dtypes;
    bool looked_at = false;
  };
  int root(int symbol) const;
  Node& node(int symbol);
  Node node(int symbol) const;

  std::map<int, Node> nodes_;
  std::map<Key, int> symbols_;
};

}  // namespace dtypecheck::analyzer
