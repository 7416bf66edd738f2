// Finds: the op by which the first infinity or NaN of a process came to be, in the order of time;
// and, where no op that was looked at made the first NaN, the one that was given it. Needs a run
// with value checks, but for a number that is written and the dtype does not have, and for sums,
// norms and losses in Half on the CPU, of which one call in sixteen is looked at in any run.
// Misses: values that became non-finite inside an op that was not sampled. Silent on infinities
// that the program writes itself (attention masks), on the mean of no elements, on memory that was
// never written, and on what a GradScaler finds its scale by: infinite gradients.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "core/dtype_range.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/losses.h"
#include "rules/engine/lost_epsilon.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/vanishing_number.h"

namespace dtypecheck::rules {

namespace {

// When a result of a call first had an infinity, or a NaN.
struct Event {
  const OpCall* call = nullptr;
  const NonFinite* what = nullptr;

  explicit operator bool() const { return call != nullptr; }
  auto time() const {
    return std::tuple(what->order == 0 ? call->first_step : what->step, what->order, call->id);
  }
  bool is_before(const Event& other) const { return !other || time() < other.time(); }
};

struct First {
  bool is_drawn_by = false;
  Event inf, nan;   // that an op made
  Event given_nan;  // that was among its operands
  Event meant_nan;  // that the program writes itself

  static void take(Event& place, const Event& event) {
    if (event.is_before(place)) place = event;
  }
};

bool has_infinite_scalar(const OpCall& call) {
  return std::any_of(call.scalars.begin(), call.scalars.end(),
                     [](const ScalarArgument& scalar) { return !std::isfinite(scalar.value); });
}

// Of a mask that is cast, whose numbers are one that stands for infinity, none counts as clipped.
bool is_cast_mask(const Event& event) {
  return !event.what->is_nan && event.call->cast && event.call->cast->clipped == 0;
}

bool is_meant(const RunIndex& index, const Event& event) {
  const OpCall& call = *event.call;
  // What a view shows, as of a file that is read, it did not make.
  constexpr uint64_t kMakesNone = ops::kView | ops::kFactory | ops::kScalesGradients;
  return is_of_nothing(call) || index.has(call, kMakesNone) || has_infinite_scalar(call) ||
         call.operands.empty() || is_cast_mask(event) ||
         (!event.what->is_nan && index.has(call, ops::kMask));
}

// An op inside of another one reads what no op has written: mean() in Half casts its empty result.
// The tracer does not see such memory made, and may take it for a tensor that lay there before;
// what the outer op gives has no NaN then.
bool is_scratch(const RunIndex& index, const OpCall& call) {
  const OpCall* outer = index.run().call(call.parent);
  const auto is_unseen = [](const Operand& operand) {
    return operand.origin == kNoOpCall && !is_parameter(operand);
  };
  return outer != nullptr && (outer->non_finite.empty() ||
                              std::all_of(call.operands.begin(), call.operands.end(), is_unseen));
}

// Writes a part of memory that nobody has filled: what is left of it may be anything.
bool fills_memory(const RunIndex& index, const OpCall& call) {
  constexpr int kMostWrites = 16;
  const OpCall* writes = &call;
  for (int way = 0; way < kMostWrites && writes != nullptr && !writes->operands.empty(); ++way) {
    const std::string_view name = ops::parse_op_name(writes->op).name;
    if (name.empty() || name.back() != '_') return false;
    writes = index.run().call(writes->operands.front().origin);
    if (writes != nullptr && index.has(*writes, ops::kUninitialized)) return true;
  }
  return false;
}

std::set<uint32_t> processes_with_scaler(const RunIndex& index) {
  std::set<uint32_t> processes;
  for (const OpCall& call : index.judged_calls()) {
    if (index.has(call, ops::kScalesGradients)) processes.insert(call.process);
  }
  return processes;
}

std::string operand_list(const OpCall& call) {
  std::string text;
  for (const Operand& operand : call.operands) {
    if (operand.kind == TensorKind::kUndefined) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", dtype_word(operand), operand.name);
  }
  return text;
}

std::string when(const Event& event) {
  const uint32_t step = event.what->order == 0 ? event.call->first_step : event.what->step;
  return step == 0 ? "before the first step" : fmt::format("in step {}", step);
}

bool is_half(const OpCall& call) { return call.result_dtype() == Dtype::kHalf; }

std::string fix_of(const OpCall& call) {
  if (is_half(call)) return "compute this part in Float or BFloat16";
  return "look at the values that go in: a division by 0, the log of 0 or the root of a negative "
         "number";
}

// Masks, each with the lowest number where nothing is to be seen.
bool adds_masks(const RunIndex& index, const OpCall& call) {
  return call.short_op() == "add" && call.operands.size() == 2 && is_users_own(call.site) &&
         std::all_of(call.operands.begin(), call.operands.end(),
                     [&](const Operand& operand) { return is_of_mask(index, operand); });
}

// Of a number that the program writes and the dtype does not have.
void report_number(const RunIndex& index, const OpCall& call, bool is_error, Findings& out) {
  const ScalarArgument& scalar = *number_beyond(call);
  const Dtype dtype = *call.result_dtype();
  const std::string message = fmt::format("{} writes {}, which {} does not have, as an infinity",
                                          call.op, number(scalar.value), dtype_name(dtype));
  out.add(call, message, [&] {
    return Details{.why = fmt::format("{} ends at {}: of a single element LibTorch makes an "
                                      "infinity, where it refuses the number for a larger tensor",
                                      dtype_name(dtype), number(narrow_range(dtype)->largest)),
                   .fix = kFitNumber,
                   .cures = {CureProposer(index, out.options()).fit_number(call, dtype)},
                   .severity = is_error ? Severity::kError : Severity::kWarning};
  });
}

// `to_nan`: the first NaN came of this infinity.
// What a line of the user's own cast to 16 bits: it is kept as it was.
std::vector<Cure> kept_before_cast(const RunIndex& index, const CureProposer& propose,
                                   const OpCall& call) {
  std::vector<Cure> cures;
  for (const Operand& operand : call.operands) {
    const OpCall* cast = index.provenance().trace_back(call, operand).maker;
    const bool is_lowered = cast != nullptr && index.has(*cast, ops::kCast) &&
                            operand.dtypes.within(kLowPrecision) && !is_parameter(operand) &&
                            is_users_own(cast->site) && !cast->operands.empty() &&
                            cast->operands.back().dtypes == DtypeSet(Dtype::kFloat);
    add(cures, is_lowered ? propose.keep_in(*cast, Dtype::kFloat) : std::nullopt);
  }
  return cures;
}

// A layer's weights say what it computes in, whatever it is given.
bool comes_of_layers(const RunIndex& index, const OpCall& call) {
  const auto is_layer = [](const OpCall& one) {
    return std::any_of(one.operands.begin(), one.operands.end(), is_parameter);
  };
  if (is_layer(call)) return true;
  return std::any_of(call.operands.begin(), call.operands.end(), [&](const Operand& operand) {
    const Provenance source = index.provenance().trace_back(call, operand);
    return std::any_of(source.steps.begin(), source.steps.end(), [&](const ProvenanceStep& step) {
      return step.call != nullptr && is_layer(*step.call);
    });
  });
}

// The cast of the same function goes first: what it rounded the op does not get back.
std::vector<Cure> raised_for(const RunIndex& index, const CureProposer& propose,
                             const OpCall& call) {
  std::vector<Cure> cures;
  if (!comes_of_layers(index, call)) cures = kept_before_cast(index, propose, call);
  std::erase_if(cures, [&](const Cure& cure) {
    return cure.where.file != call.site.line.file || cure.where.function != call.site.line.function;
  });
  for (Cure& cure : propose.compute_in_float(call)) cures.push_back(std::move(cure));
  return cures;
}

// "x.clamp(-1 + 1e-15, 1 - 1e-15)" in Float, before the logarithm of 1 - x.
void add_lost_bound(const RunIndex& index, const CureProposer& propose, const OpCall& call,
                    Details& details) {
  const OpCall* clamp = bound_lost(index, call);
  const auto dtype = clamp == nullptr ? std::nullopt : clamp->result_dtype();
  if (!dtype) return;
  const double bound = lost_bound(*clamp)->value;
  details.why += fmt::format(
      "; the bound of {}{}, {}, is {} in {}, so it keeps nothing away from it", clamp->op,
      at_place(clamp->site), number(bound), number(std::round(bound)), dtype_name(*dtype));
  const Cure cure = propose.fit_bound(*clamp, *dtype);
  details.fix = cure.text;
  details.cures.insert(details.cures.begin(), cure);
}

void report_inf(const RunIndex& index, const Event& inf, const Event& to_nan, bool is_error,
                Findings& out) {
  const OpCall& call = *inf.call;
  if (number_beyond(call) != nullptr) return report_number(index, call, to_nan || is_error, out);
  const std::string message =
      fmt::format("{} gave the first infinity of the run, from finite operands", call.op);
  out.add(call, message, [&] {
    std::string why = fmt::format("{} its operands were finite: {}", when(inf), operand_list(call));
    if (is_half(call)) why += "; Half ends at 65504, and a sum or product beyond that is infinite";
    if (to_nan) why += fmt::format("; {} turned it into a NaN {}", to_nan.call->op, when(to_nan));
    const CureProposer propose(index, out.options());
    const std::string at_lowest = "join the masks by torch.minimum(), which passes no dtype's end";
    const bool is_of_masks = adds_masks(index, call);
    Details details{.why = why,
                    .fix = is_of_masks ? at_lowest : fix_of(call),
                    .cures = is_of_masks ? std::vector{propose.rewrite(call, *call.result_dtype(),
                                                                       "lowest", at_lowest)}
                                         : raised_for(index, propose, call),
                    .severity = to_nan || is_error ? Severity::kError : Severity::kWarning};
    add_lost_bound(index, propose, call, details);
    return details;
  });
}

// What its operands came of may have lost nearly all of itself in a cast, as a product that is
// divided by.
std::vector<Cause> casts_before(const RunIndex& index, const OpCall& call) {
  std::vector<Cause> found;
  for (const OpCall* made : index.with_makers(call))
    if (index.has(*made, ops::kCast)) found.push_back({&lossy_cast, made->id});
  return found;
}

void report_nan(const RunIndex& index, const Event& nan, const Event& cause, Findings& out) {
  const OpCall& call = *nan.call;
  const bool was_finite = nan.what->operands_were_finite;
  const std::string message = fmt::format("{} gave the first NaN of the run, from {} operands",
                                          call.op, was_finite ? "finite" : "infinite");
  out.add(call, message, [&] {
    Details details{.why = fmt::format("{} its operands {}: {}", when(nan),
                                       was_finite ? "were finite" : "held infinities, and no NaN",
                                       operand_list(call)),
                    .fix = fix_of(call),
                    .severity = Severity::kError};
    const CureProposer propose(index, out.options());
    if (was_finite) {
      details.cures = propose.compute_in_float(call);
      add(details.cures, kept_before_cast(index, propose, call));
    }
    if (was_finite && is_half(call)) details.follows = casts_before(index, call);
    const OpCall* epsilon = was_finite ? epsilon_lost(index, call, out) : nullptr;
    if (const auto holds = epsilon == nullptr ? std::nullopt : epsilon->result_dtype()) {
      details.cures.insert(details.cures.begin(), propose.fit_epsilon(*epsilon, *holds));
      details.follows.insert(details.follows.begin(), {&eps_underflow, epsilon->id});
    }
    if (was_finite) add_lost_bound(index, propose, call, details);
    if (cause) {
      details.follows = {{&first_non_finite, cause.call->id}};
    } else if (!was_finite) {
      details.why +=
          "; the difference, quotient or softmax of infinities alone is NaN, as in a row "
          "that a mask covers whole";
      details.fix = "leave an entry of each row unmasked, or mask with the smallest finite number";
      details.severity = Severity::kWarning;
      if (auto held = propose.hold_scores(call)) details.cures.push_back(*std::move(held));
    }
    return details;
  });
}

void report_given(const RunIndex& index, const Event& given, Findings& out) {
  const OpCall& call = *given.call;
  const std::string message =
      fmt::format("{} received the first NaN of the run, which no recorded op made", call.op);
  out.add(call, message, [&] {
    Details details{
        .why = fmt::format(
            "{} it was among its operands: {}; it came with the data, with loaded weights, or from "
            "a step whose values were not checked (from the 17th of a call on one step in 16 is)",
            when(given), operand_list(call)),
        .fix = fmt::format("look for it where the operands come from: torch{}isfinite(x).all() on "
                           "the batch and on the loaded weights",
                           is_in_cpp(call) ? "::" : ".")};
    const CureProposer propose(index, out.options());
    if (is_in_cpp(call) && propose.line_of(call).find("from_blob(") != std::string::npos) {
      details.why +=
          "; from_blob() takes the bytes of the buffer as they are, as Float where it "
          "is given no dtype";
      details.fix = "give from_blob() the dtype of the buffer's elements, and cast the tensor";
      details.cures = {propose.rewrite(call, Dtype::kFloat, "buffer read", details.fix)};
    }
    return details;
  });
}

void report(const RunIndex& index, const First& first, Findings& out) {
  const bool nan_of_inf = first.nan && !first.nan.what->operands_were_finite && first.inf &&
                          first.inf.is_before(first.nan);
  if (first.inf && first.inf.is_before(first.nan))
    report_inf(index, first.inf, nan_of_inf ? first.nan : Event{}, first.is_drawn_by, out);
  if (first.nan) return report_nan(index, first.nan, nan_of_inf ? first.inf : Event{}, out);
  // Where an infinity was there before it, that is reported.
  if (first.given_nan && first.given_nan.is_before(first.meant_nan) &&
      first.given_nan.is_before(first.inf))
    report_given(index, first.given_nan, out);
}

void check_run(const RunIndex& index, Findings& out) {
  const std::set<uint32_t> scaled = processes_with_scaler(index);
  std::map<uint32_t, First> processes;
  static const NonFinite kWritten = {.operands_were_finite = true};
  for (const OpCall& call : index.judged_calls()) {
    if (number_beyond(call) != nullptr)
      First::take(processes[call.process].inf, {&call, &kWritten});
    if (draws_by_non_finite(call)) processes[call.process].is_drawn_by = true;
    if (call.site.phase == Phase::kBackward && scaled.contains(call.process)) continue;
    for (const NonFinite& what : call.non_finite) {
      if (what.is_loss || what.is_read) continue;
      if (!what.operands_had_no_nan && (is_scratch(index, call) || fills_memory(index, call)))
        continue;
      if (what.is_nan && !what.operands_had_no_nan && out.is_reported(call)) continue;
      const Event event{&call, &what};
      First& first = processes[call.process];
      if (is_meant(index, event)) {
        if (what.is_nan) First::take(first.meant_nan, event);
      } else if (!what.is_nan) {
        if (what.operands_were_finite) First::take(first.inf, event);
      } else {
        First::take(what.operands_had_no_nan ? first.nan : first.given_nan, event);
      }
    }
  }
  for (const auto& [process, first] : processes) report(index, first, out);
}

}  // namespace

const Rule first_non_finite = {
    .doc = {.id = "first-non-finite",
            .severity = Severity::kError,
            .summary = "the first op whose result has NaN or infinity while its operands had none",
            .why = "From here on every result that depends on it is lost; what is reported later, "
                   "a NaN loss, "
                   "is only where it was noticed.",
            .fix = "Compute this part in Float or BFloat16, or keep its input away from 0 and from "
                   "the end of "
                   "the dtype's range.",
            .example = R"(
op aten::mul self=Half[1,512,64,64] other=Half[1,512,64,64] -> Half[1,512,64,64] non-finite inf clean at vae.py:20 phase forward
# EXPECT vae.py:20: warning: aten::mul gave the first infinity of the run, from finite operands [first-non-finite]
# A mask's -inf is meant.
op aten::masked_fill self=Float[77,77] mask=Bool[77,77] value:=-inf -> Float[77,77] non-finite inf clean at clip.py:9 phase forward
# A tensor that is read from a file, as of a best score, is infinite there.
op aten::set_.source_Storage_storage_offset self=Float[0] -> Float[] non-finite inf clean at resume.py:5 phase load
# The mean of no elements is NaN in Float too.
op aten::mean self=Half[0] -> Half[] non-finite nan clean at eval.py:30 phase forward
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
