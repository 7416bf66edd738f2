#include "reports/judging/engine_roles.h"

#include <algorithm>
#include <map>

#include "core/op_call.h"
#include "ops/ops.h"
#include "platform/text.h"

namespace dtypecheck::judging {

namespace {

// What vLLM and SGLang keep as one weight (packed_modules_mapping of their models).
struct Packed {
  std::string_view whole;
  std::vector<std::string_view> parts;
};
const std::vector<Packed> kPacked = {
    {"qkv_proj", {"q_proj", "k_proj", "v_proj"}},
    {"gate_up_proj", {"gate_proj", "up_proj"}},
    {"fused_qkv_a_proj_with_mqa", {"q_a_proj", "kv_a_proj_with_mqa"}},
    {"in_proj_qkvz", {"in_proj_qkv", "in_proj_z"}},
    {"in_proj_ba", {"in_proj_b", "in_proj_a"}},
};

constexpr size_t kMostRoots = 5;  // of names: "", "actor", "actor.module", …

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

bool holds(std::string_view text, std::string_view what) { return text.find(what) != text.npos; }

bool is_norm(std::string_view module) {
  const std::string_view last = last_part(module);
  return holds(last, "norm") || last.starts_with("ln_");
}

bool is_attention(std::string_view op) { return holds(op, "attention") || holds(op, "attn"); }

bool is_softmax(std::string_view op) {
  return holds(op, "softmax") || holds(op, "cross_entropy") || holds(op, "logsumexp");
}

bool is_sampler(std::string_view op) {
  constexpr std::string_view kOps[] = {"aten::multinomial", "aten::exponential_", "aten::argmax",
                                       "aten::topk",        "aten::sort",         "aten::cumsum"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps) || holds(op, "sampl");
}

bool is_key_or_value(std::string_view operand) {
  constexpr std::string_view kNames[] = {"key", "value", "k", "v"};
  return holds(operand, "cache") ||
         std::find(std::begin(kNames), std::end(kNames), operand) != std::end(kNames);
}

// "model.layers.0" adds what its parts give to what it was given.
bool is_block(std::string_view module) {
  const std::string_view last = last_part(module);
  return !last.empty() && last.find_first_not_of("0123456789") == last.npos;
}

// Modules have dots and parameters; FILE:FUNCTION is none.
bool is_module(const std::string& place) { return !place.empty() && !holds(place, ":"); }

using Dtypes = std::set<std::string>;
using Roles = std::map<std::string, Dtypes>;  // "norm" → Float

void add(Dtypes& to, std::string_view dtypes) {
  while (!dtypes.empty()) {
    const std::string one(next_piece(dtypes, '|'));
    if (holds(one, "Float") || one == "Half" || one == "BFloat16" || one == "Double")
      to.insert(one);
  }
}

std::string first_of(std::string_view results) { return std::string(next_piece(results, ',')); }

void note(const std::string& place, const LockedOp& op, Roles& of_module, Roles& of_run) {
  if (op.phase != phase_name(Phase::kForward) || op.outcome == outcome_name(Outcome::kThrew))
    return;
  const std::string result = first_of(op.result);
  if (is_attention(op.op)) {
    for (const LockedTensor& operand : op.operands)
      if (is_key_or_value(operand.name)) add(of_module["keys and values"], operand.dtypes);
  }
  if (!op.operands.empty() && is_softmax(op.op) && !holds(place, "attn"))
    add(of_run["softmax"], op.operands.front().dtypes);
  if (!op.operands.empty() && is_sampler(op.op) && !holds(place, "mlp") && !holds(place, "gate"))
    add(of_run["sampler"], op.operands.front().dtypes);
  if (op.op == "aten::embedding") add(of_module["embedding"], result);
  if (is_block(place) && op.op == "aten::add") add(of_module["residual"], result);
  if (is_norm(place)) {
    add(of_module["norm"], result);
  } else if (is_attention(op.op)) {
    add(of_module["attention"], result);
  } else if (ops::facts_of(op.op) & ops::kMultiplies) {
    add(of_module["product"], result);
  }
}

LockedOp role(const std::string& name, const Dtypes& dtypes) {
  std::string text;
  for (const std::string& dtype : dtypes) text += (text.empty() ? "" : "|") + dtype;
  return {.phase = phase_name(Phase::kForward), .op = name, .result = text};
}

void put(const Roles& roles, std::set<LockedOp>& ops) {
  for (const auto& [name, dtypes] : roles)
    if (!dtypes.empty()) ops.insert(role(name, dtypes));
}

// A norm that raises what it is given computes in the widest of what its ops answer in.
void keep_widest(Roles& roles) {
  const auto norm = roles.find("norm");
  if (norm != roles.end() && norm->second.contains("Float")) norm->second = {"Float"};
}

// vLLM's self_attn.attn is the product of transformers' self_attn.
std::string without_inner(const std::string& place) {
  constexpr std::string_view kInner = ".attn";
  const std::string outer = place.substr(0, place.size() - std::min(place.size(), kInner.size()));
  return place.ends_with(kInner) && holds(last_part(outer), "attn") ? outer : place;
}

Lock roles_of(const Lock& lock) {
  Lock out;
  out.runtime = lock.runtime;
  Roles of_run;
  for (const auto& [place, ops] : lock.places) {
    Roles of_module;
    std::set<LockedOp> locked;
    for (const LockedOp& op : ops) {
      if (op.phase == kParameters) {
        locked.insert(op);
      } else {
        note(place, op, of_module, of_run);
      }
    }
    keep_widest(of_module);
    put(of_module, locked);
    if (is_module(place) && !locked.empty()) out.places[without_inner(place)].merge(locked);
  }
  for (const auto& [name, dtypes] : of_run)
    if (!dtypes.empty()) out.places["(" + name + ")"].insert(role(name, dtypes));
  return out;
}

void unpack(Lock& lock, const Lock& other) {
  for (const auto& [whole, parts] : kPacked) {
    const std::string end = "." + std::string(whole);
    std::map<std::string, std::set<LockedOp>> unpacked;
    for (const auto& [place, ops] : lock.places) {
      if (!place.ends_with(end) || other.places.contains(place)) {
        unpacked[place] = ops;
        continue;
      }
      const std::string before = place.substr(0, place.size() - whole.size());
      for (const std::string_view part : parts) unpacked[before + std::string(part)] = ops;
    }
    lock.places = std::move(unpacked);
  }
}

// What many names begin with, the shortest first; "" among them.
std::vector<std::string> roots_of(const Lock& lock) {
  std::map<std::string, size_t> counts;
  size_t modules = 0;
  for (const auto& [place, ops] : lock.places) {
    if (place.starts_with('(')) continue;
    ++modules;
    size_t dot = 0;
    for (size_t i = 0; i < kMostRoots && (dot = place.find('.', dot)) != place.npos; ++i)
      ++counts[place.substr(0, ++dot)];
  }
  std::vector<std::string> roots = {""};
  for (const auto& [root, count] : counts)
    if (count * 2 > modules) roots.push_back(root);
  return roots;
}

std::set<std::string> names_below(const Lock& lock, const std::string& root) {
  std::set<std::string> names;
  for (const auto& [place, ops] : lock.places)
    if (place.starts_with(root) && !place.starts_with('(')) names.insert(place.substr(root.size()));
  return names;
}

// "model.layers.0" of the engine is "actor.module.model.layers.0" of the trainer.
void align(const Lock& trainer, Lock& engine) {
  size_t most = 0;
  std::string from, to;
  for (const std::string& theirs : roots_of(engine)) {
    const std::set<std::string> names = names_below(engine, theirs);
    for (const std::string& ours : roots_of(trainer)) {
      const std::set<std::string> other = names_below(trainer, ours);
      const auto common = static_cast<size_t>(
          std::count_if(names.begin(), names.end(),
                        [&](const std::string& name) { return other.contains(name); }));
      if (common <= most) continue;
      most = common;
      from = theirs;
      to = ours;
    }
  }
  std::map<std::string, std::set<LockedOp>> renamed;
  for (auto& [place, ops] : engine.places) {
    const bool is_below = place.starts_with(from) && !place.starts_with('(');
    renamed[is_below ? to + place.substr(from.size()) : place].merge(ops);
  }
  engine.places = std::move(renamed);
}

}  // namespace

static void drop_one_sided(Lock& lock, const Lock& other) {
  std::erase_if(lock.places, [&](const auto& place) {
    return place.first.starts_with('(') && !other.places.contains(place.first);
  });
}

std::pair<Lock, Lock> roles_of(const Lock& trainer, const Lock& engine) {
  Lock ours = roles_of(trainer), theirs = roles_of(engine);
  unpack(theirs, ours);
  unpack(ours, theirs);
  align(ours, theirs);
  drop_one_sided(ours, theirs);  // a trainer that samples nothing
  drop_one_sided(theirs, ours);
  return {std::move(ours), std::move(theirs)};
}

}  // namespace dtypecheck::judging
