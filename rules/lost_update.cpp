// Finds: BFloat16 or Half parameters stepped in place by arithmetic, or written back from a Float
// copy that is made anew in each step; with neither Float masters nor stochastic rounding nor
// compensation. A step that goes to such a copy which nothing reads.
// Misses: Float copies in the only step of a run, for masters are made in the first step, too.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/follow_links.h"
#include "rules/cures/cures.h"
#include "rules/engine/half_weights.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

struct Stepped {
  const OpCall* first = nullptr;
  const Operand* parameter = nullptr;
};

// The step itself says more than the weight decay that often comes before it.
bool is_better(const RunIndex& index, const OpCall& call, const Stepped& than) {
  if (than.first == nullptr) return true;
  return index.has(*than.first, ops::kScales) && !index.has(call, ops::kScales);
}

bool is_own(const Operand& operand) {
  return operand.name == "self" || operand.name.starts_with("self[");
}

// Kahan summation reads the parameter back after the step, to keep what the rounding took.
bool compensates(const RunIndex& index, const OpCall& call) {
  if (!index.has(call, ops::kSubtracts) || call.site.phase != Phase::kOptimizer) return false;
  for (const Operand& operand : call.operands) {
    if (!is_own(operand) && operand.is_leaf && operand.requires_grad &&
        operand.dtypes.within(kLowPrecision)) {
      return true;
    }
  }
  return false;
}

bool is_low_parameter(const Operand& operand) {
  const bool is_trained = operand.is_leaf && operand.requires_grad;
  return (is_trained || is_parameter(operand)) && operand.dtypes.within(kLowPrecision);
}

// The cast of a parameter to Float that a tensor came of, as the first operand of all in between:
// p.float(), p.float() - step, the same rounded. Bits that were put together at random have no such
// way back.
const OpCall* cast_of_parameter(const RunIndex& index, const Operand& written) {
  const OpCall* found = nullptr;
  follow_links(index.run().call(written.origin), [&](const OpCall& call) -> const OpCall* {
    const bool is_optimizers = call.site.phase == Phase::kOptimizer && !call.operands.empty();
    if (!is_optimizers || !call.operands.front().is_floating()) return nullptr;
    const bool widens = index.has(call, ops::kCast) && call.result_dtype() == Dtype::kFloat;
    if (widens && is_low_parameter(call.operands.front())) found = &call;
    return found != nullptr ? nullptr : index.run().call(call.operands.front().origin);
  });
  return found;
}

// Stochastic rounding adds random bits to those that are cut off, and cuts them off with a mask.
bool masks_bits(const OpCall& call) {
  const bool is_and = call.op.starts_with("aten::bitwise_and") ||
                      call.op.starts_with("aten::__and") || call.op.starts_with("aten::__iand");
  return is_and && call.site.phase == Phase::kOptimizer;
}

// copy_ rounds to nearest. Where the Float copy is as old as the training it is a master.
const Operand* written_back(const RunIndex& index, const OpCall& call) {
  const bool copies = index.has(call, ops::kCast) && index.has(call, ops::kOverwrites);
  if (!copies || call.site.phase != Phase::kOptimizer || call.operands.size() < 2) return nullptr;
  const Operand& parameter = call.operands.front();
  if (!is_own(parameter) || !is_low_parameter(parameter)) return nullptr;
  const OpCall* cast = cast_of_parameter(index, call.operands.back());
  const bool is_of_each_step =
      cast != nullptr && call.last_step > call.first_step && cast->last_step == call.last_step;
  return is_of_each_step ? &parameter : nullptr;
}

bool is_read_after(const RunIndex& index, const OpCall& made, const OpCall& call) {
  const auto readers = index.consumers(made);
  return std::any_of(readers.begin(), readers.end(), [&](OpCallId id) { return id > call.id; });
}

// Of all shapes that the line is called with.
uint64_t times_at(const RunIndex& index, const OpCall& call) {
  uint64_t times = 0;
  for (const OpCall& other : index.judged_calls())
    if (other.op == call.op && other.site.line == call.site.line) times += other.count;
  return times;
}

// By whatever way: numbers that are rounded at random go through integers.
bool writes_low_parameter(const OpCall& call) {
  return call.site.phase == Phase::kOptimizer &&
         std::any_of(call.operands.begin(), call.operands.end(), [](const Operand& operand) {
           return operand.is_written && is_low_parameter(operand);
         });
}

// The step is written to a Float copy that is made for it, and nothing reads that.
void check_left_behind(const RunIndex& index, const OpCall& call, Findings& out) {
  if (call.site.phase != Phase::kOptimizer || call.operands.empty()) return;
  const Operand& written = call.operands.front();
  const bool is_step =
      written.is_written && is_own(written) && written.dtypes == DtypeSet(Dtype::kFloat);
  const OpCall* cast = is_step ? cast_of_parameter(index, written) : nullptr;
  if (cast == nullptr || !is_users_own(call.site) || is_read_after(index, *cast, call) ||
      is_read_after(index, call, call) || times_at(index, *cast) < times_at(index, call))
    return;
  const Dtype dtype = *cast->operands.front().dtypes.single();
  const std::string message = fmt::format(
      "the step of {} parameters goes to a copy in Float that nothing reads, and they do not move",
      dtype_name(dtype));
  out.add(call, message, [&] {
    return Details{
        .odd = written.name,
        .why = fmt::format("the copy is made{} for each step, and no op copies it back",
                           at_place(cast->site)),
        .cures = {CureProposer(index, out.options())
                      .rewrite(call, dtype, "copied back", "copy it back to the parameter")}};
  });
}

std::string message(const RunIndex& index, Dtype dtype, const Stepped& stepped) {
  const std::string& name = stepped.parameter->parameter;
  const std::string among = name.empty() ? "" : fmt::format(", {} among them", name);
  const bool is_copied = index.has(*stepped.first, ops::kOverwrites);
  const char* how =
      is_copied ? "written back from a Float copy, rounded to nearest" : "stepped in place";
  return fmt::format("{} parameters are {}{}", dtype_name(dtype), how, among);
}

// Of Half weights fp16-trainable says who asked.
void report(const RunIndex& index, Dtype dtype, const Stepped& stepped, Findings& out) {
  const bool is_bf16 = dtype == Dtype::kBFloat16;
  HalfWeights weights = half_weights(index, out.options(), *stepped.first, *stepped.parameter);
  if (!is_bf16) weights.asked.reset();
  out.add(*stepped.first, weights.message(message(index, dtype, stepped)), [&] {
    Details details;
    details.odd = stepped.parameter->name;
    details.why = weights.why(fmt::format(
        "{} has {} bits: a step smaller than about 1/{} of the parameter's value (2^-{}) "
        "rounds away{}",
        dtype_name(dtype), is_bf16 ? 8 : 11, is_bf16 ? 512 : 4096, is_bf16 ? 9 : 12,
        weights.moves ? "" : ", and what is stepped so little never moves"));
    if (weights.moves && !weights.is_damaged()) details.severity = Severity::kNote;
    details.is_asked_for = weights.is_asked_for();
    details.is_loaded_low = weights.is_loaded;
    details.cures =
        CureProposer(index, out.options()).masters_of(*stepped.first, stepped.parameter);
    if (!is_bf16) details.follows = {{&fp16_trainable}, {&outside_autocast}};
    return details;
  });
}

void check_run(const RunIndex& index, Findings& out) {
  std::map<std::pair<uint32_t, Dtype>, Stepped> stepped;
  std::set<uint32_t> compensated, randomised, written;
  for (const OpCall& call : index.judged_calls()) {
    if (compensates(index, call)) compensated.insert(call.process);
    if (masks_bits(call)) randomised.insert(call.process);
    if (writes_low_parameter(call)) written.insert(call.process);
    const Operand* parameter = index.stepped_parameter(call, kLowPrecision);
    if (parameter == nullptr) parameter = written_back(index, call);
    if (parameter == nullptr) continue;
    Stepped& first = stepped[{call.process, *parameter->dtypes.single()}];
    if (is_better(index, call, first)) first = {&call, parameter};
  }
  for (const OpCall& call : index.judged_calls())
    if (!written.contains(call.process)) check_left_behind(index, call, out);
  for (const auto& [key, first] : stepped) {
    const bool is_copied = index.has(*first.first, ops::kOverwrites);
    if (is_copied && randomised.contains(key.first)) continue;
    if (!compensated.contains(key.first)) report(index, key.second, first, out);
  }
}

}  // namespace

const Rule lost_update = {
    .doc = {.id = "lost-update",
            .severity = Severity::kWarning,
            .summary =
                "low-precision parameters are stepped in place with neither Float masters nor "
                "stochastic rounding",
            .why =
                "A step smaller than half the gap to the next number rounds back to the old value: "
                "below 2^-9 of it in BFloat16, 2^-12 in Half. The loss falls slowly or not at all.",
            .fix =
                "Train Float parameters under autocast, or use an optimizer with Float masters or "
                "stochastic rounding.",
            .example = R"(
op aten::add_ self=BFloat16[4,320]%unet.lora_A.weight!out^^ other=BFloat16[4,320] alpha:=-0.0001 -> BFloat16[4,320] at train.py:205 phase optimizer step 1-100 count 100
# EXPECT train.py:205: warning: BFloat16 parameters are stepped in place, unet.lora_A.weight among them [lost-update]
# Stochastic rounding computes in Float and copies the outcome.
op aten::copy_ self=BFloat16[4,320]%unet.lora_B.weight!out^^ src=BFloat16[4,320] -> BFloat16[4,320] at optim.py:31 phase optimizer step 1-100 count 100
)"},
    .check_run = check_run,
    .loses_steps = true,
    .says_shares = true,
};

}  // namespace dtypecheck::rules
