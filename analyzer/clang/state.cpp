#include "analyzer/clang/state.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dtypecheck::analyzer {

void DtypeState::add(int symbol, DtypeSet dtypes) { nodes_[symbol] = {symbol, dtypes}; }

int DtypeState::root(int symbol) const {
  for (auto at = nodes_.find(symbol); at != nodes_.end() && at->second.parent != symbol;
       at = nodes_.find(symbol)) {
    symbol = at->second.parent;
  }
  return symbol;
}

// A symbol that was made on another way through the function is not in this state: nothing is known
// of it here.
DtypeState::Node& DtypeState::node(int symbol) {
  symbol = root(symbol);
  return nodes_.try_emplace(symbol, Node{symbol, DtypeSet::from_bits(~uint64_t{0})}).first->second;
}

DtypeState::Node DtypeState::node(int symbol) const {
  const auto at = nodes_.find(root(symbol));
  return at == nodes_.end() ? Node{symbol, DtypeSet::from_bits(~uint64_t{0})} : at->second;
}

DtypeSet DtypeState::dtypes(int symbol) const { return node(symbol).dtypes; }
bool DtypeState::looked_at(int symbol) const { return node(symbol).looked_at; }
void DtypeState::look_at(int symbol) { node(symbol).looked_at = true; }

// A set that becomes empty says that control cannot come here; the analysis goes on as before, for
// it may be the analyzer that is wrong.
void DtypeState::narrow(int symbol, DtypeSet to) {
  Node& known = node(symbol);
  if (!(known.dtypes & to).empty()) known.dtypes = known.dtypes & to;
}

void DtypeState::exclude(int symbol, DtypeSet gone) {
  Node& known = node(symbol);
  if (!(known.dtypes - gone).empty()) known.dtypes = known.dtypes - gone;
}

void DtypeState::unify(int a, int b) {
  const int to = root(a);
  if (to == root(b)) return;
  Node& kept = node(a);
  Node& merged = node(b);
  const DtypeSet both = kept.dtypes & merged.dtypes;
  if (!both.empty()) kept.dtypes = both;
  kept.looked_at = kept.looked_at || merged.looked_at;
  kept.is_mixed = kept.is_mixed || merged.is_mixed;
  merged.parent = to;
}

int DtypeState::symbol_at(const Key& key) const {
  const auto at = symbols_.find(key);
  return at == symbols_.end() ? -1 : at->second;
}

std::map<const void*, int> DtypeState::variables() const {
  std::map<const void*, int> found;
  for (const auto& [key, symbol] : symbols_) {
    if (key.size() == 1) found[key.front()] = symbol;
  }
  return found;
}

bool DtypeState::is_part_of(const Key& part, const Key& whole) {
  return part.size() >= whole.size() && std::equal(whole.begin(), whole.end(), part.begin());
}

static const Key kThis = {nullptr};

// `part` of `from` as a part of `to`.
static Key moved(const Key& part, const Key& from, const Key& to) {
  Key key = to;
  key.insert(key.end(), part.begin() + static_cast<std::ptrdiff_t>(from.size()), part.end());
  return key;
}

// What is known of an object, or of its fields alone, under another key.
DtypeState::Object DtypeState::parts_of(const Key& from, const Key& to, bool fields_only) const {
  Object parts;
  const size_t least = from.size() + (fields_only ? 1 : 0);
  const auto is_part = [&](const Key& key) { return key.size() >= least && is_part_of(key, from); };
  const auto add = [&](const std::map<Key, int>& held, Modules& into) {
    for (const auto& [key, symbol] : held) {
      if (is_part(key)) into[moved(key, from, to)] = symbol;
    }
  };
  add(modules_, parts.modules);
  add(symbols_, parts.fields);
  for (const Key& key : entries_) {
    if (is_part(key)) parts.entries.insert(moved(key, from, to));
  }
  return parts;
}

void DtypeState::forget_object(const Key& object, bool fields_only) {
  const size_t least = object.size() + (fields_only ? 1 : 0);
  const auto is_part = [&](const Key& key) {
    return key.size() >= least && is_part_of(key, object);
  };
  std::erase_if(modules_, [&](const auto& one) { return is_part(one.first); });
  std::erase_if(symbols_, [&](const auto& one) { return is_part(one.first); });
  std::erase_if(entries_, is_part);
}

void DtypeState::put(const Object& object) {
  modules_.insert(object.modules.begin(), object.modules.end());
  symbols_.insert(object.fields.begin(), object.fields.end());
  entries_.insert(object.entries.begin(), object.entries.end());
}

void DtypeState::copy_fields(const Key& from, const Key& to) {
  const Object fields = parts_of(from, to, true);
  forget_object(to, true);
  put(fields);
}

int DtypeState::module_at(const Key& key) const {
  for (Key of = key; !of.empty(); of.pop_back()) {
    const auto at = modules_.find(of);
    if (at != modules_.end() && at->second != kNoModule) return at->second;
  }
  return entry_module_;
}

bool DtypeState::is_in_empty_list(const Key& key) const {
  for (Key of = key; !of.empty(); of.pop_back()) {
    const auto at = modules_.find(of);
    if (at != modules_.end()) return at->second == kNoModule;
  }
  return false;
}

bool DtypeState::has_cast_part(const Key& key) const {
  return std::ranges::any_of(modules_, [&](const auto& module) {
    return module.first.size() > key.size() && is_part_of(module.first, key);
  });
}

void DtypeState::cast_module(const Key& key, int symbol) {
  std::erase_if(modules_, [&](const auto& module) { return is_part_of(module.first, key); });
  modules_[key] = symbol;
}

void DtypeState::bind_elements(const Key& tuple, const std::vector<int>& symbols) {
  forget_object(tuple);
  Key key = tuple;
  key.push_back(nullptr);
  for (size_t i = 0; i < symbols.size(); ++i) {
    key.back() = element(i);
    if (is_element(key.back())) symbols_[key] = symbols[i];
  }
}

std::vector<int> DtypeState::elements(const Key& tuple) const {
  std::vector<int> symbols;
  Key key = tuple;
  key.push_back(element(0));
  for (auto at = symbols_.find(key); at != symbols_.end(); at = symbols_.find(key)) {
    symbols.push_back(at->second);
    key.back() = element(symbols.size());
  }
  return symbols;
}

DtypeState::Object DtypeState::enter_object(const Key& object) {
  const int whole = module_at(object);
  const Object inside = object.empty() ? Object() : parts_of(object, kThis);
  Object before = parts_of(kThis, kThis);
  forget_object(kThis);
  put(inside);
  modules_[kThis] = whole;
  return before;
}

void DtypeState::copy_module(const Key& from, const Key& to) {
  const int whole = module_at(from);
  copy_fields(from, to);
  modules_[to] = whole;
}

void DtypeState::leave_object(const Key& object, const Object& before) {
  const Object after = parts_of(kThis, object);
  forget_object(kThis);
  put(before);
  if (object.empty()) return;
  forget_object(object);
  put(after);
}

// A module that was cast on one way only may be of either dtype.
void DtypeState::join_modules(const DtypeState& a, const DtypeState& b) {
  for (const DtypeState* way : {&a, &b}) {
    for (const auto& [key, symbol] : way->modules_) {
      const bool is_none_in_a = a.is_in_empty_list(key), is_none_in_b = b.is_in_empty_list(key);
      if (is_none_in_a || is_none_in_b) {
        modules_[key] = !is_none_in_a  ? a.module_at(key)
                        : is_none_in_b ? kNoModule
                                       : b.module_at(key);
        continue;
      }
      const int in_a = a.module_at(key), in_b = b.module_at(key);
      const bool is_known = in_a >= 0 && in_b >= 0 && a.dtypes(in_a) == b.dtypes(in_b);
      modules_[key] = is_known ? in_a : -1;
    }
  }
}

bool DtypeState::has_other_dtype_than(const DtypeState& before) const {
  return !dead && std::ranges::any_of(before.symbols_, [&](const auto& one) {
    const int now = symbol_at(one.first);
    const auto then = before.dtypes(one.second).single();
    return now >= 0 && then && dtypes(now).single() && dtypes(now).single() != then;
  });
}

void DtypeState::leave_class(int symbol) {
  const Node known = node(symbol);
  std::vector<int> others;
  for (const auto& [other, node] : nodes_) {
    if (other != symbol && same(other, symbol)) others.push_back(other);
  }
  for (const int other : others)
    nodes_[other] = {others.front(), known.dtypes, known.looked_at, known.is_mixed};
  nodes_[symbol] = {symbol, known.dtypes, known.looked_at, known.is_mixed};
}

// if (bias.has_value()) TORCH_CHECK(bias->dtype() == x.dtype()); the other way says nothing of
// bias, and the join would lose what this one does. A tensor that is not there agrees with
// anything, so it takes what `other` knows: the class, or else the dtypes.
void DtypeState::agree_where_absent(const DtypeState& other) {
  for (const int symbol : absent_) {
    if (!other.nodes_.contains(symbol) || other.absent_.contains(symbol)) continue;
    leave_class(symbol);
    const auto mate = std::ranges::find_if(nodes_, [&](const auto& node) {
      return node.first != symbol && !absent_.contains(node.first) &&
             other.nodes_.contains(node.first) && other.same(node.first, symbol);
    });
    Node& own = nodes_[symbol];
    if (mate != nodes_.end())
      own.parent = root(mate->first);
    else
      own = {symbol, other.dtypes(symbol), other.looked_at(symbol), other.is_mixed(symbol)};
  }
}

// at::Tensor bias; if (has_bias) { bias = given.value(); TORCH_CHECK(bias.dtype() == x.dtype()); }
// The other way says nothing of what was given, and of the variable all that this one says: it goes
// on as the symbol that was there for none, in the class of what it holds here.
void DtypeState::stand_in_for_absent(const DtypeState& other) {
  for (auto& [key, symbol] : symbols_) {
    const int none = other.symbol_at(key);
    if (none < 0 || none == symbol || !other.is_absent(none) || is_absent(symbol)) continue;
    const bool says_more = !other.knows(symbol) || dtypes(symbol) != other.dtypes(symbol);
    const bool is_known = dtypes(symbol) != DtypeSet::from_bits(~uint64_t{0});
    if (!says_more || !is_known) continue;
    leave_class(none);
    absent_.erase(none);
    nodes_[none].parent = root(symbol);
    symbol = none;
  }
}

DtypeState DtypeState::join(const DtypeState& in_a, const DtypeState& in_b) {
  if (in_a.dead) return in_b;
  if (in_b.dead) return in_a;
  if (in_a.absent_.empty() && in_b.absent_.empty()) return join_present(in_a, in_b);
  DtypeState a = in_a, b = in_b;
  a.stand_in_for_absent(in_b);
  b.stand_in_for_absent(in_a);
  if (a.absent_ == b.absent_) return join_present(a, b);
  const DtypeState from_a = a;
  a.agree_where_absent(b);
  b.agree_where_absent(from_a);
  return join_present(a, b);
}

void DtypeState::remember(const std::string& condition, const DtypeState& way) {
  if (condition.empty() || way.dead || dead) return;
  Memory memory;
  for (const auto& [inside, under] : way.under_) {
    const auto kept = under_.find(inside);
    if (kept == under_.end() || kept->second != under) memory.under[inside] = under;
  }
  for (const auto& [symbol, node] : way.nodes_) {
    if (!knows(symbol)) continue;
    const int mate = way.root(symbol);
    const bool lost_mate = mate != symbol && knows(mate) && !same(mate, symbol);
    if (lost_mate || way.dtypes(symbol) != dtypes(symbol))
      memory.seen[symbol] = {way.dtypes(symbol), lost_mate ? mate : -1};
  }
  if (!memory.seen.empty() || !memory.under.empty()) under_[condition] = std::move(memory);
}

void DtypeState::recall(const std::string& condition) {
  const auto at = under_.find(condition);
  if (at == under_.end()) return;
  const Memory memory = at->second;
  for (const auto& [symbol, seen] : memory.seen) {
    if (!knows(symbol)) continue;
    narrow(symbol, seen.first);
    if (seen.second >= 0 && knows(seen.second)) unify(symbol, seen.second);
  }
  for (const auto& [inside, under] : memory.under) under_[inside] = under;
}

void DtypeState::forget(std::map<std::string, Memory>& under, const std::string& variable) {
  std::erase_if(under,
                [&](const auto& one) { return one.first.find(variable) != std::string::npos; });
  for (auto& [condition, memory] : under) forget(memory.under, variable);
}
void DtypeState::forget(const std::string& variable) { forget(under_, variable); }

// Of each the dtypes are those that it had before one of them was mixed.
void DtypeState::mix(const std::vector<std::pair<int, int>>& pairs) {
  std::vector<Node> others;
  for (const auto& [symbol, other] : pairs) others.push_back(std::as_const(*this).node(other));
  for (size_t i = 0; i < pairs.size(); ++i) {
    Node& mixed = node(pairs[i].first);
    mixed.is_mixed = true;
    mixed.dtypes |= others[i].dtypes;
    mixed.looked_at = mixed.looked_at || others[i].looked_at;
  }
}

// A field that only one way wrote still holds on the other what it held before.
void DtypeState::mix_fields_of_one_way(const DtypeState& way, const DtypeState& other) {
  for (const auto& [key, symbol] : way.symbols_) {
    const bool is_written = key.size() > 1 && !way.entries_.contains(key);
    if (is_written && !other.symbols_.contains(key)) node(symbol).is_mixed = true;
  }
}

DtypeState DtypeState::join_present(const DtypeState& a, const DtypeState& b) {
  DtypeState joined;
  std::set_intersection(a.absent_.begin(), a.absent_.end(), b.absent_.begin(), b.absent_.end(),
                        std::inserter(joined.absent_, joined.absent_.end()));
  std::set_intersection(a.left_out_.begin(), a.left_out_.end(), b.left_out_.begin(),
                        b.left_out_.end(), std::inserter(joined.left_out_, joined.left_out_.end()));
  std::map<std::pair<int, int>, int> classes;  // roots in both, to the joined root
  const auto add = [&](int symbol) {
    const bool in_a = a.nodes_.contains(symbol), in_b = b.nodes_.contains(symbol);
    const std::pair<int, int> roots = {in_a ? a.root(symbol) : -1, in_b ? b.root(symbol) : -1};
    const int root = classes.try_emplace(roots, symbol).first->second;
    DtypeSet dtypes;
    if (in_a) dtypes |= a.dtypes(symbol);
    if (in_b) dtypes |= b.dtypes(symbol);
    const bool seen = (in_a && a.looked_at(symbol)) || (in_b && b.looked_at(symbol));
    const bool mixed = (in_a && a.is_mixed(symbol)) || (in_b && b.is_mixed(symbol));
    joined.nodes_[symbol] = {root, dtypes, seen, mixed};
  };
  for (const auto& [symbol, node] : a.nodes_) add(symbol);
  for (const auto& [symbol, node] : b.nodes_) {
    if (!a.nodes_.contains(symbol)) add(symbol);
  }
  for (const auto& [condition, memory] : a.under_) {
    const auto in_b = b.under_.find(condition);
    if (in_b != b.under_.end() && in_b->second == memory) joined.under_[condition] = memory;
  }
  joined.symbols_ = a.symbols_;
  joined.entries_ = a.entries_;
  joined.entries_.insert(b.entries_.begin(), b.entries_.end());
  std::vector<std::pair<int, int>> mixes;
  for (const auto& [key, symbol] : b.symbols_) {
    const auto [at, is_new] = joined.symbols_.try_emplace(key, symbol);
    if (is_new || joined.same(at->second, symbol) || b.is_absent(symbol)) continue;
    if (a.is_absent(at->second)) {
      at->second = symbol;
      continue;
    }
    // The variable holds another tensor on each way. It goes on as the first one's symbol, which
    // gets the dtypes of both.
    joined.entries_.erase(key);
    mixes.emplace_back(at->second, symbol);
  }
  joined.mix(mixes);
  joined.mix_fields_of_one_way(a, b);
  joined.mix_fields_of_one_way(b, a);
  joined.entry_module_ = a.entry_module_;
  joined.join_modules(a, b);
  return joined;
}

}  // namespace dtypecheck::analyzer
