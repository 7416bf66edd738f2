// state.h: what is known of dtypes at one point of a function.
//
// Each tensor, dtype or TensorOptions that the source can name has a symbol. Symbols that must have
// the same dtype, since the source compared them or made one from the other, form a class; a class
// has the set of dtypes that are still possible. A branch copies the state, the end of it joins.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/dtype_set.h"

namespace dtypecheck::analyzer {

// A place that holds a value: a variable, or a field of one (a null variable stands for *this).
using Key = std::vector<const void*>;

class DtypeState {
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
  // No tensor is there: the optional is empty, the tensor undefined or without elements. Whatever
  // is said of it on another way holds here too.
  void set_absent(int symbol) { absent_.insert(symbol); }
  bool is_absent(int symbol) const { return absent_.contains(symbol); }
  // A parameter that nothing was given for: what asks whether it is there finds none.
  void set_left_out(int symbol) {
    set_absent(symbol);
    left_out_.insert(symbol);
  }
  bool is_left_out(int symbol) const { return is_absent(symbol) && left_out_.contains(symbol); }

  int symbol_at(const Key& key) const;  // -1: none
  std::map<const void*, int> variables() const;
  void bind(const Key& key, int symbol) {
    symbols_[key] = symbol;
    entries_.erase(key);
  }
  // The symbol stands for what the field held when the function was entered.
  void bind_entry(const Key& key, int symbol) {
    bind(key, symbol);
    entries_.insert(key);
  }
  // Nothing is known of an object any more, or of its fields.
  void forget_object(const Key& object, bool fields_only = false);
  // A record that is handed over has what the fields of the other hold.
  void copy_fields(const Key& from, const Key& to);
  // A tuple's elements are fields that have no declaration.
  static const void* element(size_t i) { return reinterpret_cast<const void*>(i + 1); }
  static bool is_element(const void* part) { return reinterpret_cast<uintptr_t>(part) < 64; }
  void bind_elements(const Key& tuple, const std::vector<int>& symbols);
  std::vector<int> elements(const Key& tuple) const;
  // A variable that may hold either of two tensors is tracked as one of them.
  bool is_mixed(int symbol) const { return node(symbol).is_mixed; }

  // The dtype of a module's parameters: its own, or that of the module that it is part of. -1: not
  // known. Of one that nothing was said of it is what modules have where the walk begins.
  int module_at(const Key& key) const;
  void set_entry_module(int symbol) { entry_module_ = symbol; }
  int entry_module() const { return entry_module_; }
  bool has_cast_part(const Key& key) const;      // or one that may have been cast
  void cast_module(const Key& key, int symbol);  // its parts too; -1: it may have become anything
  // Nothing was said of it by itself: it is what it is part of.
  // A list of modules with none in it yet, which has no say where another way has one.
  void empty_list(const Key& list) { cast_module(list, kNoModule); }
  bool is_of_whole(const Key& key) const {
    const auto at = modules_.find(key);
    return at == modules_.end() || at->second == kNoModule;
  }

  // In a function of an object *this is that object, and its fields hold what they held there;
  // leaving gives back what *this was before, and the object keeps what it became. An empty key: it
  // is not known which.
  using Modules = std::map<Key, int>;
  struct Object {
    Modules modules, fields;
    std::set<Key> entries;
  };
  Object enter_object(const Key& object);
  void leave_object(const Key& object, const Object& before);
  // What the fields of an object hold, and those of its parts.
  Modules fields_of(const Key& object) const { return parts_of(object, object, true).fields; }
  // An object, though it be no module.
  void copy_object(const Key& from, const Key& to) {
    is_of_whole(from) ? copy_fields(from, to) : copy_module(from, to);
  }
  // Of two objects one is made like the other.
  void copy_module(const Key& from, const Key& to);

  // A variable had a known dtype before, and has another one.
  bool has_other_dtype_than(const DtypeState& before) const;

  // if (has_bias) TORCH_CHECK(bias.dtype() == …): the join loses it, and it holds again in the next
  // `if (has_bias)`, and in an `if` inside of that. `condition` is known by its text and what it
  // names; writing to one of its variables forgets it.
  void remember(const std::string& condition, const DtypeState& way);
  void recall(const std::string& condition);
  void forget(const std::string& variable);

  // What holds whichever of the two ways control came.
  static DtypeState join(const DtypeState& a, const DtypeState& b);

 private:
  struct Node {
    int parent;
    DtypeSet dtypes;
    bool looked_at = false;
    bool is_mixed = false;
  };
  // What a way knew that its join lost.
  struct Memory {
    std::map<int, std::pair<DtypeSet, int>> seen;  // dtypes, and one of its class; -1: none
    std::map<std::string, Memory> under;           // of conditions inside
    bool operator==(const Memory&) const = default;
  };
  static void forget(std::map<std::string, Memory>& under, const std::string& variable);
  static DtypeState join_present(const DtypeState& a, const DtypeState& b);
  int root(int symbol) const;
  Node& node(int symbol);
  Node node(int symbol) const;
  void leave_class(int symbol);
  void agree_where_absent(const DtypeState& other);
  void stand_in_for_absent(const DtypeState& other);

  std::map<int, Node> nodes_;
  std::set<int> absent_, left_out_;
  static constexpr int kNoModule = -2;
  static bool is_part_of(const Key& part, const Key& whole);
  bool is_in_empty_list(const Key& key) const;
  Object parts_of(const Key& from, const Key& to, bool fields_only = false) const;
  void put(const Object& object);
  void join_modules(const DtypeState& a, const DtypeState& b);
  void mix(const std::vector<std::pair<int, int>>& pairs);  // with what its variable may hold
  void mix_fields_of_one_way(const DtypeState& way, const DtypeState& other);

  std::map<Key, int> symbols_;
  std::set<Key> entries_;  // of them, bound by bind_entry()
  Modules modules_;
  int entry_module_ = -1;
  std::map<std::string, Memory> under_;  // by condition
};

}  // namespace dtypecheck::analyzer
