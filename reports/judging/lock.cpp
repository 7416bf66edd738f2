#include "reports/judging/lock.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/compiled_ops.h"
#include "ops/arguments.h"
#include "ops/ops.h"
#include "platform/error.h"
#include "platform/printable.h"
#include "platform/text.h"
#include "reports/judging/folded_names.h"
#include "rules/engine/run_index.h"
#include "trace/text_cursor.h"

namespace dtypecheck::judging {

namespace {

constexpr std::string_view kFirstLine = "# dtypecheck lock ";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kNameCharacters = ".:<>-{},/";
constexpr std::string_view kDtypeCharacters = "|";

// A Python number has no dtype of its own, and an argument that was left out has none at all.
bool counts(const Operand& operand) {
  return operand.kind != TensorKind::kUndefined && !operand.is_wrapped_number;
}

std::vector<LockedTensor> locked(const std::vector<Operand>& operands) {
  std::vector<std::pair<std::string_view, DtypeSet>> lists;
  for (const Operand& operand : operands) {
    if (!counts(operand)) continue;
    const std::string_view name = ops::list_name(operand.name);
    const auto known =
        std::ranges::find_if(lists, [&](const auto& list) { return list.first == name; });
    if (known == lists.end()) {
      lists.emplace_back(name, operand.dtypes);
    } else {
      known->second = known->second | operand.dtypes;
    }
  }
  std::vector<LockedTensor> out;
  for (const auto& [name, dtypes] : lists) out.push_back({std::string(name), dtypes.to_string()});
  return out;
}

// torch.compile(model) keeps what it compiles as _orig_mod: the same model.
std::string without_wrapper(std::string name) {
  constexpr std::string_view kWrapper = "_orig_mod.";
  for (size_t at = name.find(kWrapper); at != name.npos; at = name.find(kWrapper)) {
    if (at > 0 && name[at - 1] != '.') break;
    name.erase(at, kWrapper.size());
  }
  constexpr std::string_view kEnd = "._orig_mod";
  if (name.ends_with(kEnd)) name.resize(name.size() - kEnd.size());
  return name;
}

std::string place_of(const OpCall& call) {
  if (!call.site.module.empty()) return without_wrapper(call.site.module);
  const SourceLine& line = call.site.line;
  const std::string file = std::filesystem::path(line.file).filename().string();
  return line.function.empty() ? file : fmt::format("{}:{}", file, line.function);
}

// A call inside of autocast's is the real one of the two; others inside of a call are LibTorch's.
bool is_locked(const Run& run, const OpCall& call) {
  if (call.autocast.is_wrapper || call.site.phase == Phase::kLoad) return false;
  const OpCall* parent = run.call(call.parent);
  return (parent == nullptr || parent->autocast.is_wrapper) &&
         std::ranges::any_of(call.operands, counts);
}

LockedOp locked(const OpCall& call) {
  LockedOp op{.phase = phase_name(call.site.phase),
              .op = call.op,
              .operands = locked(call.operands),
              .device = call.device_type()};
  if (!call.results.empty()) {
    std::vector<std::string> results;
    for (const LockedTensor& result : locked(call.results)) results.push_back(result.dtypes);
    op.result = fmt::format("{}", fmt::join(results, ","));
  }
  const AutocastState::Region* region = call.autocast.region_for(op.device);
  if (region != nullptr) op.autocast = dtype_name(region->dtype);
  if (call.outcome != Outcome::kReturned) op.outcome = outcome_name(call.outcome);
  return op;
}

// What is inside of a region of torch.compile, by Inductor's own code; a fused op has no operands
// of its own, so they are one.
LockedOp locked(const CompiledOp& compiled, const OpCall& region) {
  return {.phase = phase_name(region.site.phase),
          .op = compiled.op,
          .operands = {{"inputs", compiled.inputs}, {kComputed, compiled.computed}},
          .result = compiled.result,
          .device = region.device_type()};
}

// By name, from where they were last seen to be used: a cast at the start leaves others behind.
class Parameters {
 public:
  void add(const OpCall& call) {
    const bool loads = call.site.phase == Phase::kLoad;
    for (const Operand& operand : call.operands) {
      if (!is_parameter(operand) || operand.kind == TensorKind::kUndefined) continue;
      auto& [dtypes, from_load] =
          known_.try_emplace(without_wrapper(operand.parameter), DtypeSet(), true).first->second;
      if (loads && !from_load) continue;
      if (from_load && !loads) dtypes = DtypeSet();
      from_load = loads;
      dtypes = dtypes | operand.dtypes;
    }
  }

  void put_into(Lock& lock) const {
    std::map<std::string, LockedOp> modules;
    for (const auto& [name, known] : known_) {
      const size_t dot = name.rfind('.');
      const std::string module = dot == name.npos ? "" : name.substr(0, dot);
      modules[module].operands.push_back(
          {name.substr(dot == name.npos ? 0 : dot + 1), known.first.to_string()});
    }
    for (auto& [module, op] : modules) {
      op.phase = kParameters;
      lock.places[module].insert(std::move(op));
    }
  }

 private:
  std::map<std::string, std::pair<DtypeSet, bool>> known_;
};

std::string runtime_of(const Run& run) {
  std::set<std::string> versions, devices;
  for (const Process& process : run.processes) {
    if (!process.libtorch.empty()) versions.insert("LibTorch " + process.libtorch);
    devices.insert(process.devices.begin(), process.devices.end());
  }
  versions.merge(devices);
  return printable(fmt::format("{}", fmt::join(versions, ", ")));
}

// Modules times their ops: a text of a few bytes may stand for any number of them. A mixture of 384
// experts in 61 layers has 140,000.
constexpr size_t kMostEntries = 1 << 18;

LockedOp parse_op(TextCursor& cursor) {
  LockedOp op;
  op.phase = cursor.name("", "a phase (forward, backward, parameters)");
  if (op.phase != kParameters) {
    cursor.require_space("an op");
    op.op = cursor.word("an op, as in aten::addmm");
  }
  while (cursor.skip_spaces() && !cursor.at_end()) {
    const std::string_view next = cursor.next_word();
    if (next == "->") {
      cursor.expect("-> ");
      op.result = cursor.word("dtypes");
    } else if (cursor.accept("@")) {
      op.device = cursor.word("a device");
    } else if (next == "autocast") {
      cursor.expect("autocast ");
      op.autocast = cursor.word("a dtype");
    } else if (next == outcome_name(Outcome::kThrew) || next == outcome_name(Outcome::kRepaired) ||
               next == outcome_name(Outcome::kServed)) {
      op.outcome = cursor.word("an outcome");
    } else {
      LockedTensor operand{.name = cursor.name(".[]", "an operand, as in weight=Half"),
                           .dtypes = ""};
      cursor.expect("=");
      operand.dtypes = cursor.word("dtypes, as in Half or Half|Float");
      op.operands.push_back(std::move(operand));
    }
  }
  return op;
}

std::vector<std::string> parse_places(TextCursor& cursor) {
  const bool is_quoted = cursor.peek() == '"';
  const std::string name = cursor.word("the name of a module");
  cursor.skip_spaces();
  if (!cursor.at_end()) cursor.fail("the end of the line");
  if (is_quoted) return {name};
  try {
    return unfold_name(name);
  } catch (const InputError& error) {
    cursor.fail_with(error.what());
  }
}

// A name that would be read as a folded one stands in quotes.
std::string shown_place(const std::string& folded, bool is_name) {
  const bool has_braces = folded.find_first_of("{}") != folded.npos;
  return is_name && has_braces ? dtypecheck::quoted(folded)
                               : bare_or_quoted(folded, kNameCharacters);
}

}  // namespace

Lock lock_of(const Run& run) {
  const rules::RunIndex index(run);
  Lock lock;
  lock.runtime = runtime_of(run);
  Parameters parameters;
  for (const OpCall& call : index.judged_calls()) {
    parameters.add(call);
    if (is_locked(run, call)) lock.places[place_of(call)].insert(locked(call));
    if (!ops::is_compiled(call.op)) continue;
    for (const CompiledOp& compiled : compiled_ops(run, call))
      lock.places[place_of(call)].insert(locked(compiled, call));
  }
  parameters.put_into(lock);
  return lock;
}

std::string to_text(const LockedOp& op) {
  std::string text = op.phase;
  if (!op.op.empty()) text += ' ' + bare_or_quoted(op.op, ":.<>-");
  for (const LockedTensor& operand : op.operands) {
    text += fmt::format(" {}={}", bare_or_quoted(operand.name, ".[]"),
                        bare_or_quoted(operand.dtypes, kDtypeCharacters));
  }
  if (!op.result.empty()) text += " -> " + bare_or_quoted(op.result, "|,");
  if (!op.device.empty()) text += " @" + bare_or_quoted(op.device, "");
  if (!op.autocast.empty()) text += " autocast " + bare_or_quoted(op.autocast, "");
  if (!op.outcome.empty()) text += ' ' + op.outcome;
  return text;
}

std::string to_text(const Lock& lock) {
  std::map<std::set<LockedOp>, std::set<std::string>> groups;
  for (const auto& [place, ops] : lock.places) {
    if (!ops.empty()) groups[ops].insert(place);
  }
  std::vector<std::pair<std::vector<std::string>, const std::set<LockedOp>*>> ordered;
  for (const auto& [ops, places] : groups) {
    std::vector<std::string> names;
    for (const std::string& folded : fold_names(places))
      names.push_back(shown_place(folded, places.contains(folded)));
    ordered.emplace_back(std::move(names), &ops);
  }
  std::ranges::sort(ordered);
  std::string text = fmt::format("{}{}\n", kFirstLine, kVersion);
  if (!lock.runtime.empty()) text += fmt::format("# {}\n", lock.runtime);
  for (const auto& [names, ops] : ordered) {
    text += fmt::format("{}\n", fmt::join(names, "\n"));
    std::vector<std::string> lines;
    for (const LockedOp& op : *ops) lines.push_back("  " + to_text(op) + '\n');
    for (const std::string& line : lines) text += line;
  }
  return text;
}

bool is_lock(std::string_view text) { return text.starts_with(kFirstLine); }

Lock parse_lock(std::string_view text, const std::string& name) {
  std::string_view rest = text;
  const std::string_view first = next_piece(rest, '\n');
  if (!is_lock(first)) {
    throw InputError(
        fmt::format("{}: not a lockfile: it does not begin with \"{}{}\"; dtypecheck "
                    "lock writes one",
                    name, kFirstLine, kVersion));
  }
  const std::string_view version = trimmed(first.substr(kFirstLine.size()));
  if (version != kVersion) {
    throw InputError(
        fmt::format("{}: a lockfile of version {}, this build reads {}; write it again with "
                    "dtypecheck lock",
                    name, printable(version), kVersion));
  }
  Lock lock;
  std::vector<std::string> places;
  size_t entries = 0;
  bool has_ops = false;
  for (int number = 2; !rest.empty(); ++number) {
    const std::string_view line = next_piece(rest, '\n');
    if (trimmed(line).empty()) continue;
    if (line.starts_with('#')) {
      if (number == 2) lock.runtime = printable(trimmed(line.substr(1)));
      continue;
    }
    TextCursor cursor(line, name, number);
    if (!cursor.skip_spaces()) {
      if (has_ops) places.clear();
      has_ops = false;
      const auto more = parse_places(cursor);
      places.insert(places.end(), more.begin(), more.end());
      if (places.size() > kMostEntries) cursor.fail_with("more modules than a model has");
      continue;
    }
    has_ops = true;
    entries += places.size();
    if (entries > kMostEntries) cursor.fail_with("more ops of modules than a model has");
    if (places.empty()) cursor.fail("the name of a module, at the beginning of the line");
    const LockedOp op = parse_op(cursor);
    for (const std::string& place : places) lock.places[place].insert(op);
  }
  return lock;
}

}  // namespace dtypecheck::judging
