// cure_places.cpp: a cure's line, operand or module, looked up among the op calls. A tensor has no
// name in a run: an operand is the tensor of another where the same call gave both, in one dtype.
#include "rules/engine/cure_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/follow_links.h"
#include "platform/hash.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {
namespace {

// "unet" holds "unet" and "unet.conv_in.weight"; "" holds all.
bool is_under(std::string_view path, std::string_view module) {
  return module.empty() || path == module ||
         (path.starts_with(module) && path.size() > module.size() && path[module.size()] == '.');
}

template <typename Value>
std::vector<Value> range_under(const std::vector<std::pair<std::string_view, Value>>& sorted,
                               std::string_view module) {
  std::vector<Value> found;
  auto at = std::lower_bound(sorted.begin(), sorted.end(), module,
                             [](const auto& entry, std::string_view m) { return entry.first < m; });
  for (; at != sorted.end() && at->first.starts_with(module); ++at) {
    if (is_under(at->first, module)) found.push_back(at->second);
  }
  return found;
}

double elements(const Operand& operand) {
  double count = 1;
  for (const int64_t size : operand.shape) count *= static_cast<double>(size);
  return count;
}

// Views are not recorded, so a shape may be another. Of a tensor that nobody made the number of
// its elements is all that tells.
bool is_same_tensor(const Operand& a, const Operand& b) {
  return a.origin == b.origin && a.dtypes == b.dtypes && a.parameter == b.parameter &&
         (a.origin != kNoOpCall || !a.parameter.empty() || elements(a) == elements(b));
}

const Operand* same_tensor_in(const OpCall& call, const Operand& operand) {
  const auto found = std::find_if(call.operands.begin(), call.operands.end(),
                                  [&](const Operand& o) { return is_same_tensor(o, operand); });
  return found == call.operands.end() ? nullptr : &*found;
}

bool is_tensor(const Operand& operand) {
  return operand.kind != TensorKind::kUndefined && !operand.is_wrapped_number;
}

bool is_trained(const Operand& operand) { return operand.is_leaf && operand.requires_grad; }

// "hx" is each of hx[0] and hx[1]; "self,other" is two operands that are cast together.
bool is_named(const Operand& operand, std::string_view names) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(','), names.size());
    const std::string_view name = names.substr(0, end);
    if (operand.name == name || list_name(operand.name) == name) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

uint64_t hash_of_place(const OpCall& call) {
  const SourceLine &line = call.site.line, &inner = call.site.inner;
  uint64_t hash = fnv1a(call.op);
  for (const std::string_view text : {std::string_view(line.file), std::string_view(inner.file)})
    hash = fnv1a_next(text, hash);
  for (const uint32_t number :
       {static_cast<uint32_t>(line.line), static_cast<uint32_t>(inner.line), call.process})
    hash = (hash ^ number) * 0x100000001b3ULL;
  return hash;
}

// Of "unet.blocks.3.fc" "fc": blocks run one line with other layers; two layers that one line calls
// differ in it.
// Of two calls at one place: the interpreter tells them apart.
bool is_another_on_line(const OpCall& a, const OpCall& b) {
  const Extent &here = a.site.inner.extent, &there = b.site.inner.extent;
  return here.known() && there.known() && here != there;
}

std::string_view layer_of(const OpCall& call) {
  const std::string_view module = call.site.module;
  const std::string_view layer = module.substr(module.rfind('.') + 1);
  return layer.find_first_not_of("0123456789") == layer.npos ? std::string_view() : layer;
}

// Float is as precise as training needs.
bool is_narrower(Dtype dtype, DtypeSet than) {
  const auto old = than.single();
  return old && dtype != Dtype::kFloat && dtype_size_bytes(dtype) < dtype_size_bytes(*old);
}

std::string already(const std::string& what, Dtype dtype) {
  return fmt::format("{} is {} already", what, dtype_name(dtype));
}

}  // namespace

CurePlaces::CurePlaces(const RunIndex& index) : index_(index), run_(index.run()) {
  for (const OpCall& call : run_.calls) {
    if (call.parent != kNoOpCall) children_.emplace_back(call.parent, call.id);
    by_place_.emplace_back(hash_of_place(call), call.id);
    if (!call.site.module.empty()) by_module_.emplace_back(call.site.module, call.id);
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const std::string& parameter = call.operands[i].parameter;
      if (!parameter.empty()) by_parameter_.emplace_back(parameter, Use(call.id, i));
    }
  }
  std::sort(children_.begin(), children_.end());
  std::sort(by_place_.begin(), by_place_.end());
  std::sort(by_module_.begin(), by_module_.end());
  std::sort(by_parameter_.begin(), by_parameter_.end());
}

std::vector<OpCallId> CurePlaces::children(const OpCall& call) const {
  std::vector<OpCallId> found;
  auto at = std::lower_bound(children_.begin(), children_.end(), std::pair(call.id, kNoOpCall));
  for (; at != children_.end() && at->first == call.id; ++at) found.push_back(at->second);
  return found;
}

// The same op of the same line: other shapes, other blocks of a model. A cast there is met by all.
std::vector<OpCallId> CurePlaces::calls_beside(const OpCall& call) const {
  if (!call.site.line.known()) return {call.id};
  std::vector<OpCallId> found;
  const uint64_t hash = hash_of_place(call);
  auto at = std::lower_bound(by_place_.begin(), by_place_.end(), std::pair(hash, kNoOpCall));
  for (; at != by_place_.end() && at->first == hash; ++at) {
    if (layer_of(*run_.call(at->second)) == layer_of(call)) found.push_back(at->second);
  }
  return found;
}

std::vector<OpCallId> CurePlaces::calls_under(const std::string& module, uint32_t process) const {
  if (module.empty()) return {};
  std::vector<OpCallId> found = range_under(by_module_, module);
  std::erase_if(found, [&](OpCallId id) { return run_.call(id)->process != process; });
  return found;
}

CureSeeds CurePlaces::seeds(const Cure& cure, const std::string& odd) const {
  const OpCall* call = run_.call(cure.call);
  if (call == nullptr || cure.kind == CureKind::kSetting)
    return {.doubt = "the recorded op calls say nothing of it"};
  switch (cure.kind) {
    case CureKind::kCastOperand:
      return cast_operand(cure, *call);
    case CureKind::kCastResult:
      return cast_result(cure, *call);
    case CureKind::kCastModuleInput:
      return cast_module_input(cure, *call, odd);
    case CureKind::kCastParameters:
      return cast_parameters(cure, *call);
    case CureKind::kOpenAutocast:
    case CureKind::kMoveAutocast:
      return open_autocast(cure, *call);
    case CureKind::kMasterWeights:
      return master_weights(cure, *call);
    case CureKind::kSetting:
      break;
  }
  return {};
}

std::string CurePlaces::key(const Cure& cure, const std::string& odd) const {
  const OpCall* call = run_.call(cure.call);
  std::string about = fmt::format("{} {}:{}", cure.call, cure.where.file, cure.where.line);
  if (call != nullptr && !cure.operand.empty()) {
    if (cure.kind == CureKind::kCastParameters || cure.kind == CureKind::kMasterWeights)
      about = fmt::format("process {} {}:{}", call->process,
                          cure.replaces.empty() ? "" : cure.where.file,
                          cure.replaces.empty() ? 0 : cure.where.line);
    if (cure.kind == CureKind::kCastModuleInput) {
      const Operand* only = only_input(cure, *call, odd);
      about = only == nullptr ? fmt::format("process {}", call->process)
                              : fmt::format("process {} {} {}", call->process, only->origin,
                                            only->dtypes.bits());
    }
    const bool opens = cure.kind == CureKind::kOpenAutocast || cure.kind == CureKind::kMoveAutocast;
    if (opens && open_region(*call) == nullptr)
      about = fmt::format("process {} {} {}", call->process, call->device_type(),
                          static_cast<int>(call->site.phase));
  }
  if (cure.kind == CureKind::kCastOperand) about += cure.code;
  return fmt::format("{} {} {} {}", static_cast<int>(cure.kind), static_cast<int>(cure.dtype),
                     cure.operand, about);
}

// Casting for an op that writes its operand writes the copy.
static std::string copy_words(const OpCall& call, const Operand& operand, Dtype dtype) {
  return fmt::format("{}{} would be a copy, and what {} writes into it would be lost", operand.name,
                     to_dtype(call, dtype), call.op);
}

// The code has one cast, in one expression of its line.
static bool casts_once(const Cure& cure) {
  const std::string suffix = fmt::format(".to({})", torch_dtype(cure.dtype));
  const size_t first = cure.code.find(suffix);
  const bool is_one =
      first == cure.code.npos || cure.code.find(suffix, first + 1) == cure.code.npos;
  return !cure.code.empty() && is_one;
}

// The operand of an inner op is one of the op that the line calls: all inside get the cast tensor.
CureSeeds CurePlaces::cast_operand(const Cure& cure, const OpCall& call) const {
  CureSeeds seeds{.dtype = cure.dtype};
  bool is_there = false;
  for (const Operand& operand : call.operands) {
    if (!is_named(operand, cure.operand) || !is_tensor(operand)) continue;
    is_there = true;
    if (operand.dtypes == DtypeSet(cure.dtype)) continue;
    if (operand.is_written) seeds.wrong = copy_words(call, operand, cure.dtype);
    // "f(x.to(torch.float32)).to(torch.float16)" ends in a cast to what was there.
    const auto old = operand.dtypes.single();
    if (old && cure.code.ends_with(to_dtype(call, *old))) seeds.back = *old;
    check_integers(run_.call(operand.origin), operand.dtypes, seeds);
    const OpCall* outer = &call;
    const Operand* outer_operand = &operand;
    follow_links(run_.call(call.parent), [&](const OpCall& parent) -> const OpCall* {
      const Operand* same = same_tensor_in(parent, operand);
      if (same == nullptr) return nullptr;
      outer = &parent;
      outer_operand = same;
      return run_.call(parent.parent);
    });
    for (const OpCallId id : calls_beside(*outer)) {
      const OpCall& beside = *run_.call(id);
      const Operand* its = beside.operand(outer_operand->name);
      if (its == nullptr || its->dtypes != operand.dtypes) continue;
      // "a.sqrt() * x + b.sqrt() * y": what is cast in one call is not cast in the other. Nor where
      // both are one tensor, or one signature, but for code that casts it in each.
      const bool is_meant = is_same_tensor(*its, *outer_operand) && !casts_once(cure);
      if (is_another_on_line(beside, *outer) && !is_meant) continue;
      cast_in(beside, *its, seeds);
      cast_for_backward(beside, *its, seeds);
      ++seeds.touched;
    }
  }
  if (!is_there) seeds.wrong = fmt::format("{} has no tensor {}", call.op, cure.operand);
  if (seeds.wrong.empty() && seeds.operands.empty())
    seeds.wrong = already(cure.operand, cure.dtype);
  return seeds;
}

void CurePlaces::cast_in(const OpCall& outer, const Operand& operand, CureSeeds& seeds) const {
  std::vector<const OpCall*> calls = {&outer};
  for (size_t next = 0; next < calls.size() && calls.size() < 1000; ++next) {
    const OpCall& call = *calls[next];
    for (size_t i = 0; i < call.operands.size(); ++i) {
      if (is_same_tensor(call.operands[i], operand)) seeds.operands[call.id].push_back(i);
    }
    for (const OpCallId id : children(call)) calls.push_back(run_.call(id));
  }
}

// Autograd keeps the cast tensor: the derivative of the call gets that one, at the line of its
// forward op.
void CurePlaces::cast_for_backward(const OpCall& forward, const Operand& operand,
                                   CureSeeds& seeds) const {
  const OpCall* origin = run_.call(operand.origin);
  if (origin == nullptr || !operand.parameter.empty()) return;
  for (const OpCallId id : index_.consumers(*origin)) {
    const OpCall& reader = *run_.call(id);
    const bool is_its_backward = reader.site.phase == Phase::kBackward &&
                                 (ops::facts_of(reader.op) & ops::kBackward) != 0 &&
                                 reader.op.starts_with(forward.op + "_backward");
    if (is_its_backward) cast_in(reader, operand, seeds);
  }
}

CureSeeds CurePlaces::cast_result(const Cure& cure, const OpCall& call) const {
  CureSeeds seeds{.dtype = cure.dtype};
  const auto dtype = call.result_dtype();
  if (!dtype) {
    seeds.wrong = call.op + " gave no result";
    return seeds;
  }
  if (*dtype == cure.dtype) {
    seeds.wrong = already("what " + call.op + " gives", cure.dtype);
    return seeds;
  }
  const OpCall* outer = &call;
  follow_links(run_.call(call.parent), [&](const OpCall& parent) -> const OpCall* {
    if (parent.result_dtype() != dtype || !(parent.site.line == call.site.line)) return nullptr;
    if (elements(parent.results.front()) != elements(call.results.front())) return nullptr;
    outer = &parent;
    return run_.call(parent.parent);
  });
  for (const Operand& operand : outer->operands) {
    if (operand.is_written && operand.role != Role::kOut)
      seeds.wrong = copy_words(*outer, operand, cure.dtype);
  }
  check_integers(outer, *dtype, seeds);
  for (const OpCallId id : calls_beside(*outer)) {
    if (run_.call(id)->result_dtype() != dtype) continue;
    if (is_another_on_line(*run_.call(id), *outer)) continue;
    seeds.results.insert(id);
    ++seeds.touched;
  }
  // torch.tensor() copies what it has made, in the dtype that it has.
  for (const OpCallId id :
       call.op == "aten::lift_fresh" ? index_.consumers(call) : std::span<const OpCallId>()) {
    const OpCall& copy = *run_.call(id);
    if (copy.site.line == call.site.line && copy.result_dtype() == dtype) seeds.results.insert(id);
  }
  cast_handed_over(call, seeds);
  return seeds;
}

// What the workers of a DataLoader make, another process reads.
void CurePlaces::cast_handed_over(const OpCall& maker, CureSeeds& seeds) const {
  if (maker.site.phase != Phase::kData) return;
  for (const OpCall& reader : run_.calls) {
    if (reader.process == maker.process) continue;
    for (size_t i = 0; i < reader.operands.size(); ++i) {
      const Operand& operand = reader.operands[i];
      const bool may_be = operand.origin == kNoOpCall && operand.parameter.empty() &&
                          is_tensor(operand) && operand.dtypes == maker.results.front().dtypes;
      if (!may_be) continue;
      const Provenance way = index_.provenance().of(reader, operand);
      const bool is_it =
          std::any_of(way.steps.begin(), way.steps.end(),
                      [&](const ProvenanceStep& step) { return step.call == &maker; });
      if (is_it) seeds.operands[reader.id].push_back(i);
    }
  }
}

bool CurePlaces::is_from_outside(const Operand& operand, const std::string& module) const {
  const OpCall* origin = run_.call(operand.origin);
  const bool is_its_own = !operand.parameter.empty() || is_trained(operand) ||
                          operand.role == Role::kState || operand.role == Role::kOut ||
                          (operand.requires_grad && operand.role != Role::kInput);
  return !is_its_own && operand.is_floating() && is_tensor(operand) &&
         (origin == nullptr || !is_under(origin->site.module, module));
}

const Operand* CurePlaces::only_input(const Cure& cure, const OpCall& call,
                                      const std::string& odd) const {
  const Operand* only = call.operand(odd);
  return only != nullptr && is_from_outside(*only, cure.operand) ? only : nullptr;
}

// What comes into the module from outside of it, wherever in it that is first read: the argument
// that the finding is about, or all where that is made inside.
CureSeeds CurePlaces::cast_module_input(const Cure& cure, const OpCall& call,
                                        const std::string& odd) const {
  CureSeeds seeds{.dtype = cure.dtype};
  const std::string& module = cure.operand;
  const std::vector<OpCallId> inside = calls_under(module, call.process);
  const Operand* only = only_input(cure, call, odd);
  std::set<std::pair<OpCallId, uint64_t>> inputs;
  for (const OpCallId id : inside) {
    const OpCall& reader = *run_.call(id);
    for (size_t i = 0; i < reader.operands.size(); ++i) {
      const Operand& operand = reader.operands[i];
      const bool is_other =
          only != nullptr && (operand.origin != only->origin || operand.dtypes != only->dtypes);
      if (is_other || !is_from_outside(operand, module)) continue;
      if (operand.dtypes == DtypeSet(cure.dtype)) continue;
      if (operand.is_written) seeds.wrong = copy_words(reader, operand, cure.dtype);
      seeds.operands[id].push_back(i);
      if (inputs.emplace(operand.origin, operand.dtypes.bits()).second)
        check_integers(run_.call(operand.origin), operand.dtypes, seeds);
    }
  }
  seeds.touched = inputs.size();
  follow_casts(module, call.process, seeds);
  if (inside.empty()) {
    seeds.wrong = fmt::format("no op call in {} was recorded", module);
  } else if (inputs.empty()) {
    seeds.wrong =
        already(only == nullptr ? "all that " + module + " is called with" : odd, cure.dtype);
  }
  return seeds;
}

void CurePlaces::cast_parameter(const Use& use, CureSeeds& seeds,
                                std::set<std::string>& names) const {
  const Operand& operand = run_.call(use.first)->operands[use.second];
  if (!operand.is_floating() || operand.dtypes == DtypeSet(seeds.dtype)) return;
  seeds.operands[use.first].push_back(use.second);
  names.insert(operand.parameter);
  if (is_trained(operand) && is_narrower(seeds.dtype, operand.dtypes)) seeds.lowers_trained = true;
}

// Those that the line made or cast, which is more than the module where it casts a whole model.
std::vector<CurePlaces::Use> CurePlaces::parameters_cast_at(const SourceLine& line) const {
  std::vector<Use> uses;
  for (const auto& [name, use] : by_parameter_) {
    const OpCall* maker = run_.call(run_.call(use.first)->operands[use.second].origin);
    if (maker != nullptr && maker->site.line.file == line.file &&
        maker->site.line.line == line.line)
      uses.push_back(use);
  }
  return uses;
}

// Each parameter of the process that is trained in Half or BFloat16 is among them, and there is
// one.
bool CurePlaces::are_all_trained(const std::set<std::string>& names, uint32_t process) const {
  bool is_one = false;
  for (const auto& [name, use] : by_parameter_) {
    const OpCall& reader = *run_.call(use.first);
    const Operand& operand = reader.operands[use.second];
    const bool is_low =
        reader.process == process && is_trained(operand) && operand.dtypes.within(kLowPrecision);
    if (is_low && !names.contains(operand.parameter)) return false;
    is_one |= is_low;
  }
  return is_one;
}

CureSeeds CurePlaces::cast_parameters(const Cure& cure, const OpCall& call) const {
  CureSeeds seeds{.dtype = cure.dtype};
  const std::string& module = cure.operand;
  std::set<std::string> names;
  std::vector<Use> uses;
  if (!cure.replaces.empty() && cure.where.known()) uses = parameters_cast_at(cure.where);
  if (uses.empty() && !module.empty()) uses = range_under(by_parameter_, module);
  for (const Use& use : uses) {
    if (run_.call(use.first)->process == call.process) cast_parameter(use, seeds, names);
  }
  seeds.touched = names.size();
  if (cure.dtype == Dtype::kFloat && are_all_trained(names, call.process))
    cast_in_step(call.process, seeds);
  if (uses.empty()) cast_nameless_parameters(module, call, seeds);
  follow_casts(module, call.process, seeds);
  if (seeds.touched > 0) return seeds;
  if (uses.empty()) {
    seeds.doubt = "the parameters have no names in the run";
  } else {
    seeds.wrong = already("each parameter of " + module, cure.dtype);
  }
  return seeds;
}

// Of a module that no variable holds, and in C++, where no module tree gives names: what layers
// take for their weights and biases, cast where it was made.
void CurePlaces::cast_nameless_parameters(const std::string& module, const OpCall& call,
                                          CureSeeds& seeds) const {
  std::vector<OpCallId> readers = calls_under(module, call.process);
  if (module.empty()) {
    follow_links(&call, [&](const OpCall& at) {
      readers.push_back(at.id);
      return run_.call(at.parent);
    });
  }
  for (const OpCallId id : readers) {
    const OpCall& reader = *run_.call(id);
    for (size_t i = 0; i < reader.operands.size(); ++i) {
      const Operand& operand = reader.operands[i];
      const bool is_parameter =
          is_trained(operand) || operand.role == Role::kWeight || operand.role == Role::kBias;
      if (!is_parameter || !operand.parameter.empty() || !operand.is_floating()) continue;
      if (operand.dtypes == DtypeSet(seeds.dtype)) continue;
      const OpCall* origin = run_.call(operand.origin);
      if (origin == nullptr || origin->results.empty()) {
        seeds.operands[id].push_back(i);
        ++seeds.touched;
      } else if (seeds.results.insert(origin->id).second) {
        ++seeds.touched;
      }
      if (is_trained(operand) && is_narrower(seeds.dtype, operand.dtypes))
        seeds.lowers_trained = true;
    }
  }
}

// What a library casts to Half or BFloat16, it casts to what it was called with or to what its
// parameters are: x.to(sample.dtype). Casts to Float it often makes on purpose.
void CurePlaces::follow_casts(const std::string& module, uint32_t process, CureSeeds& seeds) const {
  DtypeSet old;
  for (const auto& [id, operands] : seeds.operands) {
    for (const size_t i : operands) old |= run_.call(id)->operands[i].dtypes;
  }
  old = old & kLowPrecision;
  if (old.empty()) return;
  for (const OpCallId id : calls_under(module, process)) {
    const OpCall& call = *run_.call(id);
    const OpCall* parent = run_.call(call.parent);
    const ScalarArgument* dtype = call.scalar("dtype");
    const bool is_its_own = !is_users_own(call.site) && index_.has(call, ops::kCast) &&
                            (parent == nullptr || !parent->autocast.is_wrapper);
    if (is_its_own && dtype != nullptr && dtype->dtype && old.contains(*dtype->dtype) &&
        call.result_dtype() == *dtype->dtype)
      seeds.results.insert(id);
  }
}

// The calls at the line, or all in the module that it calls. Which calls are below a line is not
// recorded.
void CurePlaces::add_scope(const Cure& cure, const OpCall& call, CureSeeds& seeds) const {
  const std::vector<OpCallId> inside = calls_under(cure.operand, call.process);
  seeds.under_autocast.insert(inside.begin(), inside.end());
  const SourceLine& line = cure.where.known() ? cure.where : call.site.line;
  if (cure.operand.empty()) seeds.under_autocast.insert(call.id);
  for (const OpCall& other : run_.calls) {
    const SourceLine& its = other.site.line;
    const bool is_there = line.known() && its.file == line.file && its.line == line.line;
    if (is_there && other.process == call.process && cure.operand.empty())
      seeds.under_autocast.insert(other.id);
  }
}

// What ran between the end of the region and the call.
void CurePlaces::add_lines_behind(const OpCall& call, CureSeeds& seeds) const {
  const OpCall* last = index_.autocast_before(call);
  for (OpCallId id = last == nullptr ? call.id : last->id + 1; id <= call.id; ++id) {
    if (run_.call(id)->process == call.process) seeds.under_autocast.insert(id);
  }
}

void CurePlaces::keep_in_forward(const OpCall& call, CureSeeds& seeds) const {
  std::erase_if(seeds.under_autocast, [&](OpCallId id) {
    const OpCall& other = *run_.call(id);
    const bool is_forward =
        other.site.phase == call.site.phase || other.site.phase == Phase::kForward;
    const bool has_operands = std::any_of(other.operands.begin(), other.operands.end(),
                                          [](const Operand& o) { return o.is_floating(); });
    return !is_forward || !has_operands ||
           other.autocast.region_for(seeds.region.device) != nullptr;
  });
}

const OpCall* CurePlaces::open_region(const OpCall& call) const {
  const OpCall* open = nullptr;
  const std::string device = call.device_type();
  follow_links(&call, [&](const OpCall& at) {
    const bool is_open = at.autocast.region_for(device) != nullptr || at.autocast.is_inner;
    if (is_open) open = &at;
    return is_open ? nullptr : run_.call(at.parent);
  });
  return open;
}

CureSeeds CurePlaces::open_autocast(const Cure& cure, const OpCall& call) const {
  CureSeeds seeds{.dtype = cure.dtype, .region = {call.device_type(), cure.dtype}};
  const OpCall* open = open_region(call);
  if (open != nullptr) {
    const SourceLine& entered = open->autocast.entered;
    Site site;
    site.line = entered;
    seeds.wrong = fmt::format("autocast is open there already{}",
                              entered.known() ? ", entered" + at_place(site) : std::string());
    return seeds;
  }
  if (cure.kind == CureKind::kMoveAutocast) {
    add_lines_behind(call, seeds);
  } else {
    add_scope(cure, call, seeds);
  }
  keep_in_forward(call, seeds);
  seeds.touched = seeds.under_autocast.size();
  if (seeds.touched == 0) seeds.wrong = "no op call of a forward pass was recorded there";
  return seeds;
}

// Gradients have the dtype of their parameters, and what an optimizer keeps that of both.
void CurePlaces::cast_in_step(uint32_t process, CureSeeds& seeds) const {
  for (const OpCall& call : run_.calls) {
    if (call.process != process || call.site.phase != Phase::kOptimizer) continue;
    for (size_t i = 0; i < call.operands.size(); ++i) {
      const Operand& operand = call.operands[i];
      const OpCall* origin = run_.call(operand.origin);
      const bool is_known = origin != nullptr && origin->site.phase != Phase::kBackward;
      if (operand.dtypes.within(kLowPrecision) && operand.parameter.empty() && !is_known)
        seeds.operands[call.id].push_back(i);
    }
  }
}

// The dtype of the cure is the one that autocast computes in; Float leaves that as it was.
CureSeeds CurePlaces::master_weights(const Cure& cure, const OpCall& call) const {
  CureSeeds seeds{.dtype = Dtype::kFloat, .region = {call.device_type(), cure.dtype}};
  std::set<std::string> names, roots;
  for (const Use& use : range_under(by_parameter_, cure.operand)) {
    const OpCall& reader = *run_.call(use.first);
    const Operand& operand = reader.operands[use.second];
    if (reader.process != call.process || !operand.dtypes.within(kLowPrecision)) continue;
    // A gradient has its parameter's name, and no leaf's marks.
    if (!is_trained(operand) && is_parameter(operand)) continue;
    if (seeds.region.dtype == Dtype::kFloat) seeds.region.dtype = *operand.dtypes.single();
    cast_parameter(use, seeds, names);
    roots.insert(root_module(operand.parameter));
  }
  seeds.touched = names.size();
  if (names.empty()) {
    seeds.wrong = "no trained parameter in Half or BFloat16 was recorded";
    return seeds;
  }
  cast_in_step(call.process, seeds);
  for (const std::string& root : roots) {
    for (const OpCallId id : calls_under(root, call.process)) {
      const OpCall& inside = *run_.call(id);
      const bool is_open = inside.autocast.region_for(seeds.region.device) != nullptr;
      if (inside.site.phase == Phase::kForward && !is_open && !inside.autocast.is_inner)
        seeds.under_autocast.insert(id);
    }
  }
  return seeds;
}

namespace {

// Up to here each integer has a number of its own.
double largest_integer(Dtype dtype) {
  return dtype == Dtype::kHalf ? 2048 : dtype == Dtype::kBFloat16 ? 256 : 16777216;
}

// What made the integers that a tensor holds; nullptr where it holds none, or nobody knows.
const OpCall* integers_behind(const Run& run, const OpCall* origin, DtypeSet dtypes) {
  const OpCall* found = nullptr;
  follow_links(origin, [&](const OpCall& call) -> const OpCall* {
    if (dtypes.within(kIntegral)) {
      found = &call;
    } else if (call.op == "python::torch.tensor" && call.scalar("list[int]") != nullptr) {
      found = &call;
    }
    const bool passes = (ops::facts_of(call.op) & (ops::kPassesOn | ops::kCast)) != 0;
    if (!passes || call.operands.empty()) return nullptr;
    dtypes = call.operands.front().dtypes;
    return run.call(call.operands.front().origin);
  });
  return found;
}

// The numbers of arange(end) and randint(high); one_hot's are 0 and 1.
std::optional<double> largest_made(const OpCall& maker) {
  if (maker.short_op() == "one_hot") return 1;
  for (const char* name : {"end", "high"}) {
    const ScalarArgument* scalar = maker.scalar(name);
    if (scalar != nullptr && !scalar->dtype) return std::fabs(scalar->value) - 1;
  }
  return std::nullopt;
}

}  // namespace

// Time steps, sizes and positions beyond the exact range of a narrow dtype become their neighbours.
void CurePlaces::check_integers(const OpCall* origin, DtypeSet dtypes, CureSeeds& seeds) const {
  if (!kLowPrecision.contains(seeds.dtype) || origin == nullptr) return;
  const OpCall* maker = integers_behind(run_, origin, dtypes);
  if (maker == nullptr) return;
  const std::string name = dtype_name(seeds.dtype);
  for (const OpCallId id : index_.consumers(*maker)) {
    const OpCall& reader = *run_.call(id);
    if (!reader.inexact || reader.result_dtype() != seeds.dtype) continue;
    seeds.wrong = fmt::format("{} would become {} in {}", number(reader.inexact->from),
                              number(reader.inexact->to), name);
    return;
  }
  const auto largest = largest_made(*maker);
  if (largest && *largest <= largest_integer(seeds.dtype)) return;
  const std::string words = fmt::format(
      "{} holds every integer up to {} only, and {} gives {}", name, largest_integer(seeds.dtype),
      made_by(*maker), largest ? fmt::format("some up to {}", *largest) : "integers");
  (largest ? seeds.wrong : seeds.doubt) = words;
}

}  // namespace dtypecheck::rules
