#include "reports/judging/lock_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "ops/ops.h"
#include "platform/error.h"
#include "platform/printable.h"
#include "reports/formatting.h"
#include "reports/judging/folded_names.h"
#include "trace/op_call_fields.h"

namespace dtypecheck::judging {

namespace {

using Ops = std::set<LockedOp>;

std::set<std::string> devices_of(const Lock& lock) {
  std::set<std::string> devices;
  for (const auto& [place, ops] : lock.places) {
    for (const LockedOp& op : ops) {
      if (!op.device.empty()) devices.insert(op.device);
    }
  }
  return devices;
}

void forget_devices(Lock& lock) {
  for (auto& [place, ops] : lock.places) {
    Ops without;
    for (LockedOp op : ops) {
      op.device.clear();
      without.insert(std::move(op));
    }
    ops = std::move(without);
  }
}

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

std::string arrow(const std::string& from, const std::string& to) {
  return fmt::format("{} → {}", or_none(from), or_none(to));
}

bool same_names(const LockedOp& a, const LockedOp& b) {
  return std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name; });
}

// How much differs between two calls that may be one and its later form; none where they are not.
std::optional<size_t> distance(const LockedOp& a, const LockedOp& b) {
  if (a.phase != b.phase || a.op != b.op || !same_names(a, b)) return std::nullopt;
  size_t differing = (a.result != b.result) + (a.autocast != b.autocast) + (a.outcome != b.outcome);
  for (size_t i = 0; i < a.operands.size(); ++i)
    differing += a.operands[i].dtypes != b.operands[i].dtypes;
  return differing;
}

// What changed in one module.
class ModuleChanges {
 public:
  ModuleChanges(const Ops& before, const Ops& after) {
    std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                        std::back_inserter(gone_));
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                        std::back_inserter(new_));
  }

  std::vector<LockDifference> differences() {
    compare_parameters();
    for (size_t most = 0; most < kMostDifferences; ++most) pair_up_to(most);
    for (const LockedOp& op : gone_) add({kOpCall, to_text(op), std::nullopt});
    for (const LockedOp& op : new_) add({kOpCall, std::nullopt, to_text(op)});
    return std::move(differences_);
  }

 private:
  static constexpr size_t kMostDifferences = 16;

  bool is_reported(const LockDifference& difference) const {
    return std::find(differences_.begin(), differences_.end(), difference) != differences_.end();
  }

  void add(LockDifference difference) {
    if (!is_reported(difference)) differences_.push_back(std::move(difference));
  }

  static std::optional<LockedOp> take_parameters(std::vector<LockedOp>& ops) {
    const auto found =
        std::ranges::find_if(ops, [](const LockedOp& op) { return op.phase == kParameters; });
    if (found == ops.end()) return std::nullopt;
    LockedOp op = *found;
    ops.erase(found);
    return op;
  }

  static const std::string* dtypes_of(const std::optional<LockedOp>& op, const std::string& name) {
    if (!op) return nullptr;
    for (const LockedTensor& operand : op->operands) {
      if (operand.name == name) return &operand.dtypes;
    }
    return nullptr;
  }

  void compare_parameters() {
    const auto before = take_parameters(gone_), after = take_parameters(new_);
    std::set<std::string> names;
    for (const auto* side : {&before, &after}) {
      if (*side) {
        for (const LockedTensor& operand : (*side)->operands) names.insert(operand.name);
      }
    }
    for (const std::string& name : names) {
      const std::string* from = dtypes_of(before, name);
      const std::string* to = dtypes_of(after, name);
      const auto side = [](const std::string* dtypes) {
        return dtypes == nullptr ? std::nullopt : std::optional(*dtypes);
      };
      if (from == nullptr || to == nullptr || *from != *to) add({name, side(from), side(to)});
    }
  }

  // The likest first.
  void pair_up_to(size_t most) {
    for (auto a = gone_.begin(); a != gone_.end();) {
      const auto b = std::ranges::find_if(new_, [&](const LockedOp& op) {
        const auto differing = distance(*a, op);
        return differing && *differing <= most;
      });
      if (b == new_.end()) {
        ++a;
        continue;
      }
      say(*a, *b);
      a = gone_.erase(a);
      new_.erase(b);
    }
  }

  void say(const LockedOp& a, const LockedOp& b) {
    const std::string who = fmt::format("{} {}", a.phase, a.op);
    for (size_t i = 0; i < a.operands.size(); ++i) {
      const LockedTensor &x = a.operands[i], &y = b.operands[i];
      if (x.dtypes == y.dtypes) continue;
      // Said already where it is the parameter itself that changed.
      if (is_reported({x.name, x.dtypes, y.dtypes})) continue;
      add({who + ' ' + x.name, x.dtypes, y.dtypes});
    }
    if (a.result != b.result) add({who + " result", a.result, b.result});
    if (a.autocast != b.autocast) add({"autocast", a.autocast, b.autocast});
    if (a.outcome != b.outcome) {
      const std::string none = outcome_name(Outcome::kReturned);
      add({who, a.outcome.empty() ? none : a.outcome, b.outcome.empty() ? none : b.outcome});
    }
  }

  std::vector<LockedOp> gone_, new_;
  std::vector<LockDifference> differences_;
};

std::set<std::string> names_of(const Lock& lock) {
  std::set<std::string> names;
  for (const auto& [place, ops] : lock.places) names.insert(place);
  return names;
}

std::set<std::string> without(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::set<std::string> out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
  return out;
}

// The dtype that torch.compile computes an op in; nullptr of one that it did not fuse.
const std::string* fused_in(const LockedOp& op) {
  const auto found = std::ranges::find_if(
      op.operands, [](const LockedTensor& operand) { return operand.name == kComputed; });
  return found == op.operands.end() ? nullptr : &found->dtypes;
}

bool is_compiled(const LockedOp& op) { return fused_in(op) != nullptr || ops::is_compiled(op.op); }

bool has_compiled(const Lock& lock) {
  return std::ranges::any_of(lock.places, [](const auto& place) {
    return std::ranges::any_of(place.second, is_compiled);
  });
}

using FusedOps = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

// What ops are computed in, by phase and op: of what torch.compile fused, or of an eager run.
FusedOps computed_in(const Lock& lock, bool fused) {
  FusedOps out;
  for (const auto& [place, ops] : lock.places) {
    for (const LockedOp& op : ops) {
      const std::string* in = fused ? fused_in(op) : &op.result;
      if (op.phase != kParameters && in != nullptr && !in->empty())
        out[{op.phase, op.op}].insert(*in);
    }
  }
  return out;
}

// An op of eager that answers in one dtype, and in the compiled run computes in another.
std::vector<std::string> compare_fused(const Lock& eager, const Lock& compiled) {
  const FusedOps known = computed_in(eager, false);
  std::map<std::string, std::set<std::string>> changed;
  for (const auto& [op, dtypes] : computed_in(compiled, true)) {
    const auto before = known.find(op);
    if (before == known.end()) continue;
    for (const std::string& dtype : before->second) {
      if (dtypes.contains(dtype) || dtypes.size() != 1) continue;
      changed[fmt::format("{}: {} in eager, {} in compiled", op.first, dtype, *dtypes.begin())]
          .insert(op.second);
    }
  }
  std::vector<std::string> out;
  for (const auto& [what, ops] : changed)
    out.push_back(fmt::format("{}: {}", what, fmt::join(ops, ", ")));
  return out;
}

// What is called outside of a compiled region, and not by the compiler's own Python code.
bool is_eager(const LockedOp& op) {
  return op.phase != kParameters && !is_compiled(op) && !ops::is_python(op.op);
}

// The ops of a module that the other run has in a compiled region are reported by op, not by
// module: what is left of a module is its parameters.
void keep_parameters(Lock& lock, const Lock& of) {
  for (auto& [place, ops] : lock.places) {
    const auto other = of.places.find(place);
    const bool is_called = other != of.places.end() && std::ranges::any_of(other->second, is_eager);
    std::erase_if(ops, [&](const LockedOp& op) {
      return op.phase != kParameters && (!is_called || !is_eager(op));
    });
  }
  std::erase_if(lock.places, [](const auto& place) { return place.second.empty(); });
}

void compare_compiled(Lock& before, Lock& after, LockDiff& diff) {
  const bool was = has_compiled(before), is = has_compiled(after);
  if (was == is) return;
  Lock& compiled = was ? before : after;
  Lock& eager = was ? after : before;
  diff.compiled = compare_fused(eager, compiled);
  const Lock all = compiled;
  keep_parameters(compiled, all);
  keep_parameters(eager, all);
}

void compare_devices(Lock& before, Lock& after, LockDiff& diff) {
  const std::set<std::string> from = devices_of(before), to = devices_of(after);
  if (from == to) return;
  diff.devices = fmt::format("{} → {}", fmt::join(from, ", "), fmt::join(to, ", "));
  forget_devices(before);
  forget_devices(after);
}

// Modules have dots and parameters; FILE:FUNCTION is none.
std::set<std::string> modules_below(const Lock& lock, const std::string& root) {
  std::set<std::string> names;
  for (const auto& [place, ops] : lock.places)
    if (!place.empty() && place.find(':') == place.npos && place.starts_with(root))
      names.insert(place.substr(root.size()));
  return names;
}

// What the names of most modules begin with, the shortest first: "", "actor.", "actor.module."
std::vector<std::string> roots_of(const Lock& lock) {
  constexpr size_t kMostParts = 5;
  const std::set<std::string> modules = modules_below(lock, "");
  std::map<std::string, size_t> counts;
  for (const std::string& name : modules) {
    size_t dot = 0;
    for (size_t i = 0; i < kMostParts && (dot = name.find('.', dot)) != name.npos; ++i)
      ++counts[name.substr(0, ++dot)];
  }
  std::vector<std::string> roots = {""};
  for (const auto& [root, count] : counts)
    if (count * 2 > modules.size()) roots.push_back(root);
  return roots;
}

// Two programs may hold one model under other names, as a trainer and an engine that generates:
// "runner.model.layers.0" of one is "actor.layers.0" of the other.
void align_names(const Lock& before, Lock& after, LockDiff& diff) {
  size_t most = 0;
  std::string from, to;
  for (const std::string& theirs : roots_of(after)) {
    const std::set<std::string> names = modules_below(after, theirs);
    for (const std::string& ours : roots_of(before)) {
      const std::set<std::string> other = modules_below(before, ours);
      const size_t common = names.size() - without(names, other).size();
      if (common <= most || common * 2 < std::min(names.size(), other.size())) continue;
      most = common;
      from = theirs;
      to = ours;
    }
  }
  if (from == to) return;
  diff.names = fmt::format("{}* → {}*", to, from);
  std::map<std::string, Ops> renamed;
  for (auto& [place, ops] : after.places)
    renamed[place.starts_with(from) ? to + place.substr(from.size()) : place].merge(ops);
  after.places = std::move(renamed);
}

}  // namespace

LockDiff diff_locks(Lock before, Lock after, const std::string& before_name,
                    const std::string& after_name) {
  LockDiff diff;
  if (before.runtime != after.runtime && !before.runtime.empty() && !after.runtime.empty())
    diff.runtime = arrow(before.runtime, after.runtime);
  compare_devices(before, after, diff);
  const std::set<std::string> modules = modules_below(before, "");
  if (without(modules, modules_below(after, "")) == modules) align_names(before, after, diff);
  compare_compiled(before, after, diff);
  const std::set<std::string> was = names_of(before), is = names_of(after);
  std::set<std::string> all = was;
  all.insert(is.begin(), is.end());
  const std::set<std::string> gone = without(was, is), come = without(is, was);
  if (gone.size() == was.size() && !all.empty()) {
    throw InputError(
        fmt::format("{} and {} have no module in common, so they are not runs of one model",
                    before_name, after_name));
  }
  std::map<std::vector<LockDifference>, std::set<std::string>> alike;
  for (const auto& [place, ops] : before.places) {
    const auto now = after.places.find(place);
    if (now == after.places.end()) continue;
    if (now->second == ops) {
      ++diff.same;
      continue;
    }
    ++diff.changed;
    alike[ModuleChanges(ops, now->second).differences()].insert(place);
  }
  for (const auto& [differences, places] : alike)
    diff.changes.push_back({starred_names(places, all), differences, places.size()});
  std::ranges::sort(diff.changes,
                    [](const LockChange& a, const LockChange& b) { return a.modules < b.modules; });
  diff.only_before = starred_names(gone, all);
  diff.only_after = starred_names(come, all);
  diff.missing = gone.size();
  diff.added = come.size();
  return diff;
}

std::string to_text(const LockDifference& difference) {
  const auto& [what, before, after] = difference;
  if (before && after) return fmt::format("{}: {}", what, arrow(*before, *after));
  if (what == kOpCall) return before ? "gone: " + *before : "new: " + after.value_or("");
  return before ? fmt::format("{}: gone, was {}", what, *before)
                : fmt::format("{}: new, {}", what, after.value_or(""));
}

namespace {

// What a screen holds; of one change, no more than its kind.
constexpr size_t kMostLines = 24, kMostModules = 3, kMostShown = 6;

struct Folded {
  explicit Folded(bool all) : all_(all) {}

  void add(const std::vector<std::string>& lines, size_t most, const char* indent,
           const char* what) {
    const size_t shown = all_ || lines.size() <= most + 1 ? lines.size() : most;
    for (size_t i = 0; i < shown; ++i) add_line(indent + lines[i]);
    if (shown < lines.size())
      add_line(fmt::format("{}… and {}", indent, reports::counted(lines.size() - shown, what)));
  }
  void add_line(const std::string& line) {
    text += line + '\n';
    ++lines_;
  }
  bool is_full() const { return !all_ && lines_ >= kMostLines; }

  std::string text;

 private:
  bool all_;
  size_t lines_ = 0;
};

std::vector<std::string> printable_all(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    out.push_back(text.empty() ? "outside of modules" : printable(text));
  return out;
}

void add_change(const LockChange& change, Folded& out) {
  out.add(printable_all(change.modules), kMostModules, "", "more pattern");
  std::vector<std::string> differences;
  for (const LockDifference& difference : change.differences)
    differences.push_back(printable(to_text(difference)));
  out.add(differences, kMostShown, "  ", "more difference");
}

// What most modules share first, so that what is left out is the least.
std::vector<LockChange> in_order_of_size(std::vector<LockChange> changes) {
  std::ranges::stable_sort(
      changes, [](const LockChange& a, const LockChange& b) { return a.count > b.count; });
  return changes;
}

}  // namespace

std::string to_text(const LockDiff& diff, const std::string& before_name,
                    const std::string& after_name, bool all) {
  Folded out(all);
  const auto changes = all ? diff.changes : in_order_of_size(diff.changes);
  size_t shown = 0;
  for (; shown < changes.size() && !out.is_full(); ++shown) add_change(changes[shown], out);
  size_t left = 0;
  for (size_t i = shown; i < changes.size(); ++i) left += changes[i].count;
  if (left > 0) {
    out.add_line(fmt::format("… and other changes in {}; --all lists them",
                             reports::counted(left, "module")));
  }
  for (const auto& [modules, name] :
       {std::pair(&diff.only_before, before_name), std::pair(&diff.only_after, after_name)}) {
    if (modules->empty()) continue;
    out.add_line(fmt::format("only in {}", name));
    out.add(printable_all(*modules), kMostShown, "  ", "more pattern");
  }
  std::string& text = out.text;
  if (!diff.compiled.empty()) {
    out.add_line("torch.compile computes in another dtype, and rounds what a kernel stores");
    out.add(printable_all(diff.compiled), kMostShown, "  ", "more");
  }
  if (!text.empty()) text += '\n';
  if (!diff.runtime.empty()) text += diff.runtime + '\n';
  if (!diff.devices.empty())
    text += fmt::format("compared without the device: {}\n", printable(diff.devices));
  if (!diff.names.empty()) text += fmt::format("compared as one: {}\n", printable(diff.names));
  if (diff.empty()) {
    return text + fmt::format("no dtype differs in {}\n", reports::counted(diff.same, "module"));
  }
  text += reports::counted(diff.changed, "module") + " changed";
  if (diff.missing > 0) text += fmt::format(", {} only in {}", diff.missing, before_name);
  if (diff.added > 0) text += fmt::format(", {} only in {}", diff.added, after_name);
  return text + fmt::format(", {} the same\n", diff.same);
}

using trace::text_or_null;
using Json = nlohmann::ordered_json;

static Json side_json(const std::optional<std::string>& side) {
  return side ? Json(or_none(*side)) : Json();
}

static Json change_json(const LockChange& change) {
  Json json = {{"modules", change.modules}, {"differences", Json::array()}};
  for (const LockDifference& difference : change.differences) {
    json["differences"].push_back({{"what", difference.what},
                                   {"before", side_json(difference.before)},
                                   {"after", side_json(difference.after)}});
  }
  return json;
}

std::string to_json(const LockDiff& diff, const std::string& before_name,
                    const std::string& after_name) {
  Json json = {{"schema", 1},
               {"before", before_name},
               {"after", after_name},
               {"same", diff.empty()},
               {"runtime", text_or_null(diff.runtime)},
               {"devices", text_or_null(diff.devices)},
               {"names", text_or_null(diff.names)},
               {"compiled", diff.compiled},
               {"changes", Json::array()},
               {"only_before", diff.only_before},
               {"only_after", diff.only_after},
               {"modules",
                {{"changed", diff.changed},
                 {"only_before", diff.missing},
                 {"only_after", diff.added},
                 {"same", diff.same}}}};
  for (const LockChange& change : diff.changes) json["changes"].push_back(change_json(change));
  return json.dump(1, ' ', true, Json::error_handler_t::replace) + '\n';
}

}  // namespace dtypecheck::judging
