#include "rules/engine/run_index.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/follow_links.h"
#include "rules/engine/mix.h"
#include "rules/engine/scaled_product.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

bool threw(const OpCall& call) { return call.outcome == Outcome::kThrew || was_let_through(call); }

std::string root_of(const std::string& parameter) {
  return parameter.substr(0, parameter.find('.'));
}

}  // namespace

static bool op_promotes(const contracts::Contracts& contracts, const OpCall& call) {
  const std::string op = ops::without_alias(call.op);
  const contracts::Behaviour& overload = contracts.behaviour(op + "." + call.overload);
  return overload.is_known ? overload.promotes : contracts.promotes(op);
}

// A compiler computes nothing and asks the op all the same; what it raises quotes the op's refusal.
static bool was_refused_to_compiler(const Run& run, const OpCall& call) {
  if (call.outcome != Outcome::kThrew || call.error.empty()) return false;
  const std::string error = as_raised(call.error);
  return std::ranges::any_of(run.calls, [&](const OpCall& other) {
    return other.process == call.process && other.outcome == Outcome::kThrew &&
           ops::is_python(other.op) && other.error.size() > error.size() &&
           other.error.find(error) != std::string::npos;
  });
}

RunIndex::RunIndex(const Run& run, const contracts::Contracts& contracts)
    : run_(run), provenance_(run), contracts_(contracts) {
  struct Op {
    uint64_t facts = 0;
    bool promotes = false;
  };
  std::map<std::pair<std::string_view, std::string_view>, Op> known;  // by name and overload
  facts_.reserve(run.calls.size());
  promotes_.reserve(run.calls.size());
  is_judged_.reserve(run.calls.size());
  for (const OpCall& call : run.calls) {
    const auto [entry, is_new] = known.try_emplace({call.op, call.overload});
    if (is_new) entry->second = {ops::facts_of(call.op), op_promotes(contracts, call)};
    facts_.push_back(entry->second.facts);
    promotes_.push_back(entry->second.promotes);
    is_judged_.push_back((was_computed(call) || was_refused_to_compiler(run, call)) &&
                         !threw_in_repaired(call));
    if (is_judged_.back()) judged_calls_.emplace_back(call);
  }
  index_consumers();
  index_throws();
  index_autocast();
}

bool RunIndex::threw_in_repaired(const OpCall& call) const {
  if (call.outcome != Outcome::kThrew) return false;
  bool was_repaired = false;
  follow_links(run_.call(call.parent), [&](const OpCall& outer) {
    was_repaired = was_let_through(outer);
    return was_repaired ? nullptr : run_.call(outer.parent);
  });
  return was_repaired;
}

void RunIndex::index_consumers() {
  const size_t count = run_.calls.size();
  std::vector<std::pair<OpCallId, OpCallId>> edges;  // origin, consumer
  for (const OpCall& call : run_.calls) {
    for (const Operand& operand : call.operands) {
      if (run_.call(operand.origin) != nullptr) edges.emplace_back(operand.origin, call.id);
    }
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  consumer_begin_.assign(count + 1, 0);
  consumers_.reserve(edges.size());
  for (const auto& [origin, consumer] : edges) {
    ++consumer_begin_[origin];
    consumers_.push_back(consumer);
  }
  for (size_t i = 1; i <= count; ++i) consumer_begin_[i] += consumer_begin_[i - 1];
}

// A message is recorded with the innermost op in flight; the calls around it only know that they
// threw.
void RunIndex::index_throws() {
  throwing_call_.assign(run_.calls.size(), kNoOpCall);
  for (const OpCall& call : run_.calls) {
    if (!threw(call) || call.error.empty() || threw_in_repaired(call)) continue;
    throwing_call_[call.id - 1] = call.id;
    if (!ops::is_python(call.op)) op_errors_.emplace(call.process, as_raised(call.error));
  }
  for (const OpCall& call :
       run_.calls) {  // inner calls have the higher ids, so the innermost stays
    if (!threw(call) || call.error.empty() || threw_in_repaired(call)) continue;
    follow_links(run_.call(call.parent), [&](const OpCall& outer) -> const OpCall* {
      const bool is_another = !outer.error.empty() && outer.error != call.error;
      if (!threw(outer) || is_another) return nullptr;
      throwing_call_[outer.id - 1] = call.id;
      return run_.call(outer.parent);
    });
  }
}

void RunIndex::index_autocast() {
  for (const OpCall& call : run_.calls) {
    for (const AutocastState::Region& region : call.autocast.enabled) {
      autocast_.try_emplace({call.process, region.device}, call.id);
    }
  }
}

static bool has_wrong_dtype_to_scale(const OpCall& call) {
  return scaled_fault(call) || std::ranges::any_of(call.operands, [](const Operand& operand) {
           const bool is_matrix = operand.name == "self" || operand.name == "mat2" ||
                                  operand.name == "mat_a" || operand.name == "mat_b";
           return is_matrix && !operand.dtypes.within(kFloat8) &&
                  operand.dtypes != DtypeSet(Dtype::kFloat4_e2m1fn_x2);
         });
}

bool RunIndex::is_refused_for_dtypes(const OpCall& throwing_call) const {
  const std::string& error = throwing_call.error;
  const auto runtime =
      contracts_.find(throwing_call.device_type(), run_.process_of(throwing_call).libtorch);
  const auto measured = runtime ? contracts_.ask(*runtime, throwing_call) : contracts::Answer();
  const bool is_uniform = throwing_call.floating_dtypes().size() < 2;
  if (is_unsafe_to_autocast(error)) return true;
  if (scaled_fault(throwing_call)) return true;
  // "scale_b must have shape 4 x 1 Float elements, got [1, 1]"
  if (error.find(" must have shape ") != error.npos && error.find(" elements, got [") != error.npos)
    return false;
  // It asks for dtypes and shapes of scales in one sentence.
  if (error.starts_with("Invalid scaling configuration"))
    return has_wrong_dtype_to_scale(throwing_call);
  switch (throw_reason(error, throwing_call.error_type)) {
    case ThrowReason::kNotImplemented:
      return true;
    case ThrowReason::kDtypes:
      break;
    case ThrowReason::kUnknown:
    case ThrowReason::kOther:
      // oneDNN has one sentence for all that it does not take.
      if (error.starts_with("could not create a primitive") && !is_uniform) return true;
      // "clamp is not supported for complex types" has no word that would tell it from others.
      return measured.acceptance == contracts::Acceptance::kRejects &&
             error.starts_with(measured.message);
  }
  // The grouping of optimizers asks for one device and one dtype in a sentence.
  if (error.find("same device") != error.npos && is_uniform) return false;
  // A number among the arguments that the dtype cannot hold, which no table knows.
  if (error.find("without overflow") != error.npos) return true;
  // `pinv(Float{[5]}): expected a tensor with 2 or more dimensions of float, …` is about a shape.
  if (measured.acceptance != contracts::Acceptance::kAccepts) return true;
  // Tables that know no integers pass them over.
  return !contracts_.runtimes()[*runtime].knows_integers() &&
         std::ranges::any_of(throwing_call.operands, [](const Operand& operand) {
           const bool is_tensor = operand.kind != TensorKind::kUndefined &&
                                  !operand.is_wrapped_number && operand.dtypes.size() == 1;
           return is_tensor && operand.dtypes.within(kIntegral | Dtype::kBool);
         });
}

bool RunIndex::refuses_in_backward(const OpCall& call) const {
  auto runtime = contracts_.find("cpu", run_.process_of(call).libtorch);
  if (!runtime) runtime = contracts_.newest("cpu");
  return runtime && contracts_.ask(*runtime, call, contracts::Mode::kBackward).acceptance ==
                        contracts::Acceptance::kRejects;
}

std::span<const OpCallId> RunIndex::consumers(const OpCall& call) const {
  const size_t begin = consumer_begin_[call.id - 1];
  return std::span(consumers_).subspan(begin, consumer_begin_[call.id] - begin);
}

const OpCall* RunIndex::throwing_call(const OpCall& call) const {
  return run_.call(throwing_call_[call.id - 1]);
}

const OpCall& RunIndex::refused_by_user(const OpCall& throwing_call) const {
  const OpCall* outermost = &throwing_call;
  follow_links(&throwing_call, [&](const OpCall& call) -> const OpCall* {
    outermost = &call;
    const OpCall* outer = run_.call(call.parent);
    const bool is_same = outer != nullptr && outer->outcome != Outcome::kReturned &&
                         (outer->error.empty() || outer->error == throwing_call.error);
    return is_same ? outer : nullptr;
  });
  return *outermost;
}

bool RunIndex::is_raised_by_an_op(uint32_t process, const std::string& message) const {
  const std::string raised = as_raised(message);
  return std::ranges::any_of(op_errors_, [&](const auto& error) {
    return error.first == process && raised.find(error.second) != std::string::npos;
  });
}

bool RunIndex::is_inside_cast(const OpCall& call) const {
  const OpCall* outer = run_.call(call.parent);
  return outer != nullptr && outer->cast;
}

const Operand* RunIndex::stepped_parameter(const OpCall& call, DtypeSet dtypes) const {
  if (!has(call, ops::kSteps) || call.outcome == Outcome::kThrew) return nullptr;
  if (call.site.phase != Phase::kOptimizer) return nullptr;
  const auto is_stepped = [&](const Operand& o) {
    const bool is_self = o.name == "self" || o.name.starts_with("self[");
    return is_self && o.is_leaf && o.requires_grad && o.dtypes.within(dtypes);
  };
  const auto stepped = std::ranges::find_if(call.operands, is_stepped);
  return stepped == call.operands.end() ? nullptr : &*stepped;
}

const OpCall* RunIndex::autocast_elsewhere(uint32_t process, const std::string& device) const {
  const auto found = autocast_.find({process, device});
  return found == autocast_.end() ? nullptr : run_.call(found->second);
}

const OpCall* RunIndex::autocast_then(const OpCall& call) const {
  const std::string device = call.device_type();
  if (autocast_elsewhere(call.process, device) == nullptr || call.site.module.empty())
    return nullptr;
  const OpCall *same_line = nullptr, *same_module = nullptr;
  for (OpCallId id = 1; id < call.id; ++id) {
    const OpCall& then = run_.calls[id - 1];
    const bool is_there = then.process == call.process && then.site.module == call.site.module &&
                          then.autocast.entered.known() &&
                          then.autocast.region_for(device) != nullptr;
    if (is_there) (then.site.line == call.site.line ? same_line : same_module) = &then;
  }
  return same_line != nullptr ? same_line : same_module;
}

const OpCall* RunIndex::autocast_before(const OpCall& call) const {
  const std::string device = call.device_type();
  const SourceLine& line = call.site.line;
  if (!line.known() || autocast_elsewhere(call.process, device) == nullptr) return nullptr;
  for (OpCallId id = call.id; id-- > 1;) {
    const OpCall& before = run_.calls[id - 1];
    const SourceLine& entered = before.autocast.entered;
    const bool is_it = before.process == call.process &&
                       before.autocast.region_for(device) != nullptr && entered.line < line.line &&
                       entered.file == line.file && entered.function == line.function;
    if (is_it) return &before;
  }
  return nullptr;
}

RunIndex::CallPlace RunIndex::place_of(const OpCall& call) {
  const SourceLine &line = call.site.line, &inner = call.site.inner;
  return {call.process, call.op, line.file, line.line, inner.file, inner.line, call.site.module};
}

OpCallId RunIndex::first_read_in_float(uint32_t process, const std::string& parameter) const {
  if (!read_in_float_) {
    read_in_float_.emplace();
    for (const OpCall& call : run_.calls) {
      for (const Operand& operand : call.operands) {
        if (is_parameter(operand) && operand.dtypes == DtypeSet(Dtype::kFloat))
          read_in_float_->try_emplace({call.process, operand.parameter}, call.id);
      }
    }
  }
  const auto found = read_in_float_->find({process, parameter});
  return found == read_in_float_->end() ? kNoOpCall : found->second;
}

const OpCall* RunIndex::ran_before(const OpCall& call) const {
  if (!ran_) {
    ran_.emplace();
    for (const OpCall& other : run_.calls) {
      if (other.outcome == Outcome::kReturned && other.floating_dtypes().size() == 1)
        (*ran_)[place_of(other)].push_back(other.id);
    }
  }
  const auto there = ran_->find(place_of(call));
  if (there == ran_->end()) return nullptr;
  const auto after = std::lower_bound(there->second.begin(), there->second.end(), call.id);
  return after == there->second.begin() ? nullptr : run_.call(*std::prev(after));
}

RunIndex::CastPlace RunIndex::cast_line_of(const OpCall& cast) {
  return {cast.process, cast.site.line.file, cast.site.line.line, cast.result_dtype()};
}

uint64_t RunIndex::casts_beside(const OpCall& cast) const {
  if (!casts_) {
    casts_.emplace();
    for (const OpCall& call : run_.calls) {
      if (has(call, ops::kCast)) (*casts_)[cast_line_of(call)] += call.count;
    }
  }
  const auto there = casts_->find(cast_line_of(cast));
  return there == casts_->end() ? 0 : there->second;
}

uint64_t RunIndex::made_beside(const OpCall& maker, Dtype dtype) const {
  const auto key = [](const OpCall& call, std::optional<Dtype> its) {
    return MakingFunction{call.process, call.site.line.file, call.site.line.function,
                          call.site.phase, its};
  };
  if (!made_) {
    made_.emplace();
    for (const OpCall& call : run_.calls) {
      if (has(call, ops::kUninitialized)) (*made_)[key(call, call.result_dtype())] += call.count;
    }
  }
  const auto there = made_->find(key(maker, dtype));
  return there == made_->end() ? 0 : there->second;
}

const RunIndex::ParameterDtypes& RunIndex::parameters() const {
  if (parameters_) return *parameters_;
  ParameterDtypes& all = parameters_.emplace();
  // A loss that is a module has a buffer, which weighs classes: no part of a model.
  std::set<std::pair<uint32_t, std::string>> of_losses;
  for (const OpCall& call : run_.calls) {
    if (!has(call, ops::kLoss)) continue;
    for (const Operand& operand : call.operands)
      if (is_parameter(operand) && !operand.requires_grad)
        of_losses.emplace(call.process, operand.parameter);
  }
  for (const OpCall& call : run_.calls) {
    for (const Operand& operand : call.operands) {
      // Of a model that was cast and not called yet.
      const bool is_cast = call.site.phase == Phase::kLoad && operand.is_leaf &&
                           operand.requires_grad && has(call, ops::kCast) && call.result_dtype();
      if (is_cast) all.read_in.emplace(call.process, *call.result_dtype());
      if (!is_parameter(operand) || !operand.is_floating()) continue;
      if (of_losses.contains({call.process, operand.parameter})) continue;
      const std::optional<Dtype> dtype = operand.dtypes.single();
      if (!dtype) continue;
      all.read_in.emplace(call.process, *dtype);
      const Owner owner = {call.process, root_of(operand.parameter), operand.requires_grad};
      if (all.of.try_emplace({call.process, operand.parameter}, std::pair(owner, *dtype)).second)
        ++all.by_owner[owner][*dtype];
    }
  }
  return all;
}

DtypeSet RunIndex::dtypes_in(uint32_t process, std::string_view module) const {
  DtypeSet trained, frozen;
  const std::string below = std::string(module) + '.';
  const auto& all = parameters().of;
  for (auto at = all.lower_bound({process, below}); at != all.end(); ++at) {
    const auto& [of, name] = at->first;
    if (of != process || !name.starts_with(below)) break;
    const auto& [owner, dtype] = at->second;
    (std::get<2>(owner) ? trained : frozen) |= DtypeSet(dtype);
  }
  return trained.size() > 0 ? trained : frozen;
}

bool RunIndex::has_parameters_in(uint32_t process, Dtype dtype) const {
  return parameters().read_in.contains({process, dtype});
}

const OpCall* RunIndex::maker_behind(const Operand& operand, uint64_t facts) const {
  const OpCall* maker = nullptr;
  follow_links(run_.call(operand.origin), [&](const OpCall& call) -> const OpCall* {
    maker = &call;
    const bool passes_on = has(call, facts) && !call.operands.empty();
    return passes_on ? run_.call(call.operands.front().origin) : nullptr;
  });
  return maker;
}

std::vector<const OpCall*> RunIndex::with_makers(const OpCall& call,
                                                 const LeadsOn& leads_on) const {
  std::vector<const OpCall*> reached = {&call};
  std::set<OpCallId> seen = {call.id};
  for (size_t next = 0; next < reached.size() && next < kMaxFollowed; ++next) {
    const OpCall& at = *reached[next];
    for (const Operand& operand : at.operands) {
      const OpCall* made = run_.call(operand.origin);
      if (made != nullptr && (!leads_on || leads_on(at, operand)) && seen.insert(made->id).second)
        reached.push_back(made);
    }
  }
  return reached;
}

std::map<Dtype, size_t> RunIndex::parameter_dtypes(uint32_t process,
                                                   const std::string& parameter) const {
  const ParameterDtypes& all = parameters();
  const auto own = all.of.find({process, parameter});
  if (own == all.of.end()) return {};
  const bool is_lone_layer = std::count(parameter.begin(), parameter.end(), '.') == 1;
  std::map<Dtype, size_t> counts;
  for (const auto& [owner, dtypes] : all.by_owner) {
    const bool counts_here =
        is_lone_layer ? std::get<0>(owner) == process : owner == own->second.first;
    for (const auto& [dtype, count] : dtypes) counts[dtype] += counts_here ? count : 0;
  }
  --counts[own->second.second];
  return counts;
}

}  // namespace dtypecheck::rules
