// Finds: a loss that was inf or NaN when backward() was called on it, as the tracer sees it without
// value checks where it is on the CPU; and, on a GPU, where nothing may be waited for, a loss, a
// gradient or a parameter of which the program itself read that: loss.item(), print(loss),
// torch.isnan(loss), isfinite(…).all(). Another number that the program reads and that is NaN, as a
// validation's, and numbers that are drawn, as the next word of a language
// model is, by probabilities that are NaN, where the program computes in 16 bits.
// Misses: a loss on a GPU that the program never reads; gradients and parameters that became so
// from a finite loss in the last step. Silent where first-non-finite or far-from-float says where
// it began, and beside a GradScaler on infinite losses and on gradients, whose steps it leaves out.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "rules/engine/losses.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

constexpr int kLongestWay = 8;  // op calls between what was read and what it tells of

enum class What { kLoss, kGradient, kParameter, kProbabilities, kNumber };

struct LostNumber {
  const OpCall* call = nullptr;  // where it is reported
  uint32_t step = 0, order = 0;
  What what = What::kLoss;
  bool is_nan = false;
  bool may_be_either = false;  // the program asked whether it was finite
  bool was_read = false;

  auto time() const { return std::tuple(step, order); }
};

struct LossesOfProcess {
  std::optional<LostNumber> found, number;
  bool has_origin = false;  // another finding tells where it began
  bool has_scaler = false;
  bool has_low = false;  // something was computed in 16 bits

  void take(const LostNumber& other) {
    std::optional<LostNumber>& place = other.what == What::kNumber ? number : found;
    if (!place || other.time() < place->time()) place = other;
  }
};

bool is_scalar(const Operand& tensor) { return element_count(tensor) == 1; }

// A tensor whose values an answer tells something of: yes to isnan(x), no to isfinite(x).all().
struct AnswerAbout {
  const Operand* about = nullptr;
  bool may_be_either = false;
};

std::optional<AnswerAbout> asked_by(const Run& run, const OpCall& call, bool yes, int way) {
  if (way > kLongestWay || call.operands.empty()) return std::nullopt;
  const Operand& operand = call.operands.front();
  const std::string op = call.short_op();
  if (op == "isnan" || op == "isinf")
    return yes ? std::optional(AnswerAbout{&operand, op == "isinf"}) : std::nullopt;
  if (op == "isfinite") return yes ? std::nullopt : std::optional(AnswerAbout{&operand, true});
  const bool is_not = op == "logical_not" || op == "bitwise_not";
  const bool goes_on = is_not || (op == "all" && !yes) || (op == "any" && yes);
  const OpCall* before = goes_on ? run.call(operand.origin) : nullptr;
  return before == nullptr ? std::nullopt : asked_by(run, *before, is_not ? !yes : yes, way + 1);
}

// The losses that backward() was called on, each with the calls of one number that it is made of: a
// scaled one, or one divided by the steps that are summed up.
class Losses {
 public:
  explicit Losses(const RunIndex& index) : run_(index.run()) {
    for (const OpCall& call : index.judged_calls()) {
      const bool begins = call.op == "aten::ones_like" && !call.operands.empty() &&
                          call.operands.front().requires_grad && is_scalar(call.operands.front());
      if (begins) add(call, call.operands.front().origin, 0);
    }
  }
  // Where backward() was called on it, or on what was made of it; null: on neither.
  const OpCall* backward_of(const OpCall& call) const {
    const auto found = backward_.find(call.id);
    return found == backward_.end() ? nullptr : found->second;
  }

 private:
  void add(const OpCall& backward, OpCallId id, int way) {
    const OpCall* call = run_.call(id);
    if (call == nullptr || way > kLongestWay || call->results.empty() ||
        !is_scalar(call->results.front()) || !backward_.try_emplace(call->id, &backward).second)
      return;
    for (const Operand& operand : call->operands)
      if (is_scalar(operand)) add(backward, operand.origin, way + 1);
  }

  const Run& run_;
  std::map<OpCallId, const OpCall*> backward_;
};

// What a number that the program read is made of: the loss before gradients, and these before
// parameters.
struct Reading {
  const OpCall* call = nullptr;
  What what = What::kLoss;
};

std::optional<Reading> reading_of(const Run& run, const Losses& losses, const OpCall& read) {
  std::vector<const OpCall*> front = {&read};
  std::set<OpCallId> been = {read.id};
  const OpCall* gradient = nullptr;
  for (int way = 0; way <= kLongestWay && !front.empty(); ++way) {
    std::vector<const OpCall*> next;
    for (const OpCall* call : front) {
      if (const OpCall* backward = losses.backward_of(*call)) return Reading{backward, What::kLoss};
      if (call->site.phase == Phase::kBackward) {
        gradient = gradient == nullptr ? &read : gradient;
        continue;
      }
      for (const Operand& operand : call->operands) {
        const OpCall* before = run.call(operand.origin);
        if (before != nullptr && been.insert(before->id).second) next.push_back(before);
      }
    }
    front = std::move(next);
  }
  if (gradient != nullptr) return Reading{gradient, What::kGradient};
  return std::nullopt;
}

// What a program writes itself is none of an op's.
bool computes_of_some(const OpCall& call) { return !call.operands.empty() && !is_of_nothing(call); }

void collect(const RunIndex& index, const Losses& losses, const OpCall& call, const Findings& out,
             LossesOfProcess& seen) {
  const Run& run = index.run();
  seen.has_scaler |= index.has(call, ops::kScalesGradients);
  seen.has_origin |= number_beyond(call) != nullptr && out.is_reported(call);
  seen.has_low |= call.result_dtype() && kLowPrecision.contains(*call.result_dtype());
  if (draws_by_non_finite(call) && seen.has_low)
    seen.take({&call, call.first_step, 0, What::kProbabilities});
  for (const NonFinite& what : call.non_finite) {
    if (what.is_loss) {
      seen.take({&call, what.step, what.order, What::kLoss, what.is_nan});
    } else if (!what.is_read) {
      seen.has_origin |= (what.is_nan || what.operands_were_finite) && out.is_reported(call);
    } else if (!what.is_answer) {
      if (const auto reading = reading_of(run, losses, call))
        seen.take({reading->call, what.step, what.order, reading->what, what.is_nan, false, true});
      else if (what.is_nan && computes_of_some(call))
        seen.take({&call, what.step, what.order, What::kNumber, true, false, true});
    } else if (const auto asked = asked_by(run, call, what.is_nan, 0)) {
      if (!asked->about->parameter.empty()) {
        seen.take(
            {&call, what.step, what.order, What::kParameter, true, asked->may_be_either, true});
        continue;
      }
      const OpCall* maker = run.call(asked->about->origin);
      const auto reading = maker == nullptr ? std::nullopt : reading_of(run, losses, *maker);
      // Of a gradient the line that asked is reported.
      if (reading)
        seen.take({reading->what == What::kLoss ? reading->call : &call, what.step, what.order,
                   reading->what, true, asked->may_be_either, true});
    }
  }
}

std::string message(const LostNumber& found) {
  const char* value = found.may_be_either ? "not finite" : found.is_nan ? "NaN" : "infinite";
  switch (found.what) {
    case What::kLoss:
      return fmt::format("the loss that backward() is called on is {}", value);
    case What::kGradient:
      return fmt::format("a gradient is {}", value);
    case What::kParameter:
      return fmt::format("a parameter is {}", value);
    case What::kNumber:
      return "a number that the program reads is NaN";
    case What::kProbabilities:
      return "the probabilities that numbers are drawn by are NaN, infinite or negative";
  }
  return "";
}

// `origin` gave the first NaN of what the program read, and a finding says so; null: not known.
std::string why(const LostNumber& found, const OpCall* origin) {
  if (found.what == What::kProbabilities)
    return "some of what led to them was computed in 16 bits; the record does not say which op "
           "gave the first of these numbers";
  const uint32_t step = found.step;
  const std::string when = step == 0 ? "before the first step" : fmt::format("in step {}", step);
  const std::string first = found.was_read
                                ? fmt::format("the program read that back, the first time {}", when)
                                : fmt::format("the first time {}", when);
  if (found.what == What::kNumber && origin != nullptr)
    return fmt::format("{}; it comes of what {} gave{}", first, origin->op, at_place(origin->site));
  if (found.what == What::kNumber)
    return first +
           "; some of this run is computed in 16 bits, and the record does not say which op "
           "gave the first NaN";
  return fmt::format(
      "{}; {}, and with them the weights that they update; it is not known whether another fix of "
      "this report changes that",
      first,
      found.what == What::kLoss ? "its gradients are lost" : "the step's gradients are lost");
}

// Of later steps not all are looked at unless they are named, and what the step before made of the
// weights is where the loss of this one may have begun.
std::string fix(const LostNumber& found, const OpCall* origin) {
  if (origin != nullptr)
    return fmt::format("mend what {} gives{}", origin->short_op(), at_place(origin->site));
  const std::string steps = found.step < 2 ? "" : fmt::format("={}-{}", found.step - 1, found.step);
  return fmt::format(
      "Record the run once more with dtypecheck trace --check-values{}: it names the op that gave "
      "the "
      "first inf or NaN.",
      steps);
}

void check_run(const RunIndex& index, Findings& out) {
  const Losses losses(index);
  std::map<uint32_t, LossesOfProcess> processes;
  for (const OpCall& call : index.judged_calls())
    collect(index, losses, call, out, processes[call.process]);
  for (const auto& [process, seen] : processes) {
    const bool is_number = !seen.found && seen.number && seen.has_low;
    if ((!seen.found && !is_number) || seen.has_origin) continue;
    const LostNumber& found = is_number ? *seen.number : *seen.found;
    const bool is_scalers = found.what == What::kGradient || !found.is_nan || found.may_be_either;
    if (is_scalers && seen.has_scaler) continue;
    const OpCall* origin =
        found.what == What::kLoss || is_number ? origin_of_lost_loss(index, *found.call) : nullptr;
    if (origin != nullptr && !out.is_reported(*origin)) origin = nullptr;
    if (origin != nullptr && !is_number) continue;  // which says so
    out.add(*found.call, message(found), [&] {
      Details details{.why = why(found, origin),
                      .fix = fix(found, origin),
                      .severity = is_number ? Severity::kWarning : Severity::kError};
      if (origin != nullptr) details.follows = {{&far_from_float, origin->id}};
      // A mean of what a mask selects, and it selects nothing.
      details.follows.push_back({&bool_sum});
      return details;
    });
  }
}

}  // namespace

const Rule non_finite_loss = {
    .doc = {.id = "non-finite-loss",
            .severity = Severity::kError,
            .summary =
                "the loss was inf or NaN when backward() was called on it, or the program read so",
            .why =
                "All gradients of such a loss are NaN or inf, and after the next step so are the "
                "weights. Where it began is known only if values are checked.",
            .fix = "Record the run once more with dtypecheck trace --check-values: it names the op "
                   "that gave the first inf or NaN.",
            .example = R"(
op aten::ones_like self=Float[]^ -> Float[] non-finite nan loss 3 1 at train.py:40 phase backward step 1-3
# EXPECT train.py:40: error: the loss that backward() is called on is NaN [non-finite-loss]
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
