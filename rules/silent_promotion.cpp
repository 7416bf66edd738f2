// Finds: an op that mixes Half or BFloat16 with Float, or Float with Double, and quietly answers in
// the wider dtype, outside of autocast; a loss whose backward will refuse the mix it takes; as a
// note, what makes the loss of a model in Float a Double.
// Misses: promotions inside a fused kernel, where no op is called. Silent on purpose: promotions
// that are cast back at once (norms that compute in Float), that end in a loss, that only touch
// what is wide already (a Float activation times a Half parameter), and all that torch does by
// itself.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rules/cures/cures.h"
#include "rules/cures/mix_cures.h"
#include "rules/engine/coarse.h"
#include "rules/engine/formatting.h"
#include "rules/engine/mix.h"
#include "rules/engine/rule.h"

namespace dtypecheck::rules {
namespace {

// The tensor that was widened and the one that widened it.
struct Promotion {
  const Operand* low = nullptr;
  const Operand* wide = nullptr;
};

int width_of(Dtype dtype) {
  if (kLowPrecision.contains(dtype)) return 1;
  if (dtype == Dtype::kFloat) return 2;
  return dtype == Dtype::kDouble ? 3 : 0;
}

int width(const Operand& operand) {
  const auto dtype = operand.dtypes.single();
  return !dtype || !operand.is_floating() || !operand.promotes() ? 0 : width_of(*dtype);
}

// What is widened must be a good part of the result: a Half scale on a Float batch changes nothing.
// A result that is larger than all operands together (outer, kron) is made of both alike: there the
// operand that widens it is the measure.
bool is_substantial(const Promotion& found, const OpCall& call) {
  if (call.results.empty() || !found.low->has_shape || !call.results.front().has_shape) return true;
  double operands = 0;
  for (const Operand& operand : call.operands) operands += element_count(operand);
  const double result = element_count(call.results.front());
  const double whole = result > operands ? element_count(*found.wide) : result;
  return element_count(*found.low) * 4 >= whole;
}

// A number, as wide as what it was given.
bool is_double_loss(const OpCall& call) {
  return (ops::facts_of(call.op) & ops::kLoss) != 0 && call.result_dtype() == Dtype::kDouble &&
         !call.results.front().promotes();
}

Promotion promotion_of(const OpCall& call) {
  Promotion found;
  const auto result = call.results.empty()   ? 0
                      : is_double_loss(call) ? width_of(Dtype::kDouble)
                                             : width(call.results.front());
  for (const Operand& operand : call.operands) {
    const int w = width(operand);
    if (w == 0) continue;
    if (w == result && found.wide == nullptr) found.wide = &operand;
    if (w < result && !is_parameter(operand) && found.low == nullptr) found.low = &operand;
  }
  return found;
}

bool writes_operand(const OpCall& call) {
  return std::any_of(call.operands.begin(), call.operands.end(),
                     [](const Operand& operand) { return operand.is_written; });
}

bool is_in_autocast(const OpCall& call) {
  const AutocastState& autocast = call.autocast;
  const std::string device = call.operands.empty() ? "cpu" : call.operands.front().device.type;
  return autocast.is_wrapper || autocast.is_inner || autocast.region_for(device) != nullptr;
}

// Called by the program itself, in a phase where the program and not torch decides about dtypes.
bool is_called_by_program(const OpCall& call) {
  const Phase phase = call.site.phase;
  return call.parent == kNoOpCall && !call.in_compiled_region && phase != Phase::kBackward &&
         phase != Phase::kOptimizer;
}

bool is_candidate(const OpCall& call) {
  return call.outcome == Outcome::kReturned && !writes_operand(call);
}

bool casts_to(const RunIndex& index, const OpCall& call, DtypeSet low) {
  if (call.autocast.is_wrapper) return true;
  const bool is_low = !call.results.empty() && call.results.front().dtypes == low;
  const bool copies = index.has(call, ops::kCast) && index.has(call, ops::kOverwrites);
  return is_low || (copies && !call.operands.empty() && call.operands.front().dtypes == low);
}

bool is_backward(const OpCall& call) { return call.site.phase == Phase::kBackward; }

// A number at the end of it, as a loss is one, or a choice: a place, yes or no.
bool is_summed_up(const RunIndex& index, const OpCall& call) {
  if (call.results.empty()) return index.has(call, ops::kLoss);
  const Operand& result = call.results.front();
  const bool is_number = result.has_shape && result.shape.empty();
  const bool is_choice = !result.is_floating() && !index.has(call, ops::kCast);
  return index.has(call, ops::kLoss) || (index.has(call, ops::kReduces) && is_number) || is_choice;
}

// All that is computed of it, op by op, is summed up or chosen by: no layer reads it.
bool ends_in_loss(const RunIndex& index, const OpCall& call) {
  constexpr size_t kMaxReached = 64;
  std::vector<OpCallId> reached = {call.id};
  std::unordered_set<OpCallId> seen = {call.id};
  bool any = false;
  for (size_t next = 0; next < reached.size(); ++next) {
    for (const OpCallId id : index.consumers(index.run().calls[reached[next] - 1])) {
      const OpCall& consumer = index.run().calls[id - 1];
      if (is_backward(consumer)) continue;
      const bool is_end =
          is_summed_up(index, consumer) || (next == 0 && index.has(consumer, ops::kReduces));
      const bool reads_weight =
          std::any_of(consumer.operands.begin(), consumer.operands.end(), is_parameter);
      if (!is_end && (index.has(consumer, ops::kMultiplies) || reads_weight)) return false;
      any |= is_end;
      if (!is_end && seen.insert(id).second) reached.push_back(id);
    }
    if (reached.size() > kMaxReached) return false;
  }
  return any;
}

// Whether a layer reads what is computed of it, in the dtype that it has; nothing where that was
// not followed to its end.
std::optional<bool> is_read_by_layer(const RunIndex& index, const OpCall& call) {
  constexpr size_t kMaxReached = 1000;
  std::vector<OpCallId> reached = {call.id};
  std::unordered_set<OpCallId> seen = {call.id};
  for (size_t next = 0; next < reached.size(); ++next) {
    for (const OpCallId id : index.consumers(index.run().calls[reached[next] - 1])) {
      const OpCall& consumer = index.run().calls[id - 1];
      if (is_backward(consumer)) continue;
      const bool reads_weight =
          std::any_of(consumer.operands.begin(), consumer.operands.end(), is_parameter);
      if (index.has(consumer, ops::kMultiplies) || reads_weight) return true;
      const bool goes_on = !consumer.results.empty() && !call.results.empty() &&
                           consumer.results.front().dtypes == call.results.front().dtypes;
      if (goes_on && seen.insert(id).second) reached.push_back(id);
    }
    if (reached.size() > kMaxReached) return std::nullopt;
  }
  return false;
}

// A deliberate upcast: T5's residual stream is Float, and its norms bring all that leaves it back
// to Half. True when every way that the result takes ends in a cast to the low dtype.
class CastBack {
 public:
  explicit CastBack(const RunIndex& index) : index_(index) {
    for (const OpCall& cast : index.run().calls) {
      if (!index.has(cast, ops::kCast) || cast.operands.empty()) continue;
      const Operand& read = cast.operands.front();
      const OpCall* first = index.run().call(read.origin);
      if (first != nullptr && cast.count > first->count && read.has_shape)
        of_others_[{cast.process, read.dtypes.bits()}].push_back(&cast);
    }
  }

  bool holds(const OpCall& call, DtypeSet low) {
    if (contained_.contains(call.id)) return true;
    std::vector<OpCallId> reached = {call.id};
    std::unordered_set<OpCallId> seen = {call.id};
    bool any_cast = false;
    for (size_t next = 0; next < reached.size(); ++next) {
      if (reached.size() > kMaxReached || !follow(reached[next], low, reached, seen, any_cast))
        return false;
    }
    if (any_cast) contained_.insert(seen.begin(), seen.end());
    return any_cast;
  }

 private:
  static constexpr size_t kMaxReached = 2000;

  // What calls the op is given the same, and gives what the op gives.
  bool stands_for(const OpCall& inner, OpCallId from) const {
    const OpCall* outer = index_.run().call(inner.parent);
    return outer != nullptr &&
           std::any_of(outer->operands.begin(), outer->operands.end(),
                       [&](const Operand& operand) { return operand.origin == from; });
  }

  // False when a use of the result is neither wide arithmetic nor a cast back.
  bool follow(OpCallId from, DtypeSet low, std::vector<OpCallId>& reached,
              std::unordered_set<OpCallId>& seen, bool& any_cast) const {
    const Run& run = index_.run();
    bool any_use = false;
    for (const OpCallId id : index_.consumers(run.calls[from - 1])) {
      const OpCall& consumer = run.calls[id - 1];
      if (is_backward(consumer) || stands_for(consumer, from)) continue;
      any_use = true;
      if (casts_to(index_, consumer, low)) {
        any_cast = true;
      } else if (consumer.outcome != Outcome::kReturned || consumer.results.empty()) {
        return false;
      } else if (consumer.results.front().is_floating() && seen.insert(id).second) {
        reached.push_back(id);
      }
    }
    if (any_use) return true;
    const bool is_cast = is_cast_with_others(run.calls[from - 1], low);
    any_cast |= is_cast;
    return is_cast;
  }

  // A list that grows by cat() is one record, of its first length.
  static bool may_be_one(const OpCall& call, const std::vector<int64_t>& read) {
    const std::vector<int64_t>& made = call.results.front().shape;
    if (made == read) return true;
    if (call.short_op() != "cat" || made.size() != read.size()) return false;
    int differing = 0;
    for (size_t i = 0; i < made.size(); ++i) differing += made[i] != read[i];
    return differing == 1;
  }

  // Equal casts are one record, whose origin is that of the first: one that was made more often
  // than what it read there has read what others made.
  bool is_cast_with_others(const OpCall& call, DtypeSet low) const {
    if (call.results.empty() || !call.results.front().has_shape) return false;
    const auto found = of_others_.find({call.process, call.results.front().dtypes.bits()});
    return found != of_others_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const OpCall* cast) {
             return casts_to(index_, *cast, low) && may_be_one(call, cast->operands.front().shape);
           });
  }

  const RunIndex& index_;
  std::unordered_set<OpCallId> contained_;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<const OpCall*>>
      of_others_;  // process, dtypes
};

// Double in what prepares data is how NumPy works.
bool is_data_preparation(const OpCall& call, const Promotion& promotion) {
  return width(*promotion.wide) == 3 &&
         (call.site.phase == Phase::kData || call.site.phase == Phase::kLoad);
}

class Promotions {
 public:
  Promotions(const RunIndex& index, Findings& out) : index_(index), out_(out), cast_back_(index) {
    find_what_led_to_refusals();
  }

  void collect(const OpCall& call) {
    if (check_loss(call)) return;
    const OpCallId cause = cause_of_operands(call);
    const bool is_new = is_promotion(call);
    if (cause != kNoOpCall) {
      cause_[call.id] = cause;
      if (is_new) out_.relate(cause, call);
    } else if (is_new) {
      cause_[call.id] = call.id;
      report(call);
    } else {
      note_loss_in_double(call);
    }
  }

 private:
  void find_what_led_to_refusals() {
    for (const OpCall& call : index_.judged_calls()) {
      const auto mix = refused_mix(index_, call);
      if (!mix) continue;
      const Provenance source = index_.provenance().trace_back(call, *mix->odd.operand);
      if (source.promotion != nullptr) led_to_refusal_.insert(source.promotion->id);
    }
  }

  bool is_promotion(const OpCall& call) {
    if (!index_.promotes(call) || !is_candidate(call) || is_double_loss(call)) return false;
    const Promotion found = promotion_of(call);
    if (found.low == nullptr || found.wide == nullptr) return false;
    if (width(*found.wide) == 3 && is_in_double(call.process)) return false;
    if (led_to_refusal_.contains(call.id)) return true;
    if (call.inexact) return false;  // far-from-float says what to raise
    return is_called_by_program(call) && !is_in_autocast(call) && is_substantial(found, call) &&
           !is_data_preparation(call, found) && !ends_in_loss(index_, call) &&
           !cast_back_.holds(call, found.low->dtypes) && !is_raised_by_line(call, found) &&
           !is_too_coarse(index_, call, *found.low);
  }

  // "cat((boxes, scores, classes.float()), 1)" behind the last layer: the line itself asks for the
  // wide dtype, and nobody needs the other.
  bool is_raised_by_line(const OpCall& call, const Promotion& found) const {
    const bool is_asked =
        std::all_of(call.operands.begin(), call.operands.end(), [&](const Operand& operand) {
          if (operand.dtypes != found.wide->dtypes || !operand.promotes()) return true;
          const OpCall* made = index_.run().call(operand.origin);
          return made != nullptr && index_.has(*made, ops::kCast) &&
                 made->site.line == call.site.line && made->site.inner == call.site.inner;
        });
    return is_asked && is_read_by_layer(index_, call) == false;
  }

  // The model computes in Double: what is raised to it is what was left behind.
  bool is_in_double(uint32_t process) const {
    return index_.has_parameters_in(process, Dtype::kDouble) &&
           !index_.has_parameters_in(process, Dtype::kFloat);
  }

  // The earlier promotion that made a wide operand of this call wide. The result inherits it.
  OpCallId cause_of_operands(const OpCall& call) const {
    if (cause_.empty() || call.results.empty() || index_.has(call, ops::kCast)) return kNoOpCall;
    for (const Operand& operand : call.operands) {
      if (operand.origin == kNoOpCall || operand.dtypes != call.results.front().dtypes) continue;
      const auto cause = cause_.find(operand.origin);
      if (cause != cause_.end()) return cause->second;
    }
    return kNoOpCall;
  }

  void report(const OpCall& call) {
    const Promotion found = promotion_of(call);
    const auto [line, is_first] =
        at_line_.try_emplace(fmt::format("{}:{} {}:{}", call.site.line.file, call.site.line.line,
                                         call.site.inner.file, call.site.inner.line),
                             call.id);
    if (!is_first && call.site.line.known()) {
      cause_[call.id] = line->second;
      out_.relate(line->second, call);
      return;
    }
    const std::string message =
        fmt::format("{} promotes {} from {} to {}", call.op, found.low->name,
                    dtype_word(*found.low), dtype_word(*found.wide));
    out_.add(call, message, [&] { return explain(call, found); });
  }

  Details explain(const OpCall& call, const Promotion& found) const {
    const Provenance source = index_.provenance().trace_back(call, *found.wide);
    const bool is_refused = out_.options().is_source || is_read_by_layer(index_, call) == true;
    return {.odd = found.wide->name,
            .why = fmt::format(
                "{} is {}{}; the result and all that follows take {} the memory{}",
                found.wide->name, dtype_word(*found.wide), made_from(source),
                width(*found.low) == 1 && width(*found.wide) == 3 ? "four times" : "twice",
                is_refused ? fmt::format(", and a {} layer would refuse it", dtype_word(*found.low))
                           : ""),
            .cures = promotion_cures(index_, out_.options(), call, *found.wide,
                                     *found.low->dtypes.single())};
  }

  // What a model in Float gives meets Double, and all that comes of it is the loss.
  bool makes_loss_double(const OpCall& call, const Promotion& found) {
    if (found.low == nullptr || found.wide == nullptr || width(*found.low) != 2 ||
        width(*found.wide) != 3 || !found.low->requires_grad || !is_candidate(call))
      return false;
    const bool is_loss = index_.has(call, ops::kLoss);
    const bool is_model_in_float = index_.has_parameters_in(call.process, Dtype::kFloat) &&
                                   !index_.has_parameters_in(call.process, Dtype::kDouble);
    return is_model_in_float && (is_loss || index_.promotes(call)) && is_called_by_program(call) &&
           !is_in_autocast(call) && is_substantial(found, call) && !call.inexact &&
           !cast_back_.holds(call, found.low->dtypes) &&
           (is_loss || (ends_in_loss(index_, call) && is_trained(call)));
  }

  // A loss is computed of it, and no choice alone.
  bool is_trained(const OpCall& call) const {
    std::vector<OpCallId> reached = {call.id};
    std::unordered_set<OpCallId> seen = {call.id};
    for (size_t next = 0; next < reached.size(); ++next) {
      for (const OpCallId id : index_.consumers(index_.run().calls[reached[next] - 1])) {
        const OpCall& consumer = index_.run().calls[id - 1];
        if (is_backward(consumer) || consumer.results.empty()) continue;
        if (!consumer.results.front().requires_grad) continue;
        if (is_summed_up(index_, consumer)) return true;
        if (seen.insert(id).second) reached.push_back(id);
      }
    }
    return false;
  }

  // What NumPy or Python made it in by default, or a line cast to it, and not the line that reads
  // it: that one asks for a loss in Double.
  bool is_origin(const OpCall& maker, const OpCall& call) const {
    if (ops::is_python(maker.op) || maker.op == "aten::lift_fresh") return true;
    return index_.has(maker, ops::kCast) && is_users_own(maker.site) &&
           !(maker.site.line == call.site.line);
  }

  // The numbers are right: once for each origin of the Double.
  void note_loss_in_double(const OpCall& call) {
    const Promotion found = promotion_of(call);
    if (!makes_loss_double(call, found)) return;
    const Provenance source = index_.provenance().trace_back(call, *found.wide);
    if (source.maker == nullptr || !is_origin(*source.maker, call)) return;
    const SourceLine& line = best_line(source.maker->site);
    const auto [noted, is_first] = noted_.try_emplace(
        fmt::format("{}:{} {}", line.file, line.line, source.maker->op), call.id);
    if (!is_first) return out_.relate(noted->second, call);
    const std::string message = fmt::format(
        "{} promotes {} from Float to Double, and with it the loss", call.op, found.low->name);
    out_.add(call, message, [&] {
      return Details{
          .odd = found.wide->name,
          .why = fmt::format("{} is Double{}; the numbers are right, but the loss and its gradient "
                             "are computed in Double, of a model in Float",
                             found.wide->name, made_from(source)),
          .cures = loss_in_float(call, found, *source.maker),
          .severity = Severity::kNote};
    });
  }

  std::vector<Cure> loss_in_float(const OpCall& call, const Promotion& found,
                                  const OpCall& maker) const {
    std::vector<Cure> cures =
        promotion_cures(index_, out_.options(), call, *found.wide, Dtype::kFloat);
    if (maker.site.phase == Phase::kData) return cures;
    auto made = CureProposer(index_, out_.options()).cast_result(maker, Dtype::kFloat);
    const bool is_new = made && std::none_of(cures.begin(), cures.end(), [&](const Cure& cure) {
                          return cure.text == made->text;
                        });
    if (is_new) cures.push_back(*std::move(made));
    return cures;
  }

  // mse_loss and huber_loss take the mix and refuse it in backward.
  bool check_loss(const OpCall& call) {
    if (!index_.has(call, ops::kLoss) || !is_candidate_loss(call)) return false;
    if (!index_.refuses_in_backward(call)) return false;
    const auto mix = find_mix(index_, call, /*with_scalars=*/false);
    if (!mix) return false;
    const std::string message =
        fmt::format("{} takes a {} {} with a {} {}, and its backward refuses them", call.op,
                    dtype_name(mix->other.dtype), mix->other.noun(), dtype_name(mix->odd.dtype),
                    mix->odd.noun());
    out_.add(call, message, [&] {
      return Details{.odd = mix->odd.operand->name,
                     .why =
                         "the forward op promotes silently; its backward raises that it found one "
                         "dtype but expected the other",
                     .cures = loss_cures(index_, out_.options(), call)};
    });
    return true;
  }

  bool is_candidate_loss(const OpCall& call) const {
    const bool wants_gradient =
        std::any_of(call.operands.begin(), call.operands.end(),
                    [](const Operand& operand) { return operand.requires_grad; });
    return wants_gradient && is_candidate(call) && is_called_by_program(call) &&
           !is_in_autocast(call);
  }

  const RunIndex& index_;
  Findings& out_;
  CastBack cast_back_;
  std::unordered_map<OpCallId, OpCallId> cause_;  // call whose wide result goes back to a promotion
  std::unordered_set<OpCallId> led_to_refusal_;
  std::unordered_map<std::string, OpCallId> at_line_;
  std::unordered_map<std::string, OpCallId> noted_;  // by the origin of the Double
};

void check_run(const RunIndex& index, Findings& out) {
  Promotions promotions(index, out);
  for (const OpCall& call : index.judged_calls()) promotions.collect(call);
}

}  // namespace

const Rule silent_promotion = {
    .doc = {.id = "silent-promotion",
            .severity = Severity::kWarning,
            .summary = "a tensor is promoted to a wider dtype, and nothing asked for it",
            .why = "The result and all that follows take twice the memory, and the next half layer "
                   "throws.",
            .fix = "Cast the wide operand where it is made: mask = mask.to(latents.dtype).",
            .example = R"(
op aten::cat tensors=Half[1,4,64,64],Float[1,1,64,64] -> Float[1,5,64,64] at train.py:91 phase forward
# EXPECT train.py:91: warning: aten::cat promotes tensors[0] from Half to Float [silent-promotion]
# EXPECT-ODD tensors[1]
op aten::cat tensors=Float[1,4,64,64],Float[1,1,64,64] -> Float[1,5,64,64] at train.py:97 phase forward
)"},
    .check_run = check_run,
    .judges_source = true,
    .costs_only = true,
};

}  // namespace dtypecheck::rules
