#include "core/cast_bill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "core/dtype_names.h"
#include "core/enum_names.h"
#include "ops/ops.h"

namespace dtypecheck {
namespace {

// Steps in which a call may have been counted.
double steps_of(const Run& run, const OpCall& call) {
  const uint64_t span = uint64_t{call.last_step} - call.first_step + 1;
  const uint64_t traced = run.process_of(call).steps_traced;
  return static_cast<double>(traced > 0 ? std::min(span, traced) : span);
}

// Of many: what a program does before its loop, or behind it.
bool is_of_one_step(const Run& run, const OpCall& call) {
  constexpr uint64_t kMany = 8;
  return call.first_step == call.last_step && run.process_of(call).steps_traced >= kMany;
}

double elements_of(const Operand& tensor) {
  if (!tensor.has_shape) return 0;
  const double elements = element_count(tensor);
  return elements > 0 && std::isfinite(elements) ? elements : 0;
}

// Of all calls: counted, or else by the shape of the first.
double elements_of(const OpCall& call, const DtypeChange& change) {
  return call.cast ? static_cast<double>(call.cast->elements)
                   : elements_of(*change.source) * static_cast<double>(call.count);
}

void add(std::optional<double>& to, const std::optional<double>& more) {
  if (more) to = to.value_or(0) + *more;
}

CastCost cost_of(const OpCall& call, const DtypeChange& change, double steps) {
  const double elements = elements_of(call, change) / steps;
  CastCost cost;
  cost.casts = static_cast<double>(call.count) / steps;
  cost.read_bytes = elements * dtype_size_bytes(change.from);
  cost.written_bytes = elements * dtype_size_bytes(change.to);
  if (call.cast && call.cast->timed > 0) {
    const auto timed = static_cast<double>(call.cast->timed);
    cost.cpu_ns = static_cast<double>(call.cast->time_ns) / timed * cost.casts;
  }
  for (const GpuWork& work : call.gpu)  // on a pretended GPU nothing takes time
    if (work.time_ns > 0) add(cost.gpu_ns, static_cast<double>(work.time_ns) / steps);
  return cost;
}

bool mixes(const OpCall& call) {
  DtypeSet dtypes;
  for (const Operand& operand : call.operands) dtypes |= operand.dtypes;
  return !dtypes.single();
}

bool asks_for_dtype(const OpCall& call) {
  return std::any_of(call.scalars.begin(), call.scalars.end(),
                     [](const ScalarArgument& scalar) { return scalar.dtype.has_value(); });
}

// What the program itself, and no op of LibTorch, called.
bool is_of_program(const OpCall* parent) {
  return parent == nullptr || !parent->op.starts_with("aten::") || asks_for_dtype(*parent);
}

CastReason reason_of(const OpCall& call, const OpCall* parent) {
  if (parent != nullptr && parent->autocast.is_wrapper) return CastReason::kAutocast;
  if (call.site.phase == Phase::kBackward) return CastReason::kGradient;
  if (is_of_program(parent)) return CastReason::kAsked;
  return mixes(*parent) ? CastReason::kPromotion : CastReason::kOp;
}

using CastPlace = std::tuple<uint32_t, std::string_view, int, std::string_view, int, Dtype, Dtype>;

CastPlace place_of(const OpCall& call, Dtype from, Dtype to) {
  const Site& site = call.site;
  return {call.process, site.line.file, site.line.line, site.inner.file, site.inner.line, from, to};
}

bool is_weight(const Operand& source) { return !source.parameter.empty() || source.is_leaf; }

void add_weight(const Cast& cast, CastLine& line) {
  const OpCall& call = *cast.call;
  const Operand& source = *cast.change.source;
  if (!is_weight(source)) return;
  line.weights_per_step += cast.cost.casts;
  if (!source.parameter.empty()) line.weights.push_back(source.parameter);
  line.repeats = line.repeats || (call.count > 1 && call.last_step > call.first_step);
  const bool is_kept = cast.reason != CastReason::kAutocast || source.requires_grad;
  if (is_kept || call.count <= 1) return;
  line.uncached = true;
  line.uncached_per_step += cast.cost.casts;
  if (!source.parameter.empty()) line.uncached_weights.push_back(source.parameter);
}

std::vector<CastLine> lines_of(const std::vector<Cast>& casts) {
  std::map<std::tuple<CastPlace, CastReason, bool, bool>, CastLine> by_place;
  for (const Cast& cast : casts) {
    const OpCall& call = *cast.call;
    const bool is_backward = call.site.phase == Phase::kBackward;
    CastLine& line = by_place[{place_of(call, cast.change.from, cast.change.to), cast.reason,
                               is_backward, cast.is_once}];
    if (line.count == 0) line.site = call.site;
    line.from = cast.change.from;
    line.to = cast.change.to;
    line.reason = cast.reason;
    line.is_backward = is_backward;
    line.is_once = cast.is_once;
    line.count += call.count;
    line.cost += cast.cost;
    add_weight(cast, line);
  }
  std::vector<CastLine> lines;
  for (auto& [place, line] : by_place) lines.push_back(std::move(line));
  std::stable_sort(lines.begin(), lines.end(), [](const CastLine& a, const CastLine& b) {
    return std::pair(a.is_once, -a.cost.moved_bytes()) <
           std::pair(b.is_once, -b.cost.moved_bytes());
  });
  return lines;
}

std::vector<ModuleCasts> modules_of(const std::vector<Cast>& casts) {
  std::map<std::string, CastCost> by_module;
  for (const Cast& cast : casts)
    if (!cast.is_once) by_module[cast.call->site.module] += cast.cost;
  std::vector<ModuleCasts> modules;
  for (auto& [module, cost] : by_module) modules.push_back({module, cost});
  std::stable_sort(modules.begin(), modules.end(), [](const auto& a, const auto& b) {
    return a.cost.moved_bytes() > b.cost.moved_bytes();
  });
  return modules;
}

// Nothing where steps were left out, or a process was killed and wrote no end.
std::optional<double> lifetime_ns(const Run& run) {
  double time_ns = 0;
  for (const Process& process : run.processes) {
    if (process.steps_traced < process.steps || process.started_unix_ns == 0 ||
        process.ended_unix_ns <= process.started_unix_ns)
      return std::nullopt;
    time_ns += static_cast<double>(process.ended_unix_ns - process.started_unix_ns);
  }
  return time_ns > 0 ? std::optional(time_ns) : std::nullopt;
}

void set_shares(const Run& run, const std::vector<Cast>& casts, CastBill& bill) {
  CastCost all;
  for (const Cast& cast : casts) all += cost_of(*cast.call, cast.change, 1);
  if (const auto lifetime = lifetime_ns(run); lifetime && all.cpu_ns)
    bill.cpu_share = std::min(1.0, *all.cpu_ns / *lifetime);
  double gpu_ns = 0;
  for (const OpCall& call : run.calls)
    for (const GpuWork& work : call.gpu) gpu_ns += static_cast<double>(work.time_ns);
  if (gpu_ns > 0) bill.gpu_share = all.gpu_ns.value_or(0) / gpu_ns;
}

}  // namespace

CastCost& CastCost::operator+=(const CastCost& other) {
  casts += other.casts;
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  add(cpu_ns, other.cpu_ns);
  add(gpu_ns, other.gpu_ns);
  return *this;
}

const char* cast_reason_name(CastReason reason) {
  return name_of<kLastCastReason>(reason, {"asked", "autocast", "promotion", "op", "gradient"});
}

// copy_ writes its first operand; what it reads is the second.
std::optional<DtypeChange> dtype_change(const OpCall& call) {
  const uint64_t facts = ops::facts_of(call.op);
  if (!(facts & ops::kCast) || facts & ops::kGrouped || call.operands.empty()) return std::nullopt;
  const bool copies = facts & ops::kOverwrites;
  if (copies && call.operands.size() < 2) return std::nullopt;
  const Operand& source = call.operands[copies ? 1 : 0];
  const auto from = source.dtypes.single();
  const auto to = copies ? call.operands[0].dtypes.single() : call.result_dtype();
  if (!from || !to || *from == *to || source.is_wrapped_number) return std::nullopt;
  return DtypeChange{*from, *to, &source};
}

std::vector<Cast> casts_of(const Run& run) {
  std::vector<Cast> casts;
  std::map<CastPlace, CastReason> in_forward;
  for (const OpCall& call : run.calls) {
    const auto change = dtype_change(call);
    if (!change || call.outcome == Outcome::kThrew || !was_computed(call)) continue;
    const OpCall* parent = run.call(call.parent);
    if (parent != nullptr && dtype_change(*parent)) continue;  // the same cast, seen from inside
    const CastReason reason = reason_of(call, parent);
    if (reason != CastReason::kGradient)
      in_forward.emplace(place_of(call, change->from, change->to), reason);
    const bool is_once = call.site.phase == Phase::kLoad || is_of_one_step(run, call);
    casts.push_back({&call, *change, reason, is_once,
                     cost_of(call, *change, is_once ? 1 : steps_of(run, call))});
  }
  for (Cast& cast : casts) {
    if (cast.reason != CastReason::kGradient) continue;
    const auto found = in_forward.find(place_of(*cast.call, cast.change.to, cast.change.from));
    if (found != in_forward.end()) cast.reason = found->second;
  }
  return casts;
}

CastBill cast_bill(const Run& run) {
  const std::vector<Cast> casts = casts_of(run);
  CastBill bill;
  bill.has_steps = std::any_of(run.processes.begin(), run.processes.end(),
                               [](const Process& process) { return process.steps > 0; });
  bill.lines = lines_of(casts);
  bill.modules = modules_of(casts);
  for (const Cast& cast : casts) {
    if (cast.is_once) continue;
    bill.per_step += cast.cost;
    bill.by_reason[static_cast<size_t>(cast.reason)] += cast.cost;
  }
  set_shares(run, casts, bill);
  return bill;
}

std::string common_module(const std::vector<std::string>& parameters) {
  std::string_view common = parameters.front();
  for (const std::string& name : parameters) {
    const auto end = std::mismatch(common.begin(), common.end(), name.begin(), name.end()).first;
    common = common.substr(0, static_cast<size_t>(end - common.begin()));
  }
  const size_t dot = common.rfind('.');
  return std::string(common.substr(0, dot == common.npos ? 0 : dot));
}

std::string bytes_text(double bytes) {
  const char* unit = "bytes";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (bytes < 1000) break;
    bytes /= 1000;
    unit = larger;
  }
  const bool whole = std::string(unit) == "bytes" || bytes >= 100;
  return whole ? fmt::format("{:.0f} {}", bytes, unit) : fmt::format("{:.1f} {}", bytes, unit);
}

std::string nanoseconds_text(double time_ns) {
  if (time_ns < 1e6) return fmt::format("{:.0f} us", time_ns / 1e3);
  if (time_ns >= 999.5e6) return fmt::format("{:.1f} s", time_ns / 1e9);
  return fmt::format("{:.{}f} ms", time_ns / 1e6, time_ns < 9.95e6 ? 1 : 0);
}

}  // namespace dtypecheck
