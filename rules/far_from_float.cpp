// Finds: an op that gives something else than Float would, where the tracer computed it once more
// in Double, on what its operands would be in Double: what is left of numbers that rounding made
// neighbours, angles of rounded positions, a NaN, whole numbers that wrapped, a place or an
// equality that rounding made. Misses: what is seen in few calls or in large tensors that are not
// computed number by number, all on a GPU, and errors that grow slowly over many ops. Silent on
// what a GradScaler is there for, on gradients and the optimizer, and on what remains of numbers
// that cancel to 0.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/dtype_range.h"
#include "core/follow_links.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/losses.h"
#include "rules/engine/lost_epsilon.h"
#include "rules/engine/meant_wraps.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

namespace {

constexpr double kWorthSaying = 0.05;  // of a number; the tracer compares whole tensors
constexpr double kFarOff = 0.2;        // of a tensor: what a product makes of it is off as well
constexpr double kMasked = -6e4;  // what is below, in Half, less something, is -inf, and as good

constexpr size_t kFewest = 16;  // fewer are counters; of more a tracer says more

constexpr DtypeSet kBeyond = DtypeSet(Dtype::kFloat) | Dtype::kDouble;
constexpr DtypeSet kWide = DtypeSet(Dtype::kFloat) | Dtype::kDouble | Dtype::kLong | Dtype::kInt;

bool wraps(const IntegerRange& range, double value) {
  return value >= range.largest + 1 || value <= range.least - 1;
}

bool is_wide(const Operand& operand) { return operand.dtypes.within(kWide); }

// What rounded the numbers of a call, and what reads them from it.
struct Rounding {
  const OpCall* op = nullptr;
  const OpCall* reader = nullptr;
};

// Long numbers that an op promotes to 16 bits: 472222 / 3600 in BFloat16.
bool rounds_integers(const RunIndex& index, const OpCall& call) {
  const auto is_long = [](const Operand& operand) {
    return operand.dtypes == DtypeSet(Dtype::kLong) && !operand.is_wrapped_number;
  };
  return index.promotes(call) && index.has(call, ops::kMultiplies | ops::kScales | ops::kDivides) &&
         std::any_of(call.operands.begin(), call.operands.end(), is_long);
}

// What the tracer followed: of equal op calls that read other tensors the trace has the first one's
// operands alone. Weights round all that a model computes, and say nothing of this place.
Rounding rounding_followed(const RunIndex& index, const OpCall& call) {
  const OpCall* op = index.run().call(call.inexact->rounded_at);
  if (op == nullptr || op == &call) return {};
  const OpCall* reader = nullptr;
  for (const OpCallId id : index.consumers(*op)) {
    const OpCall* consumer = index.run().call(id);
    const auto& operands = consumer->operands;
    const bool makes_weight = std::any_of(operands.begin(), operands.end(), [&](const auto& its) {
      return its.origin == op->id && is_weight(its);
    });
    if (makes_weight) return {};
    if (reader == nullptr) reader = consumer;
  }
  return {op, reader};
}

bool reads_weight(const OpCall& call) {
  return std::any_of(call.operands.begin(), call.operands.end(), is_weight);
}

// A product of no weights, of positions and frequencies, that autocast computes in 16 bits.
bool is_lowered_by_autocast(const OpCall& call) {
  const auto dtype = call.result_dtype();
  return call.autocast.is_wrapper && dtype && kLowPrecision.contains(*dtype) &&
         std::all_of(call.operands.begin(), call.operands.end(), is_wide) && !reads_weight(call);
}

// What a cast reads, or a function of torch that makes a tensor of Python's or NumPy's numbers;
// Float where that is not known.
Dtype source_of(const OpCall& cast) {
  if (ops::is_python(cast.op) && !cast.scalars.empty())
    return cast.scalars.front().dtype.value_or(Dtype::kFloat);
  return cast.operands.empty() ? Dtype::kFloat
                               : cast.operands.back().dtypes.single().value_or(Dtype::kFloat);
}

// torch.tensor(0.0), which a line adds to in place: what it begins with rounds nothing.
bool is_running_sum(const RunIndex& index, const OpCall& made) {
  const auto readers = index.consumers(made);
  return ops::is_python(made.op) && std::any_of(readers.begin(), readers.end(), [&](OpCallId id) {
           const OpCall& reader = *index.run().call(id);
           const ops::OpName name = ops::parse_op_name(reader.op);
           return name.base == "add" && name.in_place && !reader.operands.empty() &&
                  reader.operands.front().origin == made.id;
         });
}

// The op that rounded what this one computes with: it answers in fewer bits than it was given, or
// made numbers in 16 bits. One that answers in Float only where none did so in 16 bits.
Rounding rounded_by(const RunIndex& index, const OpCall& call) {
  if (const Rounding followed = rounding_followed(index, call); followed.op != nullptr)
    return followed;
  std::vector<Rounding> reached = {{&call, nullptr}};
  std::set<OpCallId> seen;
  Rounding in_float;
  for (size_t next = 0; next < reached.size() && next < kMaxFollowed; ++next) {
    const OpCall* at = reached[next].op;
    const auto dtype = at->result_dtype();
    const bool is_low = dtype && kLowPrecision.contains(*dtype);
    const bool narrows = std::any_of(at->operands.begin(), at->operands.end(), [&](auto& operand) {
      return is_wide(operand) && !operand.is_wrapped_number &&
             !(dtype && operand.dtypes.contains(*dtype));
    });
    const bool is_cast =
        at != &call && ((narrows && index.has(*at, ops::kCast)) ||
                        (ops::is_python(at->op) && source_of(*at) == Dtype::kDouble &&
                         !is_running_sum(index, *at)));
    const bool is_made = at != &call && (at->operands.empty() || rounds_integers(index, *at));
    if (is_low && (is_cast || is_made || (at != &call && is_lowered_by_autocast(*at))))
      return reached[next];
    if (is_cast && dtype == Dtype::kFloat && in_float.op == nullptr) in_float = reached[next];
    for (const Operand& operand : at->operands) {
      if (operand.requires_grad && is_weight(operand)) continue;
      const OpCall* made = index.run().call(operand.origin);
      if (made != nullptr && seen.insert(made->id).second) reached.push_back({made, at});
    }
  }
  return in_float;
}

std::string short_number(double value) { return fmt::format("{:.4g}", value); }

// Before the arithmetic, to what reads the result computes in.
std::vector<Cure> widened(const RunIndex& index, const JudgeOptions& options, const OpCall& call) {
  const auto consumers = index.consumers(call);
  const bool is_for_floats = std::any_of(consumers.begin(), consumers.end(), [&](OpCallId id) {
    const auto dtype = index.run().call(id)->result_dtype();
    return dtype && kFloating.contains(*dtype);
  });
  const auto is_read = [](const Operand& operand) {
    return operand.dtypes.within(kIntegral) && operand.promotes() && !operand.is_written;
  };
  const CureProposer propose(index, options);
  // A count keeps the dtype that it was made in.
  const bool is_count = !call.operands.empty() && call.operands.front().is_written;
  const OpCall* maker =
      is_count ? index.provenance().trace_back(call, call.operands.front()).maker : nullptr;
  if (maker != nullptr && index.has(*maker, ops::kFactory))
    if (auto cure = propose.cast_result(*maker, Dtype::kLong)) return {*std::move(cure)};
  const auto read = std::find_if(call.operands.begin(), call.operands.end(), is_read);
  if (read == call.operands.end() || !is_users_own(call.site)) return {};
  for (const Operand& operand : call.operands) {  // of bytes ~ is no logical not
    const OpCall* made = index.run().call(operand.origin);
    if (made != nullptr && made->short_op() == "bitwise_not" && is_users_own(made->site))
      return {propose.invert_as_bool(*made)};
  }
  const Dtype wide = is_for_floats ? Dtype::kFloat : Dtype::kLong;
  std::vector<const Operand*> factors;  // of a product, which promotes none
  if (index.has(call, ops::kMultiplies | ops::kProduct)) {
    for (const Operand& operand : call.operands)
      if (is_read(operand)) factors.push_back(&operand);
  }
  auto cure =
      factors.size() > 1
          ? propose.cast_operands(call, factors, wide)
          : propose.cast_operand(call, *read, wide, read->name == "self" ? "input" : read->name);
  return cure ? std::vector{*std::move(cure)} : std::vector<Cure>();
}

// Whole numbers that a cast to fewer bits wraps: ids of a large table.
std::vector<Cure> kept_whole(const CureProposer& propose, const OpCall& cast) {
  const bool is_whole = !cast.operands.empty() &&
                        cast.operands.back().dtypes == DtypeSet(Dtype::kLong) &&
                        cast.operands.size() == 1;
  auto cure = is_whole ? propose.cast_result(cast, Dtype::kLong) : std::nullopt;
  return cure ? std::vector{*std::move(cure)} : std::vector<Cure>();
}

void check_wrapped(const RunIndex& index, const OpCall& call, bool is_cast,
                   const IntegerRange& range, Findings& out) {
  const Dtype dtype = range.dtype;
  const double from = call.inexact->from, to = call.inexact->to;
  const std::string message = is_cast ? fmt::format("{} is cast to {} and becomes {}", number(from),
                                                    dtype_name(dtype), number(to))
                                      : fmt::format("{} in {} is {} and becomes {}", call.op,
                                                    dtype_name(dtype), number(from), number(to));
  out.add(call, message, [&] {
    const std::string least = fmt::format("{:.0f}", range.least);
    const std::string largest = fmt::format("{:.0f}", range.largest);
    const bool has_8_bits = range.largest < 256;
    return Details{
        .odd = call.operands.empty() ? "" : call.operands.front().name,
        .why = fmt::format("{} holds whole numbers from {} to {}; beyond that they wrap around",
                           dtype_name(dtype), least, largest),
        .fix = !is_cast ? "cast before the arithmetic, to torch.int64 or a floating dtype"
               : has_8_bits
                   ? fmt::format("clamp before the cast: .round().clamp({}, {})", least, largest)
                   : "cast to torch.int64",
        .cures = is_cast ? kept_whole(CureProposer(index, out.options()), call)
                         : widened(index, out.options(), call)};
  });
}

// Where the arrays come into the function, once, if one call reads two of them or another line of
// the function wraps as well; at the operand of this call; and back behind a clip() of the line.
std::vector<Cure> widened_arrays(const RunIndex& index, const JudgeOptions& options, OpCall call) {
  if (!is_users_own(call.site)) {  // np.diff(x), of which x is both
    call.site.inner = call.site.line;
    call.operands.resize(std::min<size_t>(call.operands.size(), 1));
  }
  const Dtype dtype = *call.result_dtype();
  const bool are_pictures = dtype == Dtype::kByte || dtype == Dtype::kUInt16;
  const Dtype wide = are_pictures ? Dtype::kDouble : Dtype::kLong;
  const CureProposer propose(index, options);
  std::vector<const Operand*> arrays;
  for (const Operand& operand : call.operands)
    if (operand.dtypes == DtypeSet(dtype) && !operand.shape.empty()) arrays.push_back(&operand);
  if (arrays.empty()) return {};
  const auto& calls = index.run().calls;
  const bool wraps_again = std::any_of(calls.begin(), calls.end(), [&](const OpCall& other) {
    return other.id != call.id && other.process == call.process && ops::is_numpy(other.op) &&
           other.site.line.file == call.site.line.file &&
           other.site.line.function == call.site.line.function;
  });
  std::vector<Cure> cures;
  const bool is_clipped = propose.line_of(call).find("clip(") != std::string::npos;
  if (is_clipped) add(cures, propose.cast_and_back(call, *arrays.front(), Dtype::kInt));
  if (arrays.size() > 1 || wraps_again) add(cures, propose.cast_arrays(call, arrays, wide));
  add(cures, propose.cast_operand(call, *arrays.front(), wide, "input"));
  if (arrays.size() == 1 && !wraps_again) add(cures, propose.cast_arrays(call, arrays, wide));
  // What reads the picture may take bytes alone.
  if (dtype == Dtype::kByte && !is_clipped && is_users_own(call.site))
    cures.push_back(propose.rewrite(call, dtype, "clipped back",
                                    "compute it in wider numbers, and clip it before it is cast "
                                    "back"));
  return cures;
}

// At the cast itself.
std::vector<Cure> kept_by_cast(const RunIndex& index, const JudgeOptions& options,
                               const OpCall& call) {
  if (!is_users_own(call.site) || call.operands.empty()) return {};
  const CureProposer propose(index, options);
  const Dtype dtype = *call.result_dtype();
  const bool is_whole = call.operands.front().dtypes.within(kIntegral);
  const Dtype wide = dtype == Dtype::kHalf                ? Dtype::kFloat
                     : is_whole && dtype != Dtype::kFloat ? Dtype::kLong
                                                          : Dtype::kDouble;
  std::vector<Cure> cures;
  const IntegerRange* range = integer_range(dtype);
  // A few numbers of either sign, as the steps of an augmentation, are no picture to be clipped.
  const bool is_step = range != nullptr && range->least == 0 && call.inexact->from < 0 &&
                       element_count(call.operands.front()) < kFewest;
  const bool is_fraction = std::fabs(call.inexact->from) < 1;
  // Whole numbers of more than a byte are ids and counts: another one is no better than a wrong
  // one.
  const bool is_id = is_whole && range != nullptr && dtype != Dtype::kByte;
  if (is_step)
    cures.push_back(propose.rewrite(call, Dtype::kInt, "astype", "cast it to Int instead"));
  else if (range != nullptr && !is_fraction && !is_id && dtype != Dtype::kInt)
    cures.push_back(propose.rewrite(call, dtype, "clipped", "clip it before the cast"));
  cures.push_back(propose.rewrite(call, wide, "astype",
                                  fmt::format("cast it to {} instead", dtype_name(wide))));
  return cures;
}

// By ndarray.astype(), numpy.asarray() or numpy.array().
void check_array_cast(const RunIndex& index, const OpCall& call, Findings& out) {
  const Dtype dtype = *call.result_dtype();
  const double from = call.inexact->from, to = call.inexact->to;
  const IntegerRange* range = integer_range(dtype);
  if (wraps_as_meant(index, out.options(), call)) return;
  const bool becomes_one = dtype == Dtype::kFloat;
  const std::string message = becomes_one
                                  ? fmt::format("{} became {} in {}, and so did its neighbour",
                                                number(from), number(to), dtype_name(dtype))
                                  : fmt::format("{} is cast to {} and becomes {}", number(from),
                                                dtype_name(dtype), number(to));
  const std::string why =
      std::isinf(to) ? "Half ends at 65504"
      : becomes_one  ? "Float has 24 bits for a number: whole ones beyond 16777216 have gaps"
      : range == nullptr || std::fabs(from) < 1
          ? "integers hold no fractions: a cast cuts them off"
          : fmt::format(
                "{} holds whole numbers from {:.0f} to {:.0f}; what the cast makes of others "
                "means nothing",
                dtype_name(dtype), range->least, range->largest);
  out.add(call, message, [&] {
    return Details{.odd = call.operands.empty() ? "" : call.operands.front().name,
                   .why = why + ", and NumPy says nothing of it",
                   .fix = "cast to a dtype that holds them, or clip them before the cast",
                   .cures = kept_by_cast(index, out.options(), call)};
  });
}

// NumPy computed it before any op of LibTorch was called.
void check_array(const RunIndex& index, const OpCall& call, Findings& out) {
  for (const std::string_view cast : {".astype", ".asarray", ".array"})
    if (call.op.ends_with(cast)) return check_array_cast(index, call, out);
  const IntegerRange* range = integer_range(*call.result_dtype());
  if (range == nullptr || !wraps(*range, call.inexact->from) ||
      wraps_as_meant(index, out.options(), call))
    return;
  const std::string message =
      fmt::format("{} in {} is {} and becomes {}", call.op.substr(ops::kPython.size()),
                  dtype_name(range->dtype), number(call.inexact->from), number(call.inexact->to));
  out.add(call, message, [&] {
    Details details{
        .odd = call.operands.empty() ? "" : call.operands.front().name,
        .why = fmt::format("{} holds whole numbers from {:.0f} to {:.0f}; beyond that they wrap "
                           "around, and NumPy says nothing of arrays",
                           dtype_name(range->dtype), range->least, range->largest),
        .fix = "cast before the arithmetic, by astype(), to int64 or a floating dtype",
        .cures = widened_arrays(index, out.options(), call)};
    for (const Operand& operand : call.operands)
      if (const OpCall* made = index.run().call(operand.origin);
          made != nullptr && made->site.line.function == call.site.line.function)
        details.follows.push_back({&far_from_float, made->id});
    return details;
  });
}

// A function of torch made integers of Python's floats.
void check_cut_off(const RunIndex& index, const OpCall& call, Findings& out) {
  const std::string message =
      fmt::format("{} is asked for {} and makes {} of {}", call.op.substr(ops::kPython.size()),
                  dtype_name(*call.result_dtype()), number(call.inexact->to + 0.0),
                  short_number(call.inexact->from));
  out.add(call, message, [&] {
    const CureProposer propose(index, out.options());
    // The line may make integers of integers as well.
    Details details{.why = "integers hold no fraction: it is cut off, and nothing is raised",
                    .cures = {propose.rewrite(call, Dtype::kFloat, "no dtype",
                                              "leave the dtype out, which is then that of the "
                                              "numbers")}};
    add(details.cures, propose.cast_result(call, Dtype::kFloat));
    for (const OpCallId id : index.consumers(call)) {  // "self.seen[i] = torch.tensor(…)"
      const OpCall& copy = index.run().calls[id - 1];
      if (copy.op != "aten::copy_" || copy.operands.empty()) continue;
      const OpCall* maker = index.provenance().trace_back(copy, copy.operands.front()).maker;
      if (maker == nullptr || !is_users_own(maker->site)) continue;
      details.cures.push_back(propose.rewrite(*maker, Dtype::kFloat, "dtype named",
                                              "make the tensor that it is copied to in Float"));
      add(details.cures, propose.ask_for(*maker, Dtype::kFloat));
      add(details.cures, propose.cast_result(*maker, Dtype::kFloat));
      break;
    }
    return details;
  });
}

// The number that a factory, fill_() or masked_fill() is given, of which the integers that it
// writes keep no more than a part; what a position or a colour loses by it is less than is worth
// saying.
const ScalarArgument* number_cut_off(const OpCall& call) {
  const auto dtype = call.result_dtype();
  if (!dtype || !kIntegral.contains(*dtype) || call.outcome != Outcome::kReturned ||
      (ops::facts_of(call.op) & (ops::kFactory | ops::kMask)) == 0)
    return nullptr;
  for (const char* name : {"fill_value", "value"}) {
    const ScalarArgument* scalar = call.scalar(name);
    if (scalar == nullptr || scalar->dtype || !std::isfinite(scalar->value)) continue;
    const double lost = std::fabs(scalar->value - std::trunc(scalar->value));
    if (lost > kWorthSaying * std::fabs(scalar->value)) return scalar;
  }
  return nullptr;
}

std::vector<Cure> filled_in_float(const RunIndex& index, const JudgeOptions& options,
                                  const OpCall& call) {
  const CureProposer propose(index, options);
  std::vector<Cure> cures;
  const OpCall* maker = &call;
  const bool is_made = index.has(call, ops::kFactory) && !index.has(call, ops::kOverwrites);
  if (is_made && call.short_op() == "full" && is_users_own(call.site) && !is_in_cpp(call))
    cures.push_back(propose.rewrite(call, Dtype::kFloat, "no dtype",
                                    "leave the dtype out, which is then that of the number"));
  if (!is_made && !call.operands.empty()) {
    const Operand& filled = call.operands.front();
    if (!filled.is_written) {
      add(cures, propose.cast_operand(call, filled, Dtype::kFloat, "input"));
      return cures;
    }
    maker = index.provenance().trace_back(call, filled).maker;
    if (maker == nullptr || !is_users_own(maker->site)) return {};
  }
  add(cures, propose.ask_for(*maker, Dtype::kFloat));
  add(cures, propose.cast_result(*maker, Dtype::kFloat));
  return cures;
}

bool check_filled(const RunIndex& index, const OpCall& call, Findings& out) {
  const ScalarArgument* scalar = number_cut_off(call);
  const OpCall* outer = index.run().call(call.parent);  // full() calls fill_()
  if (scalar == nullptr || call.site.phase == Phase::kBackward ||
      (outer != nullptr && number_cut_off(*outer) != nullptr))
    return false;
  const std::string name = dtype_name(*call.result_dtype());
  const bool is_asked = call.scalar("dtype") != nullptr;
  const std::string message =
      fmt::format("{} {} {} and makes {} of {}", call.op, is_asked ? "is asked for" : "fills", name,
                  number(std::trunc(scalar->value) + 0.0), short_number(scalar->value));
  out.add(call, message, [&] {
    return Details{.odd = "",
                   .why = "integers hold no fraction: it is cut off, and nothing is raised",
                   .fix = "make the tensor in Float",
                   .cures = filled_in_float(index, out.options(), call)};
  });
  return true;
}

// "count.copy_(count / ranks)": the quotient that is written back, of the integers themselves.
const OpCall* quotient_written(const RunIndex& index, const OpCall& call) {
  const OpCall* made =
      call.operands.size() == 2 ? index.run().call(call.operands.back().origin) : nullptr;
  const bool is_division = made != nullptr && made->short_op().starts_with("div") &&
                           made->operands.front().dtypes == call.operands.front().dtypes;
  return is_division ? made : nullptr;
}

// A fraction that is copied into an integer tensor, as load_state_dict() does into one that was
// made of Python's 1: no arithmetic of the function gives it, as it gives a counter among averages.
bool is_loaded(const RunIndex& index, const OpCall& copy) {
  const OpCall* made = index.run().call(copy.operands.back().origin);
  const bool is_computed = made != nullptr && !ops::is_python(made->op) &&
                           !ops::gives_dtype_to_memory(made->op, made->overload) &&
                           made->site.line.file == copy.site.line.file &&
                           made->site.line.function == copy.site.line.function;
  return kIntegral.contains(*copy.result_dtype()) && copy.operands.back().is_floating() &&
         is_users_own(copy.site) && !is_computed;
}

// "returns[t] = rewards[t] + gamma * returns[t + 1]": the line computes what it writes of what it
// wrote before, so that each cut goes into the next one. Places of pixels are cut once, as meant.
bool is_read_back(const RunIndex& index, const OpCall& copy) {
  const OpCall* made = index.run().call(copy.operands.back().origin);
  if (made == nullptr || !copy.cast || copy.cast->clipped * 4 < copy.cast->looked) return false;
  const auto is_here = [&](const OpCall& at, const Operand&) {
    return at.site.line == copy.site.line;
  };
  const auto makers = index.with_makers(*made, is_here);
  return std::any_of(makers.begin(), makers.end(), [&](const OpCall* at) {
    return at->site.line == copy.site.line &&
           std::any_of(at->operands.begin(), at->operands.end(), [&](const Operand& operand) {
             return operand.origin == copy.operands.front().origin && !operand.is_floating();
           });
  });
}

void check_read_back(const RunIndex& index, const OpCall& call, Findings& out) {
  const std::string name = dtype_name(*call.result_dtype());
  const std::string message =
      fmt::format("{} is written to {} and becomes {}", short_number(call.inexact->from), name,
                  number(call.inexact->to));
  out.add(call, message, [&] {
    return Details{
        .odd = call.operands.front().name,
        .why = fmt::format("{} holds no fraction: copy_ cuts it off, and nothing is raised; the "
                           "line reads what it wrote before, so the cuts add up",
                           name),
        .fix = "make the tensor that it writes to in Float",
        .cures = CureProposer(index, out.options()).widen_written(call)};
  });
}

// What has its dtype from the weights is told with them: they stand still, and the epsilon is 0.
void check_squares(const RunIndex& index, const OpCall& call, Findings& out) {
  if (call.operands.empty()) return;
  const Provenance made = index.provenance().trace_back(call, call.operands.front());
  if (made.parameter != nullptr) return;
  const OpCall* loss = loss_lost_by(index, call);
  const std::string message = fmt::format(
      "squares that an optimizer computes in Half become 0, such as {}{}",
      short_number(call.inexact->from), loss == nullptr ? "" : "; the loss becomes NaN after it");
  out.add(call, message, [&] {
    const CureProposer propose(index, out.options());
    std::vector<Cure> cures;
    if (made.maker != nullptr) {
      add(cures, propose.ask_for(*made.maker, Dtype::kFloat));
      add(cures, propose.cast_result(*made.maker, Dtype::kFloat));
    }
    return Details{.odd = call.operands.front().name,
                   .why =
                       "Half has no number between 0 and 6e-08, and a square is smaller than "
                       "what it is of: an update that divides by its root is far too large",
                   .fix = "keep the squares in Float, or in BFloat16, which has its range",
                   .cures = std::move(cures),
                   .severity = loss == nullptr ? Severity::kWarning : Severity::kError};
  });
}

void check_quotient(const OpCall& call, const OpCall& division, Findings& out) {
  const Dtype dtype = *call.result_dtype();
  const std::string message =
      fmt::format("the quotient {} is written back to {} and becomes {}",
                  short_number(call.inexact->from), dtype_name(dtype), number(call.inexact->to));
  out.add(call, message, [&] {
    return Details{.odd = call.operands.front().name,
                   .why = fmt::format("{} holds no fraction: copy_ cuts it off, and nothing is "
                                      "raised; the division{} gave {}",
                                      dtype_name(dtype), at_place(division.site),
                                      dtype_word(call.operands.back())),
                   .fix =
                       "cast the integers to Float before they are divided, or give the "
                       "quotient as a new tensor"};
  });
}

// Fractions that a cast to integers cuts off: a weight that is cast to what another is stored in.
std::vector<Cure> kept_floating(const CureProposer& propose, const OpCall& cast) {
  if (!is_users_own(cast.site)) return {};
  std::vector<Cure> cures;
  if (!is_in_cpp(cast))
    cures.push_back(
        propose.rewrite(cast, Dtype::kFloat, "no dtype", "leave out the cast to integers"));
  add(cures, propose.cast_result(cast, Dtype::kFloat));
  return cures;
}

// The lines of the user's own that rounded numbers from Double to Float before they were
// subtracted, which leaves what rounding made of them; all that rounded them where none were.
std::vector<const OpCall*> rounded_before_difference(const RunIndex& index, const OpCall& call) {
  struct Reached {
    const OpCall* call;
    bool is_before;  // a difference stands between it and the call
  };
  std::vector<Reached> reached = {{&call, false}};
  std::set<std::pair<OpCallId, bool>> seen;
  std::vector<const OpCall*> before, behind;
  const auto add = [](std::vector<const OpCall*>& to, const OpCall& one) {
    const bool is_known = std::any_of(to.begin(), to.end(), [&](const OpCall* its) {
      return its->site.line == one.site.line && its->op == one.op;
    });
    if (!is_known) to.push_back(&one);
  };
  for (size_t next = 0; next < reached.size() && next < kMaxFollowed; ++next) {
    const auto [at, is_before] = reached[next];
    const bool from_double =
        (index.has(*at, ops::kCast) || ops::is_python(at->op)) && source_of(*at) == Dtype::kDouble;
    if (at != &call && from_double && at->result_dtype() == Dtype::kFloat && is_users_own(at->site))
      add(is_before ? before : behind, *at);
    const bool subtracts = index.has(*at, ops::kSubtracts);
    for (const Operand& operand : at->operands) {
      const OpCall* made = index.run().call(operand.origin);
      if (made != nullptr && seen.insert({made->id, is_before || subtracts}).second)
        reached.push_back({made, is_before || subtracts});
    }
  }
  return before.empty() ? behind : before;
}

// What is beyond the end of 16 bits was cast to the dtype of what it is added to: that is made in
// Float.
std::vector<Cure> made_wide(const RunIndex& index, const CureProposer& propose,
                            const OpCall& call) {
  std::vector<Cure> cures;
  for (const Operand& operand : call.operands) {
    const OpCall* maker = index.provenance().trace_back(call, operand).maker;
    if (maker == nullptr || !operand.dtypes.within(kLowPrecision)) continue;
    add(cures, propose.cast_giver(*maker, Dtype::kFloat));
  }
  return cures;
}

// A sum of whole numbers in 16 bits that is another whole number, and is read as an integer: a
// length, a number of rows.
bool counts(const RunIndex& index, const OpCall& call) {
  const double from = call.inexact->from, to = call.inexact->to;
  const auto dtype = call.result_dtype();
  if (call.short_op() != "sum" || !dtype || !kLowPrecision.contains(*dtype) ||
      std::floor(from) != from || std::floor(to) != to || from == to)
    return false;
  const auto readers = index.consumers(call);
  return std::any_of(readers.begin(), readers.end(), [&](OpCallId id) {
    const auto read_as = index.run().call(id)->result_dtype();
    return index.has(*index.run().call(id), ops::kCast) && read_as && kIntegral.contains(*read_as);
  });
}

// The op alone, or the cast that rounded left to what reads the result: that casts it.
std::vector<Cure> moved(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                        const Rounding& rounding) {
  const CureProposer propose(index, options);
  const OpCall* rounded = rounding.op;
  if (counts(index, call)) {
    const auto cure = propose.cast_operand(call, call.operands.front(), Dtype::kLong, "input");
    return cure ? std::vector{*cure} : std::vector<Cure>();
  }
  const bool is_cut = index.has(call, ops::kCast) && kIntegral.contains(*call.result_dtype()) &&
                      !call.operands.empty() && call.operands.back().is_floating();
  if (is_cut && call.operands.size() == 2) return propose.widen_written(call);
  if (is_cut) return kept_floating(propose, call);
  // Neighbours that Float does not tell apart: the cast comes too early.
  const bool falls = index.has(call, ops::kCast) && kBeyond.contains(*call.result_dtype()) &&
                     !call.operands.empty() && is_wide(call.operands.back());
  if (falls) {
    std::vector<Cure> cures;
    for (const Dtype dtype : {source_of(call), Dtype::kDouble})  // beside Float it is promoted to
      add(cures, propose.keep_in(call, dtype));
    return cures;
  }
  if (rounded == nullptr) {
    std::vector<Cure> cures = propose.compute_in_float(call);
    // Ids that are written into what a line makes in Float, and asks for no dtype.
    const OpCall* made = call.operands.empty()
                             ? nullptr
                             : index.provenance().trace_back(call, call.operands.front()).maker;
    const bool is_float = index.is_unasked(made) && made->result_dtype() == Dtype::kFloat &&
                          !is_running_sum(index, *made);
    add(cures,
        cures.empty() && is_float ? propose.cast_result(*made, Dtype::kDouble) : std::nullopt);
    return cures;
  }
  const Dtype source = source_of(*rounded);
  const bool is_constructed = propose.line_of(*rounded).find("Tensor(") != std::string::npos;
  if (kIntegral.contains(source) && is_constructed)
    return {propose.rewrite(*rounded, source, "constructor",
                            "make it by torch.as_tensor(), which keeps the dtype")};
  if (rounded->operands.size() == 2 && index.has(*rounded, ops::kCast))
    return propose.widen_written(*rounded);
  if (!is_users_own(rounded->site) || rounded->site.phase == Phase::kBackward) return {};
  std::vector<Cure> cures;
  if (is_lowered_by_autocast(*rounded)) {
    add(cures, propose.leave_autocast(*rounded));
    return cures;
  }
  if (rounded->result_dtype() == Dtype::kFloat && source == Dtype::kDouble) {
    for (const OpCall* one : rounded_before_difference(index, call))
      add(cures, propose.keep_in(*one, source));
    return cures;
  }
  if (!kLowPrecision.contains(*rounded->result_dtype())) return {};
  if (!std::isfinite(call.inexact->to)) cures = made_wide(index, propose, call);
  if (rounds_integers(index, *rounded)) {
    for (const Operand& operand : rounded->operands) {
      const bool is_low = operand.dtypes.within(kLowPrecision);
      add(cures, is_low ? propose.cast_operand(*rounded, operand, Dtype::kFloat, operand.name)
                        : std::nullopt);
    }
    return cures;
  }
  add(cures,
      rounding.reader == nullptr ? std::nullopt : propose.keep_buffer(*rounded, *rounding.reader));
  const bool is_made = rounded->operands.empty() && rounded->scalar("dtype") != nullptr;
  add(cures, is_made ? propose.ask_for(*rounded, Dtype::kFloat) : std::nullopt);
  add(cures, propose.keep_in(*rounded, Dtype::kFloat));
  if (is_made && !is_in_cpp(*rounded))
    cures.push_back(propose.rewrite(*rounded, Dtype::kFloat, "dtype named",
                                    "make in Float all that has its dtype by the same name"));
  // The bound of a logarithm was rounded to 1, and so may be what it bounds.
  if (!std::isfinite(call.inexact->to)) add(cures, propose.compute_in_float(call));
  return cures;
}

// What was reported of the calls that made the operands.
std::vector<Cause> causes(const OpCall& call) {
  std::vector<Cause> found;
  for (const Operand& operand : call.operands)
    if (operand.origin != kNoOpCall && operand.origin != call.id)
      for (const Rule* rule :
           {&far_from_float, &low_precision_index, &lossy_cast, &eps_underflow, &first_non_finite})
        found.push_back({rule, operand.origin});
  return found;
}

// Of numbers, not of one: which are the largest, or in which order they are.
bool orders(const OpCall& call) {
  const std::string op = call.short_op();
  return op == "topk" || op == "sort" || op == "argsort";
}

std::string message_of(const OpCall& call, Dtype answer, bool is_lost) {
  const double from = call.inexact->from, to = call.inexact->to;
  if (orders(call) && call.short_op() == "topk")
    return fmt::format("{} chooses {} of {} numbers that it does not in Double", call.op,
                       number(to), number(from));
  if (orders(call))
    return fmt::format("{} puts {} of {} numbers elsewhere than in Double", call.op, number(to),
                       number(from));
  if (ops::facts_of(call.op) & ops::kCast) {
    if (kBeyond.contains(answer))
      return fmt::format("{} became {} in {}, and so did its neighbour", number(from), number(to),
                         dtype_name(answer));
    return fmt::format("{} became {} in a cast to {}", std::isnan(from) ? "NaN" : number(from),
                       number(to), dtype_name(answer));
  }
  if (answer == Dtype::kBool)
    return fmt::format("{} is true for {} numbers, and for {} in Double", call.op, number(to),
                       number(from));
  if (call.short_op().starts_with("arg"))
    return fmt::format("{} gives index {}, and {} in Double", call.op, number(to), number(from));
  if (answer == Dtype::kLong) return fmt::format("{} gives other indices than in Double", call.op);
  if (call.short_op().starts_with("unique") || call.short_op().starts_with("_unique"))
    return fmt::format("{} gives {} distinct numbers, and {} in Double", call.op, number(to),
                       number(from));
  if (is_lost)
    return fmt::format("{} gives {}, and {} in Double", call.op,
                       std::isnan(to) ? "NaN" : "an infinity", short_number(from));
  return fmt::format("{} gives {}, and {} in Double", call.op, short_number(to),
                     short_number(from));
}

std::string off_text(double off) {
  if (!(off < 100)) return "not what it should be";  // in per cent it is a riddle
  return fmt::format("{:.{}f} % off", off * 100, off < 0.0995 ? 1 : 0);
}

// "; the loss is 3.1 % off": where it arrives, and how far off it is there.
std::string arrival_text(const InexactValue& inexact, Phase phase) {
  switch (inexact.arrival) {
    case Arrival::kLoss:
      return "; the loss is " + off_text(inexact.off);
    case Arrival::kRead:
      return "; a number that the program reads is " + off_text(inexact.off);
    case Arrival::kKept:
      return (phase == Phase::kBackward ? "; the gradient is " : "; what comes of it is ") +
             off_text(inexact.off);
    case Arrival::kProduct:
      return "; what a layer is given is " + off_text(inexact.off);
    case Arrival::kLost:
    case Arrival::kUnknown:
      break;
  }
  return "";
}

// Where it cannot be followed, nobody knows whether it matters.
std::string lost_text(const RunIndex& index, const InexactValue& inexact) {
  if (inexact.arrival != Arrival::kLost) return "";
  const OpCall* at = index.run().call(inexact.arrived_at);
  return fmt::format("; it is not known what comes of it{}",
                     at == nullptr ? "" : " behind " + made_by(*at));
}

// What a layer of the model is given, or a product inside of one, by a line of the user's own that
// rounded numbers of which no weight has made any: time steps, positions, decays; or by a product
// of these in a region of autocast, wherever that stands. Behind it 16 bits are of no use to
// anybody.
bool is_of_features(const RunIndex& index, const OpCall& call) {
  const Arrival arrival = call.inexact->arrival;
  const OpCall* layer = index.run().call(call.inexact->arrived_at);
  if ((arrival != Arrival::kProduct && arrival != Arrival::kLost) || layer == nullptr) return false;
  const OpCall* rounded = rounding_followed(index, call).op;
  if (rounded == nullptr) {
    rounded = rounded_by(index, call).op;
    if (rounded == nullptr || !is_lowered_by_autocast(*rounded)) return false;
  } else if (!index.has(*rounded, ops::kCast | ops::kFactory) || rounded->autocast.is_wrapper ||
             !is_users_own(rounded->site)) {
    return false;
  }
  if (rounded->site.phase == Phase::kBackward) return false;
  const std::vector<const OpCall*> makers = index.with_makers(*rounded);
  if (makers.size() > kMaxFollowed ||
      std::any_of(makers.begin(), makers.end(), [&](auto* made) { return reads_weight(*made); }))
    return false;
  return index.has(*layer, ops::kMultiplies | ops::kProduct) &&
         (reads_weight(*layer) || (call.inexact->off >= kFarOff && !layer->site.module.empty()));
}

// A solver whose steps are in Double, and whose states are not, chooses its steps by what rounding
// leaves of an error: Double chooses others. What it threw away says nothing of what it keeps.
bool may_be_chosen(const RunIndex& index, const InexactValue& inexact, const Rounding& rounding) {
  if (inexact.arrival != Arrival::kKept || rounding.op == nullptr ||
      rounding.op->result_dtype() != Dtype::kFloat || ops::is_python(rounding.op->op) ||
      source_of(*rounding.op) != Dtype::kDouble)
    return false;
  const auto makers = index.with_makers(*rounding.op);
  return std::any_of(makers.begin(), makers.end(), [&](const OpCall* made) {
    return made != rounding.op &&
           std::any_of(made->operands.begin(), made->operands.end(), [](const Operand& operand) {
             return operand.dtypes == DtypeSet(Dtype::kFloat) && !operand.is_wrapped_number;
           });
  });
}

Severity severity_of(const InexactValue& inexact, bool is_chosen, bool loses_loss) {
  if (loses_loss) return Severity::kError;
  const bool is_note = inexact.arrival == Arrival::kLost || is_chosen;
  return is_note ? Severity::kNote : Severity::kWarning;
}

// Of a cast to integers, over the run: numbers between -1 and 1 beside whole ones, and what is
// left of them is read as floating-point numbers again.
void check_fractions(const RunIndex& index, const OpCall& call, Findings& out) {
  constexpr uint64_t kFewestLooked = 64;
  const auto dtype = call.result_dtype();
  if (!call.cast || !dtype || !kIntegral.contains(*dtype)) return;
  const auto [looked, flushed] = std::pair(call.cast->looked, call.cast->flushed);
  if (looked < kFewestLooked || call.cast->clipped * 10 > flushed || flushed * 4 < looked) return;
  const auto readers = index.consumers(call);
  const bool is_read = std::any_of(readers.begin(), readers.end(), [&](OpCallId id) {
    const OpCall& reader = *index.run().call(id);
    const auto read_as = reader.result_dtype();
    const bool computes = index.has(reader, ops::kCast) || index.promotes(reader);
    return computes && read_as && kFloating.contains(*read_as);
  });
  if (!is_read || index.is_inside_cast(call)) return;
  const std::string message = fmt::format(
      "{:.0f} % of the numbers other than 0 that are cast to {} are fractions, and become 0",
      100.0 * static_cast<double>(flushed) / static_cast<double>(looked), dtype_name(*dtype));
  out.add(call, message, [&] {
    return Details{
        .odd = call.operands.empty() ? "" : call.operands.front().name,
        .why = fmt::format("integers hold no fractions: a cast cuts them off; {} numbers "
                           "were looked at",
                           looked),
        .fix = "keep it in floating point: what reads it casts it back",
        .cures = kept_floating(CureProposer(index, out.options()), call)};
  });
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  if (check_filled(index, call, out)) return;
  if (!call.inexact) return check_fractions(index, call, out);
  const auto dtype = call.result_dtype();
  // That its operands are promoted says nothing of its numbers.
  if (!dtype || call.outcome != Outcome::kReturned || out.is_reported(call, &silent_promotion))
    return;
  if (ops::is_numpy(call.op)) return check_array(index, call, out);
  if (ops::is_python(call.op)) return check_cut_off(index, call, out);
  if (squares_vanish(call)) return check_squares(index, call, out);
  InexactValue inexact = *call.inexact;
  const double from = inexact.from, to = inexact.to;
  if (is_of_features(index, call))
    inexact.arrival = Arrival::kProduct;
  else if (inexact.arrival == Arrival::kProduct)
    return;
  const bool is_cast = index.has(call, ops::kCast);
  const bool is_answer = *dtype == Dtype::kBool || kIntegral.contains(*dtype);
  const IntegerRange* range = integer_range(*dtype);
  if (range != nullptr && wraps(*range, from))
    return check_wrapped(index, call, is_cast, *range, out);
  if (const bool is_few = is_cast && call.op == "aten::copy_" && !call.operands.empty() &&
                          from != to && std::trunc(from) == to &&
                          element_count(call.operands.front()) < kFewest;
      is_few) {
    if (const OpCall* division = quotient_written(index, call))
      return check_quotient(call, *division, out);
    if (is_read_back(index, call)) return check_read_back(index, call, out);
    if (to != 0 || !is_loaded(index, call)) return;
  }
  const bool falls = is_cast && kBeyond.contains(*dtype) && !call.operands.empty() &&
                     call.operands.back().dtypes.within(kWide);
  if (is_cast && !kIntegral.contains(*dtype) && !falls) return;
  // Numbers of a model that computes in 16 bits are near each other by its authors' wish.
  const OpCall* made = orders(call) ? rounding_followed(index, call).op : nullptr;
  if (orders(call) && (made == nullptr || !made->autocast.enabled.empty())) return;
  const bool is_lost = !std::isfinite(to);
  const bool is_count = call.short_op().find("unique") != std::string::npos || counts(index, call);
  const bool arrives = inexact.arrival != Arrival::kUnknown && inexact.off >= kWorthSaying;
  if (!is_lost && !is_answer && !is_count && !falls && !arrives && !orders(call) &&
      !(std::fabs(to - from) >= kWorthSaying * std::fabs(from)))
    return;
  const bool divides = ops::parse_op_name(call.op).base == "div";  // which the tracer judged
  if (std::isinf(to) && to < 0 && from < kMasked && !divides) return;
  if (call.site.phase == Phase::kBackward && scales_losses(index, call.process)) return;
  const OpCall* lost_loss = is_lost ? loss_lost_by(index, call) : nullptr;
  const std::string comes_of_it =
      lost_loss == nullptr ? arrival_text(inexact, call.site.phase)
                           : fmt::format("; the loss that backward() is called on is {}",
                                         lost_loss->non_finite.front().is_nan ? "NaN" : "infinite");
  out.add(call, message_of(call, *dtype, is_lost) + comes_of_it, [&] {
    const Rounding rounding = rounded_by(index, call);
    const bool is_chosen = may_be_chosen(index, inexact, rounding);
    const OpCall* rounded = rounding.op;
    const std::string name = rounded != nullptr ? dtype_name(*rounded->result_dtype()) : "";
    // The operand's maker is that of the first call, which read other numbers, perhaps.
    const bool is_raised = rounded != nullptr && !call.operands.empty() &&
                           !call.operands.front().dtypes.within(DtypeSet(*rounded->result_dtype()));
    const bool is_cut = is_cast && kIntegral.contains(*dtype) && !call.operands.empty() &&
                        call.operands.back().is_floating();
    const std::string why =
        is_cut && std::isnan(from)
            ? "integers have no NaN: what a cast makes of one is the processor's"
        : rounded == nullptr && is_cut ? "integers hold no fractions: a cast cuts them off"
        : rounded == nullptr
            ? fmt::format("{} has too few bits, or too small a range, for what it computes",
                          falls || call.operands.empty() ? dtype_name(*dtype)
                                                         : dtype_word(call.operands.front()))
            : fmt::format("an operand was rounded to {}{} before, and here that changes the result",
                          name, at_place(rounded->site));
    const bool is_of_float =
        std::none_of(call.operands.begin(), call.operands.end(), [](const Operand& operand) {
          return operand.dtypes.intersects(kLowPrecision) || !operand.is_floating();
        });
    std::vector<Cure> cures = moved(index, out.options(), call, rounding);
    auto held = std::isfinite(call.inexact->to)
                    ? std::nullopt
                    : CureProposer(index, out.options()).hold_scores(call);
    if (held) cures.insert(cures.begin(), *std::move(held));
    std::vector<Cause> follows = causes(call);
    const OpCall* epsilon = is_lost ? epsilon_lost(index, call, out) : nullptr;
    const auto holds = epsilon == nullptr ? std::nullopt : epsilon->result_dtype();
    if (holds) {
      cures.insert(cures.begin(), CureProposer(index, out.options()).fit_epsilon(*epsilon, *holds));
      follows.insert(follows.begin(), {&eps_underflow, epsilon->id});
    }
    return Details{
        .odd = call.operands.empty() || is_raised ? "" : call.operands.front().name,
        .why =
            why + "; the same was computed in Double beside it" + lost_text(index, inexact) +
            (is_chosen ? "; the number that was rounded was computed of Float ones, as a solver's "
                         "step is, so that Double may have chosen another"
                       : ""),
        .fix = rounded == nullptr && is_of_float
                   ? "compute it in Double, from the sums and squares that lead to it"
               : rounded == nullptr
                   ? "compute this part in Float, and cast the result"
                   : fmt::format("keep it in {} from there on, and cast the result",
                                 name != "Float"                           ? "Float"
                                 : kIntegral.contains(source_of(*rounded)) ? "Long"
                                                                           : "Double"),
        .cures = std::move(cures),
        .severity = severity_of(inexact, is_chosen, lost_loss != nullptr),
        .follows = std::move(follows)};
  });
}

}  // namespace

const Rule far_from_float = {
    .doc = {.id = "far-from-float",
            .severity = Severity::kWarning,
            .summary =
                "an op's result is far from what it is in Double, and so is what comes of it",
            .why = "Rounding is small until numbers that are near each other are subtracted or "
                   "compared, an angle is taken, or a whole number comes to the end of its dtype. "
                   "The tracer computes some calls on the CPU once more in Double, on what their "
                   "operands would be there.",
            .fix = "Compute it in Float from where its operands are made, and cast the result.",
            .example = R"(
op aten::_to_copy self=Float[1000] dtype:=BFloat16 -> BFloat16[1000] cast 1000 0 0 at noise.py:5 phase forward
op aten::sub.Tensor self=Double[]$ other=BFloat16[2]<#1 self:=1 -> BFloat16[2] inexact 0.0009 0 at noise.py:6 phase forward
# EXPECT noise.py:6: warning: aten::sub gives 0, and 0.0009 in Double [far-from-float]
# EXPECT-FIX keep it in Float from there on, and cast what is computed of it, noise.py:5
# A table that was lowered with its module: the module's own line reads it. One that nothing says is of a module is cast.
op aten::_to_copy self=Float[32] dtype:=BFloat16 -> BFloat16[32] cast 32 0 0 at table.py:9 main phase load
op aten::mul.Tensor self=BFloat16[32]<#3 other=Double[]$ other:=300 -> BFloat16[32] at table.py:4 Rotary.forward in net.rotary (Rotary) phase forward
op aten::cos self=BFloat16[32]<#4 -> BFloat16[32] inexact 0.7 -0.9 at table.py:5 Rotary.forward in net.rotary (Rotary) phase forward
# EXPECT table.py:5: warning: aten::cos gives -0.9, and 0.7 in Double [far-from-float]
# EXPECT-FIX keep the buffer in its dtype when its module is cast, table.py:4
op aten::_to_copy self=Float[32] dtype:=BFloat16 -> BFloat16[32] cast 32 0 0 at table.py:3 Rotary.forward in net.rotary (Rotary) phase forward
op aten::sin self=BFloat16[32]<#6 -> BFloat16[32] inexact 0.7 -0.9 at table.py:7 Rotary.forward in net.rotary (Rotary) phase forward
# EXPECT table.py:7: warning: aten::sin gives -0.9, and 0.7 in Double [far-from-float]
# EXPECT-FIX keep it in Float from there on, and cast what is computed of it, table.py:3
op python::torch.tensor list[float]:=Double -> Long[600] inexact 0.7 0 at data.py:3 phase load
# EXPECT data.py:3: warning: torch.tensor is asked for Long and makes 0 of 0.7 [far-from-float]
# EXPECT-FIX leave the dtype out, which is then that of the numbers, data.py:3
# What 16 bits round is near.
op aten::sub.Tensor self=Double[]$ other=BFloat16[2]<#1 self:=1 -> BFloat16[2] at noise.py:7 phase forward
# Equal calls that read other tensors are one, with the first one's operands: the tracer followed the numbers.
op aten::_to_copy self=Float[16] dtype:=BFloat16 -> BFloat16[16] at replay.py:28 phase forward
op aten::cos self=Float[16] -> Float[16] inexact 0.5 0.9 by #10 loss 0.19 at dit.py:12 phase forward
# EXPECT dit.py:12: warning: aten::cos gives 0.9, and 0.5 in Double; the loss is 19 % off [far-from-float]
# EXPECT-FIX keep it in Float from there on, and cast what is computed of it, replay.py:28
# Time steps that a line of the user's own rounded before a layer read their angles. An official pipeline's line is left alone, and so is
# what weights made.
op aten::_to_copy self=Float[8] dtype:=BFloat16 -> BFloat16[8] cast 8 0 0 at glue.py:39 phase forward
op aten::cos self=Float[8,32] -> Float[8,32] inexact 0.9 -0.8 by #12 product 0.4 #14 at model.py:12 phase forward
op aten::linear input=Float[8,64]<#13 weight=Float[64,64]%time_in.weight bias=undefined -> Float[8,64] at model.py:13 phase forward
# EXPECT model.py:12: warning: aten::cos gives -0.8, and 0.9 in Double; what a layer is given is 40 % off [far-from-float]
# EXPECT-FIX keep it in Float from there on, and cast what is computed of it, glue.py:39
op aten::linear input=Float[8,64] weight=Float[64,64]%out.weight bias=undefined -> Float[8,64] at model.py:15 phase forward
op aten::_to_copy self=Float[8,64]<#15 dtype:=BFloat16 -> BFloat16[8,64] cast 8 0 0 at glue.py:45 phase forward
op aten::cos self=Float[8,64] -> Float[8,64] inexact 0.9 -0.8 by #16 product 0.4 #14 at model.py:22 phase forward
op aten::bitwise_not self=Byte[64] -> Byte[64] at mask.py:3 phase forward
op aten::add.Tensor self=Byte[64]<#18 other=Bool[64] -> Byte[64] inexact 256 0 at mask.py:3 phase forward
# EXPECT mask.py:3: warning: aten::add in Byte is 256 and becomes 0 [far-from-float]
# EXPECT-FIX cast it to Bool before ~, which flips the bits of a byte, mask.py:3
# An optimizer divides by the root of the squares. BFloat16 has the range of Float.
op aten::zeros_like self=Float[64]%net.w dtype:=Half -> Half[64] at adam.py:4 Adam.step phase optimizer
op aten::addcmul_ self=Half[64]<#20!out tensor1=Half[64] tensor2=Half[64] value:=0.001 -> Half[64] inexact 1.6e-08 0 at adam.py:7 Adam.step phase optimizer
# EXPECT adam.py:7: warning: squares that an optimizer computes in Half become 0, such as 1.6e-08 [far-from-float]
# EXPECT-FIX cast the result of zeros_like to Float, adam.py:4
op aten::addcmul_ self=BFloat16[64]!out tensor1=BFloat16[64] tensor2=BFloat16[64] value:=0.001 -> BFloat16[64] at adam.py:17 Adam.step phase optimizer
op aten::zeros_like self=Half[64]%net.v -> Half[64] at adam.py:24 Adam.step phase optimizer
op aten::addcmul_ self=Half[64]<#23!out tensor1=Half[64] tensor2=Half[64] value:=0.001 -> Half[64] inexact 1.6e-08 0 at adam.py:27 Adam.step phase optimizer
# The line that lowered the table lowered parameters, too.
op aten::_to_copy self=Float[32,32]^^ dtype:=BFloat16 -> BFloat16[32,32] cast 1024 0 0 at table.py:9 main phase load
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
