#include "cures/merit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/cast_bill.h"
#include "cures/prose.h"
#include "ops/ops.h"
#include "rules/engine/formatting.h"

namespace dtypecheck::cures {

bool Merit::operator<(const Merit& other) const {
  const auto order = [](const Merit& one) {
    return std::tuple(one.stops_steps, one.tier(), one.overrides, one.loses_steps, one.left,
                      one.leaves_cause, one.promotes, one.dead + one.doubled, one.literals,
                      one.place, one.integers, one.in_libraries, one.left_costs, one.is_setting,
                      one.edits);
  };
  return order(*this) < order(other);
}

bool Merit::has_demerit() const {
  return loses_steps || overrides || left > 0 || leaves_cause || promotes || is_workaround() ||
         dead > 0 || doubled > 0 || literals > 0 || place > 0 || integers > 0 || in_libraries > 0;
}

static bool multiplies(const OpCall& call) {
  return (ops::facts_of(call.op) & ops::kMultiplies) != 0;
}

// Names of weights that a product read in one of the dtypes.
static std::set<std::string> weights_read_in(const Run& run, DtypeSet dtypes) {
  std::set<std::string> names;
  for (const OpCall& call : run.calls) {
    if (!multiplies(call) || call.autocast.is_wrapper) continue;
    for (const Operand& operand : call.operands)
      if (is_parameter(operand) && operand.dtypes.size() == 1 && operand.dtypes.within(dtypes) &&
          !operand.parameter.empty())
        names.insert(operand.parameter);
  }
  return names;
}

std::set<std::string> adapters_of(const Run& run) {
  std::map<std::string, double> trained, frozen;
  for (const OpCall& call : run.calls) {
    if (!multiplies(call)) continue;
    for (const Operand& operand : call.operands)
      if (is_parameter(operand) && operand.dtypes.within(kLowPrecision))
        (operand.requires_grad ? trained : frozen)[operand.parameter] = element_count(operand);
  }
  std::set<std::string> names;
  double of_trained = 0, of_frozen = 0;
  for (const auto& [name, size] : trained) names.insert(name), of_trained += size;
  for (const auto& [name, size] : frozen) of_frozen += size;
  return of_trained < of_frozen ? names : std::set<std::string>();
}

std::set<std::string> weights_beside(const Run& run, const Finding& finding) {
  const OpCall* call = run.call(finding.call);
  const Operand* odd = call == nullptr ? nullptr : call->operand(finding.odd_operand);
  std::set<std::string> names;
  if (odd == nullptr || odd->parameter.empty()) return names;
  for (const OpCall& other : run.calls)
    for (const Operand& operand : other.operands)
      if (rules::root_module(operand.parameter) == rules::root_module(odd->parameter))
        names.insert(operand.parameter);
  return names;
}

// Where matrices are multiplied, that is what 16 bits are for.
static LowShare low_share_but(const Run& run, const std::set<std::string>& wide,
                              const std::set<std::string>& adapters, const SourceLine& line) {
  const bool has_products = std::any_of(run.calls.begin(), run.calls.end(), multiplies);
  const auto is_of_adapter = [&](const Operand& operand) {
    return is_parameter(operand) && adapters.contains(operand.parameter);
  };
  double calls = 0, low_calls = 0, bytes = 0, low_bytes = 0;
  double line_calls = 0, line_bytes = 0;
  std::set<OpCallId> repaired;  // and what came of these
  for (const OpCall& call : run.calls) {
    const bool is_repaired =
        was_let_through(call) ||
        std::any_of(call.operands.begin(), call.operands.end(),
                    [&](const Operand& operand) { return repaired.contains(operand.origin); });
    if (is_repaired) repaired.insert(call.id);
    const bool is_counted = has_products ? multiplies(call) : !dtype_change(call);
    const bool is_of_step =
        call.site.phase == Phase::kOptimizer || call.site.phase == Phase::kBackward;
    if (!is_counted || call.autocast.is_wrapper || is_of_step) continue;
    if (std::any_of(call.operands.begin(), call.operands.end(), is_of_adapter)) continue;
    const auto times = static_cast<double>(call.count);
    // Where weights and data disagree, the weights say what the program computes in. What data are
    // behind a repair says nothing of that.
    std::optional<bool> weights, data;
    double size = 0;
    for (const auto* tensors : {&call.operands, &call.results}) {
      for (const Operand& tensor : *tensors) {
        const auto dtype = tensor.dtypes.single();
        if (!dtype || !tensor.is_floating()) continue;
        size += times * element_count(tensor) * dtype_size_bytes(*dtype);
        std::optional<bool>& is_low = is_parameter(tensor) ? weights : data;
        is_low = is_low.value_or(false) ||
                 (kLowPrecision.contains(*dtype) && !wide.contains(tensor.parameter));
      }
    }
    const bool is_low = weights.value_or(!is_repaired && data.value_or(false));
    calls += weights || data ? times : 0;
    bytes += size;
    low_calls += is_low ? times : 0;
    low_bytes += is_low ? size : 0;
    const bool is_there = is_low && call.site.line == line;
    line_calls += is_there ? times : 0;
    line_bytes += is_there ? size : 0;
  }
  const auto part = [](double of, double all) { return all > 0 ? of / all : 0; };
  return {part(low_calls, calls), part(low_bytes, bytes),
          !weights_read_in(run, Dtype::kDouble).empty(), adapters,
          (part(line_calls, low_calls) + part(line_bytes, low_bytes)) / 2};
}

// Where a product reads weights in Float, and another in 16 bits, a fault has lowered them on the
// way. A program all of whose weights are read in both computes in one after the other.
LowShare low_share(const Run& run, const std::set<std::string>& adapters, const SourceLine& line) {
  const auto wide = weights_read_in(run, Dtype::kFloat), low = weights_read_in(run, kLowPrecision);
  const bool has_others = !std::includes(wide.begin(), wide.end(), low.begin(), low.end());
  return low_share_but(run, has_others ? wide : std::set<std::string>(), adapters, line);
}

Merit merit_of_source(const Patch& patch, bool is_setting, const std::vector<Change>& changes) {
  const Demerits demerits = patch.demerits();
  Merit merit{.dead = demerits.dead,
              .doubled = demerits.doubled,
              .literals = demerits.avoidable,
              .integers = demerits.integers,
              .is_setting = is_setting,
              .edits = static_cast<int>(patch.edits.size())};
  for (const SourceEdit& edit : patch.edits)
    merit.in_libraries += is_installed({.file = edit.file, .line = edit.line});
  for (const Change& change : changes) {
    merit.place += change.place;
    merit.overrides |= change.overrides;
  }
  return merit;
}

bool is_beside(const Finding& finding, bool was_error) {
  return was_error && finding.severity == Severity::kWarning &&
         (finding.is_asked_for || !loses_steps(finding));
}

void add_run(Merit& merit, const Trial& trial, const LowShare& before, const Judge& judge,
             bool was_error) {
  std::set<std::string> left, left_costs;
  for (const Finding& finding : trial.findings) {
    if (finding.severity < Severity::kWarning || judge.came_with_data(trial.recorded.run, finding))
      continue;
    const bool is_other = is_beside(finding, was_error);
    const bool stands_still = loses_steps(finding) && !is_other;
    (costs_only(finding) || is_other ? left_costs : left).insert(finding.message);
    merit.loses_steps |= stands_still;
    merit.promotes |= was_error && costs_only(finding) && !judge.knew(finding);
    merit.stops_steps |= stands_still && !judge.has_trained_in(trial.recorded.run, finding);
  }
  merit.left = static_cast<int>(left.size());
  merit.left_costs = static_cast<int>(left_costs.size());
  const LowShare now = low_share(trial.recorded.run, before.adapters);
  const auto lost = [](double was, double is) { return was > 0 ? std::max(0., 1 - is / was) : 0; };
  merit.given_up = (lost(before.calls, now.calls) + lost(before.bytes, now.bytes)) / 2;
  merit.given_up = std::max(0., merit.given_up - before.at_line);
  merit.in_double = now.has_double && !before.has_double;
}

std::string cost_words(const Merit& merit) {
  std::vector<std::string> costs;
  const auto add = [&](int count, const char* one) {
    if (count > 0) costs.emplace_back(one);
  };
  if (merit.in_double)
    costs.emplace_back("a workaround: layers compute in Double");
  else if (merit.is_workaround())
    costs.push_back(fmt::format("a workaround: {:.0f} % of what ran in 16 bits no longer does",
                                merit.given_up * 100));
  add(merit.loses_steps, "weights still do not move");
  add(merit.loses_steps ? 0 : merit.left, "it leaves a warning of harm");
  add(merit.overrides, "it overrides a dtype that a line asks for, or that was loaded");
  add(merit.promotes, "it leaves a promotion, which costs time");
  add(merit.dead, "it leaves a name or an option that nothing reads any more");
  add(merit.doubled, "it casts what is cast already");
  add(merit.literals, "it writes a dtype down, whatever the program computes in");
  add(merit.integers, "it may cast integers too");
  add(merit.in_libraries, "it changes an installed package");
  return fmt::format("{}", fmt::join(costs, "; "));
}

}  // namespace dtypecheck::cures
