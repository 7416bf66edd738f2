// Finds: any op call or function that was refused for a dtype and that no other rule speaks of:
// integers, bool and complex beside floating tensors, dtypes that an op does not take, a number
// that does not fit, a result that cannot be written into what was given for it.
// Misses: refusals whose message says nothing of dtypes, of ops that nobody measured.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/follow_links.h"
#include "ops/arguments.h"
#include "platform/text.h"
#include "rules/contracts/pattern.h"
#include "rules/cures/cures.h"
#include "rules/engine/foreign_call.h"
#include "rules/engine/formatting.h"
#include "rules/engine/mix.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/scaled_product.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

constexpr DtypeSet kIntegers = kIntegral | Dtype::kBool;

std::string noun(const Operand& operand) {
  return operand.name == "self" && !operand.is_written ? "input" : operand.name;
}

bool is_tensor(const Operand& operand) {
  return operand.kind != TensorKind::kUndefined && !operand.is_wrapped_number &&
         operand.dtypes.size() == 1;
}

// Indices and masks are integers or bool beside any data: they are no side of a mismatch.
bool is_index(const Operand& operand) {
  return (ops::argument_facts(operand.name) & (ops::kIndex | ops::kCondition)) != 0;
}

// A refusal, as its rule sees it: the call to speak of, what it said, and the dtypes in that.
struct RefusedCall {
  const OpCall& call;
  const std::string& error;
  std::vector<Dtype> named;
};

// What is known beside the call.
struct Judged {
  const RunIndex& index;
  const contracts::Contracts& contracts;
  CureProposer propose;
  const LineText& line_text;
};

// The contracts of the LibTorch that said no.
std::optional<size_t> runtime_of(const Judged& judged, const OpCall& call) {
  return judged.contracts.find(call.device_type(), judged.index.run().process_of(call).libtorch);
}

contracts::Acceptance acceptance_of(const Judged& judged, const OpCall& call) {
  const auto runtime = runtime_of(judged, call);
  return runtime ? judged.contracts.ask(*runtime, call).acceptance
                 : contracts::Acceptance::kUnknown;
}

// The same, were the operand of another dtype, and with it those that shared its own: an index
// alone, since it is no side of anything.
contracts::Acceptance acceptance_with(const Judged& judged, const OpCall& call, const Operand& odd,
                                      Dtype dtype) {
  OpCall changed = call;
  for (Operand& operand : changed.operands) {
    const bool is_twin =
        is_tensor(operand) && !is_index(operand) && !is_index(odd) && operand.dtypes == odd.dtypes;
    if (is_twin || operand.name == odd.name) operand.dtypes = dtype;
  }
  return acceptance_of(judged, changed);
}

// The dtypes that the op was measured to take in place of the odd one's, and to refuse.
struct Choice {
  DtypeSet taken, refused;
};

Choice choice_for(const Judged& judged, const OpCall& call, const Operand& odd) {
  Choice choice;
  for (const char letter : contracts::kLetters) {
    const Dtype dtype = contracts::dtype_of(letter);
    const contracts::Acceptance acceptance = acceptance_with(judged, call, odd, dtype);
    if (acceptance == contracts::Acceptance::kAccepts) choice.taken |= dtype;
    if (acceptance == contracts::Acceptance::kRejects) choice.refused |= dtype;
  }
  return choice;
}

// "Float, Double, Half, BFloat16 and the complex dtypes": a kind of dtypes by its name where all of
// it that was measured is among them.
std::string words_of(DtypeSet dtypes) {
  constexpr std::pair<DtypeSet, const char*> kKinds[] = {
      {DtypeSet(Dtype::kLong) | Dtype::kInt | Dtype::kShort | Dtype::kChar | Dtype::kByte,
       "integers"},
      {kComplex, "the complex dtypes"},
      {DtypeSet(Dtype::kFloat8_e4m3fn) | Dtype::kFloat8_e5m2, "float8"},
  };
  std::vector<std::string> names;
  DtypeSet left = dtypes;
  for (const Dtype dtype : {Dtype::kFloat, Dtype::kDouble, Dtype::kHalf, Dtype::kBFloat16}) {
    if (left.contains(dtype)) names.push_back(dtype_name(dtype));
    left = left - dtype;
  }
  for (const auto& [kind, name] : kKinds) {
    if ((left & kind) != kind) continue;
    names.push_back(name);
    left = left - kind;
  }
  for (const char letter : contracts::kLetters) {
    const Dtype dtype = contracts::dtype_of(letter);
    if (left.contains(dtype)) names.push_back(dtype_name(dtype));
  }
  if (names.size() < 2) return names.empty() ? "" : names.front();
  const std::string last = std::move(names.back());
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

bool names(const RefusedCall& refusal, DtypeSet dtypes) {
  return std::any_of(refusal.named.begin(), refusal.named.end(),
                     [&](Dtype dtype) { return dtypes.contains(dtype); });
}

std::vector<const Operand*> sides_of(const RefusedCall& refusal) {
  std::vector<const Operand*> sides, named;
  for (const Operand& operand : refusal.call.operands) {
    if (!is_tensor(operand) || is_index(operand)) continue;
    sides.push_back(&operand);
    if (names(refusal, operand.dtypes)) named.push_back(&operand);
  }
  const auto differs = [&](const Operand* side) { return side->dtypes != named.front()->dtypes; };
  const bool tell_all = !named.empty() && std::any_of(named.begin(), named.end(), differs);
  return tell_all ? named : sides;
}

struct Mismatch {
  const Operand* odd;
  const Operand* other;
};

// The fewest are odd. On a tie what is real beside complex data is: a cast of the other loses its
// imaginary part. Then an integer beside floating data, since training computes in floating
// dtypes; then what is no parameter; then the later one, as LibTorch goes by the first.
std::optional<Mismatch> mismatch(const RefusedCall& refusal) {
  const std::vector<const Operand*> sides = sides_of(refusal);
  std::map<uint64_t, int> votes;
  for (const Operand* side : sides) ++votes[side->dtypes.bits()];
  if (votes.size() < 2) return std::nullopt;
  const auto rank = [&](const Operand* side) {
    return std::tuple(votes[side->dtypes.bits()], side->dtypes.within(kComplex),
                      !side->dtypes.within(kIntegers), !side->parameter.empty(),
                      -(side - refusal.call.operands.data()));
  };
  const Operand* odd = *std::min_element(
      sides.begin(), sides.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  const Operand* other = *std::max_element(
      sides.begin(), sides.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return Mismatch{odd, other};
}

// What a finding of this rule says.
struct Words {
  std::string message, why, fix, odd;
  std::vector<Cure> cures;

  void add(std::optional<Cure> cure) {
    if (cure) cures.push_back(*std::move(cure));
  }
};

// Here, or where it is made: that first where it is read again, and the run had died by then.
void cast(const Judged& judged, const OpCall& call, const Operand& odd, Dtype dtype, Words& words) {
  const bool chooses =
      (ops::argument_facts(odd.name) & (ops::kIndex | ops::kCondition | ops::kLabels)) != 0;
  if (chooses) {
    for (Cure& cure : judged.propose.cast_chooser(call, odd, dtype, noun(odd)))
      words.add(std::move(cure));
    return;
  }
  words.add(judged.propose.cast_floats_alone(call, odd));
  if (!odd.is_floating()) words.add(judged.propose.cast_for_model(call, odd, dtype));
  if (kIntegral.contains(*odd.dtypes.single()) && dtype == Dtype::kFloat)
    words.add(judged.propose.cast_drawn(call, odd, dtype));
  const OpCall* maker = judged.index.provenance().trace_back(call, odd).maker;
  const bool is_kept = maker == nullptr || CureProposer::is_learned(odd);
  auto made = is_kept ? std::nullopt : judged.propose.cast_result(*maker, dtype);
  if (made && judged.propose.is_made_for_more(call, maker))
    words.add(std::exchange(made, std::nullopt));
  if (dtype == Dtype::kFloat) {
    for (Cure& cure : judged.propose.raise_operand(call, odd, noun(odd)))
      words.add(std::move(cure));
  } else {
    words.add(judged.propose.cast_operand(call, odd, dtype, noun(odd)));
  }
  words.add(std::move(made));
}

// A line that casts all tensors of an object has cast a mask with them.
bool was_mask(const Judged& judged, const OpCall& call, const Operand& odd) {
  const OpCall* cast = judged.index.provenance().trace_back(call, odd).maker;
  return cast != nullptr && judged.index.has(*cast, ops::kCast) && !cast->operands.empty() &&
         cast->operands.back().dtypes == DtypeSet(Dtype::kBool);
}

// "Use the `^` or `logical_xor()` operator instead.", "If you are trying to invert a mask, use the
// `~` …": LibTorch knows best.
std::string own_advice(std::string_view error) {
  for (const std::string_view beginning : {". Use ", ". If you are trying to "}) {
    const size_t begin = error.find(beginning);
    if (begin == error.npos) continue;
    const std::string_view advice = error.substr(begin + 2);
    return fmt::format("as LibTorch says: {}", advice.substr(0, advice.find_first_of(".\n")));
  }
  return "";
}

// How the line is rewritten by that; "" where it is not.
std::string advised(const RefusedCall& refusal) {
  for (const char* sign : {"^", "~"}) {
    if (refusal.error.find(fmt::format("`{}`", sign)) != std::string::npos) return sign;
  }
  return "";
}

// The dtype to cast to: one that was measured to be taken, Float before integers where either is,
// or one that the message asks for where nothing was measured; none where neither is known.
std::optional<Dtype> wanted_dtype(const RefusedCall& refusal, const Operand& odd,
                                  const Choice& choice) {
  // What meets a Bool mask is one.
  const auto is_mask = [&](const Operand& other) {
    return &other != &odd && is_tensor(other) && other.dtypes == DtypeSet(Dtype::kBool);
  };
  const auto& operands = refusal.call.operands;
  const bool meets_mask = std::any_of(operands.begin(), operands.end(), is_mask);
  if (meets_mask && choice.taken.within(kIntegers) && choice.taken.contains(Dtype::kBool))
    return Dtype::kBool;
  for (const Dtype dtype : {Dtype::kFloat, Dtype::kLong, Dtype::kInt, Dtype::kBool}) {
    if (choice.taken.contains(dtype)) return dtype;
  }
  DtypeSet wanted;
  for (const Dtype dtype : refusal.named) wanted |= dtype;
  wanted = wanted - odd.dtypes - choice.refused;
  if (wanted == DtypeSet(Dtype::kBool)) return Dtype::kBool;
  if (wanted.within(kIntegers) && wanted.contains(Dtype::kLong)) return Dtype::kLong;
  if (wanted.contains(Dtype::kFloat)) return Dtype::kFloat;
  // No table has the op: what is compiled for neither Float nor integers does not exist.
  if (choice.taken.empty() && choice.refused.empty() && missing_kernel(refusal.error)) {
    if (odd.dtypes.within(kIntegers)) return Dtype::kFloat;
    if (odd.dtypes == DtypeSet(Dtype::kFloat)) return Dtype::kLong;
  }
  // Of tables that know no integers: no floating dtype is taken, and so they are what is wanted.
  constexpr DtypeSet kFloats = kLowPrecision | Dtype::kFloat | Dtype::kDouble;
  const bool wants_integers = odd.dtypes.within(kFloating) && wanted.empty() &&
                              !choice.refused.intersects(kIntegers) &&
                              (choice.refused & kFloats) == kFloats;
  return wants_integers ? std::optional(Dtype::kLong) : std::nullopt;
}

// "result type Float can't be cast to the desired output type Long"
std::optional<Words> of_written(const RefusedCall& refusal, const Judged& judged) {
  if (refusal.error.find("can't be cast to the desired output type") == std::string::npos) {
    return std::nullopt;
  }
  const OpCall& call = refusal.call;
  const auto written = std::find_if(call.operands.begin(), call.operands.end(),
                                    [](const Operand& operand) { return operand.is_written; });
  if (written == call.operands.end() || refusal.named.size() < 2) return std::nullopt;
  const std::string result = dtype_name(refusal.named.front());
  Words words{
      .message = fmt::format("{} computes in {} and cannot write that into the {} {}", call.op,
                             result, dtype_word(*written), noun(*written)),
      .why =
          "an op that writes into a tensor keeps that tensor's dtype, and LibTorch casts no result "
          "to a lower kind (complex to floating, floating to integer)",
      .fix = fmt::format("make {} {} where it is made, or take the result as a new tensor, without "
                         "writing in place or into out",
                         noun(*written), result),
      .odd = written->name};
  const auto own = written->dtypes.single();
  const auto make = [&](const OpCall* maker) {
    if (maker != nullptr) words.add(judged.propose.cast_result(*maker, refusal.named.front()));
  };
  // zeros_like() of integers, which no line asks for: what is added up there is no integer. A range
  // counts, and numbers are drawn to be integers.
  const OpCall* made = judged.index.run().call(written->origin);
  const bool is_meant =
      made != nullptr &&
      (judged.index.has(*made, ops::kDraws) ||
       (judged.index.has(*made, ops::kDtypeOfValues) && !judged.index.has(*made, ops::kMask)));
  const bool is_unasked =
      written->dtypes.within(kIntegers) && judged.index.is_unasked(made) && !is_meant;
  if (is_unasked) make(made);
  if (call.short_op().ends_with('_')) {
    const bool has_number = std::any_of(call.scalars.begin(), call.scalars.end(),
                                        [](const ScalarArgument& given) { return !given.dtype; });
    if (own && written->dtypes.within(kIntegers) && call.floating_dtypes().empty() && has_number)
      words.add(judged.propose.rewrite(call, *own, "whole numbers",
                                       "give it whole numbers, which int() makes"));
    words.add(judged.propose.rewrite(call, refusal.named.front(), "not in place",
                                     "take the result as a new tensor"));
    if (written->dtypes.within(kIntegers))
      words.add(judged.propose.rewrite(call, refusal.named.front(), "floating alone",
                                       "leave out what is no floating-point tensor"));
  }
  const bool divides_whole = written->role == Role::kOut && written->dtypes.within(kIntegers) &&
                             ops::parse_op_name(call.op).base == "div" &&
                             call.floating_dtypes().empty();
  if (divides_whole) {
    words.fix = "give rounding_mode=\"floor\", or use floor_divide(): whole numbers stay whole";
    words.add(judged.propose.rewrite(call, *written->dtypes.single(), "floor", words.fix));
  }
  const OpCall* maker = judged.index.provenance().trace_back(call, *written).maker;
  if (!is_unasked || maker != made) make(maker);
  return words;
}

// "value cannot be converted to type c10::Half without overflow"
std::optional<Words> of_overflow(const RefusedCall& refusal, const Judged& judged) {
  if (refusal.error.find("without overflow") == std::string::npos || refusal.named.empty()) {
    return std::nullopt;
  }
  const OpCall& call = refusal.call;
  const Dtype dtype = refusal.named.front();
  const Operand* odd = call.first_operand_in(dtype);
  const auto value = std::find_if(
      call.scalars.begin(), call.scalars.end(),
      [](const ScalarArgument& scalar) { return !scalar.dtype && scalar.name != "dim"; });
  const std::string what = value == call.scalars.end()
                               ? "a number"
                               : fmt::format("{} {}", value->name, number(value->value));
  Words words{.message = fmt::format("{} does not fit {}", what, dtype_name(dtype)),
              .why = fmt::format("{} holds no such number, and LibTorch does not round it to an "
                                 "infinity or cut it off",
                                 dtype_name(dtype)),
              .fix = kFitNumber,
              .odd = odd == nullptr ? "" : odd->name};
  if (is_in_cpp(call) || value == call.scalars.end()) return words;
  words.add(judged.propose.fit_number(call, dtype));
  return words;
}

bool is_word(std::string_view text, std::string_view word) {
  return !places_of_word(text, word).empty();
}

// The one operand that the message speaks of by its name: "expected condition to be a boolean
// tensor". Names that are English words of such messages, or the op's own, say nothing.
const Operand* operand_named(const RefusedCall& refusal) {
  const Operand* found = nullptr;
  for (const Operand& operand : refusal.call.operands) {
    constexpr std::string_view kCommon[] = {"self", "input", "other", "out", "value", "index"};
    const std::string_view name = list_name(operand.name);
    if (name.size() < 4 || !is_tensor(operand) || !is_word(refusal.error, name)) continue;
    if (std::find(std::begin(kCommon), std::end(kCommon), name) != std::end(kCommon)) continue;
    if (found != nullptr && list_name(found->name) != name) return nullptr;
    // Of several indices the floating one.
    const bool is_odd = found == nullptr || (is_index(operand) && found->dtypes.within(kIntegers) &&
                                             operand.dtypes.within(kFloating));
    if (is_odd) found = &operand;
  }
  const bool is_meant = found != nullptr && (is_index(*found) || names(refusal, found->dtypes));
  return is_meant ? found : nullptr;
}

// "input_lengths must be integral", "Expected dtype int32/int64 for index": the message wants
// integers and says of what, and that one is floating, or another integer.
std::optional<Words> of_integers(const RefusedCall& refusal, const Judged& judged) {
  const std::string& error = refusal.error;
  DtypeSet wanted;
  for (const Dtype dtype : refusal.named) wanted |= dtype;
  const bool names_integers = !wanted.empty() && wanted.within(kIntegral);
  const bool wants_integers =
      is_word(error, "integral") || (names_integers && error.find("xpected dtype") != error.npos) ||
      error.find("of type Long") != error.npos || error.find("xpected a long tensor") != error.npos;
  // "Expected A and B to have the same dtype, but found B of type Long": Long is not asked for.
  if (!wants_integers || error.find("same dtype") != error.npos) return std::nullopt;
  const Operand* odd = nullptr;
  for (const Operand& operand : refusal.call.operands) {
    const bool is_other = operand.dtypes.within(kFloating) ||
                          (names_integers && operand.dtypes.within(kIntegral - wanted));
    const bool is_meant = is_tensor(operand) && is_other && is_word(error, list_name(operand.name));
    if (is_meant && odd != nullptr) return std::nullopt;
    if (is_meant) odd = &operand;
  }
  if (odd == nullptr) return std::nullopt;
  Words words{.message = fmt::format("{} is {}, and {} needs {}", odd->name, dtype_word(*odd),
                                     refusal.call.op, dtype_name(Dtype::kLong)),
              .why = "the op uses it as a count, an index or a choice",
              .odd = odd->name};
  words.why += odd->dtypes.within(kFloating)
                   ? ", and LibTorch never rounds a floating tensor to that"
                   : ", and takes no other integers for that";
  cast(judged, refusal.call, *odd, Dtype::kLong, words);
  return words;
}

// The argument `dtype` itself, where no operand has the dtype that the message names.
std::optional<Words> of_argument(const RefusedCall& refusal) {
  const OpCall& call = refusal.call;
  for (const ScalarArgument& scalar : call.scalars) {
    const bool is_named = scalar.dtype && names(refusal, *scalar.dtype);
    if (!is_named || call.first_operand_in(*scalar.dtype) != nullptr) continue;
    return Words{.message = fmt::format("{} does not take {}={}", call.op, scalar.name,
                                        dtype_name(*scalar.dtype))};
  }
  return std::nullopt;
}

std::optional<Words> of_mismatch(const RefusedCall& refusal, const Judged& judged) {
  if (missing_kernel(refusal.error)) return std::nullopt;
  const auto mix = mismatch(refusal);
  if (!mix) return std::nullopt;
  // A sentence about one operand alone: "expected condition to be a boolean tensor".
  const bool names_both = names(refusal, mix->odd->dtypes) && names(refusal, mix->other->dtypes);
  if (!names_both && operand_named(refusal) != nullptr) return std::nullopt;
  const auto& [odd, other] = *mix;
  // A mask of zeros and ones, as tokenizers make it, says which; as numbers it would be added.
  const bool is_mask = odd->name.find("mask") != std::string::npos &&
                       odd->dtypes.within(kIntegers) &&
                       refusal.error.find("bool") != std::string::npos;
  const Dtype wanted = is_mask ? Dtype::kBool : *other->dtypes.single();
  Words words{.message = fmt::format("{} {} meets a {} {}", dtype_word(*odd), noun(*odd),
                                     dtype_word(*other), noun(*other)),
              .why = "this op promotes nothing, not even integers: all its operands need one dtype",
              .odd = odd->name};
  // Which part of a complex number was meant nothing tells, and a cast drops one without a word.
  // One real operand can be made complex; a layer has two, weight and bias.
  const auto reals =
      std::count_if(refusal.call.operands.begin(), refusal.call.operands.end(),
                    [](const Operand& o) { return is_tensor(o) && o.dtypes.within(kFloating); });
  const bool is_layer =
      odd->dtypes.within(kFloating) && other->dtypes.within(kComplex) && reals > 1;
  if (is_layer || (odd->dtypes.within(kComplex) && other->dtypes.within(kFloating))) {
    words.why = "a layer with real weights cannot take complex numbers";
    words.fix = "choose what is meant, .real, .abs() or torch.view_as_real(), before this line";
    return words;
  }
  const auto acceptance = acceptance_with(judged, refusal.call, *odd, wanted);
  const bool is_taken = acceptance == contracts::Acceptance::kAccepts ||
                        (is_mask && acceptance == contracts::Acceptance::kUnknown);
  if (!odd->is_written && is_taken) cast(judged, refusal.call, *odd, wanted, words);
  const bool is_asked = odd->is_written && names(refusal, wanted) && names_both;
  const OpCall* maker =
      is_asked ? judged.index.provenance().trace_back(refusal.call, *odd).maker : nullptr;
  if (maker != nullptr) words.add(judged.propose.cast_result(*maker, wanted));
  return words;
}

// One dtype, and the op does not take it.
Words of_dtype(const RefusedCall& refusal, const Judged& judged) {
  const OpCall& call = refusal.call;
  const Operand* odd = operand_named(refusal);
  for (const Dtype dtype : refusal.named) {
    if (odd == nullptr) odd = call.first_operand_in(dtype);
  }
  if (odd == nullptr) {
    const auto first = std::find_if(call.operands.begin(), call.operands.end(), is_tensor);
    if (first != call.operands.end()) odd = &*first;
  }
  if (odd == nullptr) {
    const std::string dtype =
        refusal.named.empty() ? "a tensor" : dtype_name(refusal.named.front());
    return {.message = fmt::format("{} is refused: {}", dtype, refusal.error)};
  }
  const DtypeSet dtypes = odd->dtypes;
  Words words{
      .message = fmt::format("{} does not take a {} {}", call.op, dtype_word(*odd), noun(*odd)),
      .odd = odd->name};
  if (missing_kernel(refusal.error)) {
    words.message =
        fmt::format("{} has no {} kernel on {}", call.op, dtype_word(*odd), call.device_type());
  }
  words.fix = own_advice(refusal.error);
  if (const std::string how = advised(refusal); !how.empty()) {
    words.fix = how == "~" ? "write ~mask in place of 1 - mask" : "write ^ in place of -";
    words.add(judged.propose.rewrite(call, Dtype::kBool, how, words.fix));
  }
  const Choice choice = choice_for(judged, call, *odd);
  std::optional<Dtype> wanted = wanted_dtype(refusal, *odd, choice);
  if (choice.taken.contains(Dtype::kBool) && was_mask(judged, call, *odd)) wanted = Dtype::kBool;
  // What was measured to be taken, and is refused here for another argument, as a mode.
  const bool is_partial = choice.taken.intersects(dtypes);
  if (!choice.taken.empty() && !is_partial) {
    words.why = fmt::format("it takes {} there", words_of(choice.taken));
    const bool counts = choice.taken.within(kIntegers) && dtypes.within(kFloating);
    if (counts) words.why += ", and LibTorch never rounds a floating tensor to that";
  }
  if (!words.fix.empty() || !wanted) return words;
  if (words.why.empty()) {
    constexpr const char* kCounts =
        "the op uses it as a count, an index or a choice, and LibTorch ";
    words.why = kFloating.contains(*wanted)
                    ? fmt::format("the op is defined for other dtypes; {} is among them",
                                  dtype_name(*wanted))
                    : kCounts + std::string(dtypes.within(kFloating)
                                                ? "never rounds a floating tensor to that"
                                                : "casts no other dtype to that");
  }
  cast(judged, call, *odd, *wanted, words);
  const auto is_twin = [&](const Operand& one) {
    return &one != odd && is_tensor(one) && one.dtypes == dtypes && !is_index(*odd);
  };
  const auto twin = std::find_if(call.operands.begin(), call.operands.end(), is_twin);
  if (twin == call.operands.end()) return words;
  for (Cure& cure : words.cures) cure.text += fmt::format(", and {} as well", noun(*twin));
  return words;
}

std::string first_sentence(const std::string& text) {
  return text.substr(0, std::min(text.find('\n'), text.find(". ")));
}

// An extension says what it wants and what came: "expected scalar type Float but found Half". Each
// argument that is what came gets a cast, for it names none.
Words of_foreign(const RefusedCall& refusal, const Judged& judged, const ForeignCall& foreign) {
  Words words{.message = fmt::format("{} refuses a dtype: {}", foreign.callee,
                                     first_sentence(refusal.error))};
  DtypeSet given, wanted;
  for (const Operand* variable : foreign.variables) given |= variable->dtypes;
  for (const Dtype dtype : refusal.named) wanted |= dtype;
  wanted = wanted - given;
  const auto dtype = wanted.single();
  const auto is_come = [&](const Operand* one) { return names(refusal, one->dtypes); };
  const auto came = std::find_if(foreign.variables.begin(), foreign.variables.end(), is_come);
  if (!dtype || came == foreign.variables.end()) return words;
  words.odd = (*came)->name;
  words.why = fmt::format("it reads its arguments as {}, and {} is {}", dtype_name(*dtype),
                          (*came)->name, dtype_word(**came));
  words.add(judged.propose.cast_arguments(refusal.call, *dtype, foreign.callee));
  return words;
}

// "p.grad = …": the gradient has the dtype of its tensor, where that says nothing else.
std::optional<Words> of_gradient(const RefusedCall& refusal, const Judged& judged) {
  const bool is_assigned = refusal.error.starts_with("attempting to assign a gradient") ||
                           refusal.error.starts_with("assigned grad has data of a different type");
  if (!is_assigned) return std::nullopt;
  const std::string line = judged.propose.line_of(refusal.call);
  const size_t set = line.find(".grad =");
  if (set == line.npos) return std::nullopt;
  const std::string_view tensor = trimmed(std::string_view(line).substr(0, set));
  const auto operand = std::find_if(refusal.call.operands.begin(), refusal.call.operands.end(),
                                    [&](const Operand& one) { return one.name == tensor; });
  const bool is_known = operand != refusal.call.operands.end();
  std::optional<Dtype> dtype = is_known ? operand->dtypes.single() : std::nullopt;
  if (refusal.named.size() == 2) dtype = refusal.named.back();  // first the gradient's
  if (!dtype) return std::nullopt;
  Words words{.message = fmt::format("{} is {}, and takes no gradient of another dtype", tensor,
                                     dtype_name(*dtype)),
              .why = "an optimizer computes with a parameter and its gradient in one dtype",
              .odd = is_known ? operand->name : ""};
  words.add(judged.propose.rewrite(refusal.call, *dtype, "gradient",
                                   "cast the gradient to the dtype of its tensor"));
  return words;
}

// "zeros(): argument 'dtype' must be torch.dtype, not str"
std::optional<Words> of_dtype_argument(const RefusedCall& refusal, const Judged& judged) {
  constexpr std::string_view kWanted = "(): argument 'dtype' must be torch.dtype, not ";
  const size_t found = refusal.error.find(kWanted);
  if (found == refusal.error.npos) return std::nullopt;
  const std::string callee = refusal.error.substr(0, found);
  Words words{.message = fmt::format("{} takes a torch.dtype, and is given a {}", callee,
                                     first_sentence(refusal.error.substr(found + kWanted.size()))),
              .why =
                  "a dtype is an object such as torch.float32; its name as a string or a dtype of "
                  "NumPy is not accepted",
              .fix = "write torch.float32 for \"float32\", and getattr(torch, name) for a name"};
  words.add(judged.propose.rewrite(refusal.call, Dtype::kUndefined, "dtype", words.fix));
  return words;
}

// The line has "label.item()", and not as the end of another name.
bool reads_number(std::string_view line, std::string_view name) {
  for (const char* method : {".item()", ".tolist()"}) {
    const std::string read = fmt::format("{}{}", name, method);
    for (size_t at = line.find(read); at != line.npos; at = line.find(read, at + 1)) {
      const char before = at == 0 ? ' ' : line[at - 1];
      if (!is_of_name(before) && before != '.') return true;
    }
  }
  return false;
}

// "list indices must be integers or slices, not float", where the line reads the number of a tensor
// by name: ids[label.item()]. A float that no tensor gave is none of ours.
std::optional<Words> of_index(const RefusedCall& refusal, const Judged& judged) {
  const auto says = [&](std::string_view words) {
    return refusal.error.find(words) != refusal.error.npos;
  };
  if (!ops::is_python(refusal.call.op) ||
      !(says("indices must be integers or slices, not float") ||
        says("'float' object cannot be interpreted as an integer") ||
        says("slice indices must be integers")))
    return std::nullopt;
  const std::string line = judged.propose.line_of(refusal.call);
  for (const Operand& read : refusal.call.operands) {
    if (!read.is_floating() || !reads_number(line, read.name)) continue;
    Words words{.message = fmt::format("{} is {}, and its number is used as an index", read.name,
                                       dtype_word(read)),
                .why =
                    "item() and tolist() of a floating dtype give Python's floats, which index "
                    "nothing, also where they are whole",
                .odd = read.name};
    for (Cure& cure : judged.propose.cast_chooser(refusal.call, read, Dtype::kLong, "index"))
      words.add(std::move(cure));
    return words;
  }
  return std::nullopt;
}

// "torch.tensor(n, dtype=torch.uint8)": no op was called that would have the number.
Words of_number_beyond(const RefusedCall& refusal, const Judged& judged) {
  const Dtype dtype = refusal.named.front();
  Words words{.message = fmt::format("a number does not fit {}", dtype_name(dtype)),
              .why = fmt::format("{} holds no such number, and LibTorch does not cut it off",
                                 dtype_name(dtype)),
              .fix = "make the tensor in a dtype that holds all of its numbers"};
  if (kIntegral.contains(dtype))
    words.add(judged.propose.rewrite(refusal.call, Dtype::kLong, "no dtype",
                                     "leave the dtype out, which is then that of the numbers"));
  return words;
}

// The operands of a Python function are its variables: that they are what was refused is not known.
Words of_function(const RefusedCall& refusal, const Judged& judged) {
  const std::string function = refusal.call.op.substr(ops::kPython.size());
  const bool is_named = refusal.call.operands.empty() && !refusal.named.empty();
  const std::string line = judged.propose.line_of(refusal.call);
  if (auto words = of_gradient(refusal, judged)) return *words;
  if (auto words = of_dtype_argument(refusal, judged)) return *words;
  if (is_named && refusal.error.find("without overflow") != refusal.error.npos)
    return of_number_beyond(refusal, judged);
  const bool is_narrow =
      is_named && DtypeSet(refusal.named.front()).within(kLowPrecision | kFloat8);
  Words words{.message = is_named ? fmt::format("a {} tensor is refused in {}",
                                                dtype_name(refusal.named.front()), function)
                                  : fmt::format("{} refuses a dtype: {}", function,
                                                first_sentence(refusal.error)),
              .fix = is_narrow ? "cast the tensor to Float before: .float()" : ""};
  for (const char* method : {"numpy", "requires_grad_"}) {
    if (line.find(fmt::format(".{}(", method)) == line.npos) continue;
    const bool is_numpy = method == std::string_view("numpy");
    if (is_numpy && !refusal.named.empty()) {
      words.message = fmt::format("NumPy has no {}", dtype_name(refusal.named.front()));
      words.why = "a tensor becomes an array of the same dtype, and nothing casts on the way";
    }
    words.add(judged.propose.rewrite(refusal.call, Dtype::kFloat, method,
                                     fmt::format("cast the tensor to Float before {}()", method)));
  }
  if (refusal.error.find("operator.invert") != refusal.error.npos) {
    words.message = "~ inverts integers and Bool, and the tensor is neither";
    words.why = "a mask of zeros and ones in a floating dtype is data like any other";
    words.fix = "cast the mask to Bool before it is inverted";
    words.add(judged.propose.rewrite(refusal.call, Dtype::kBool, "inverted", words.fix));
  }
  if (!words.cures.empty()) return words;
  const ForeignCall foreign = foreign_call(judged.line_text, refusal.call);
  return foreign.callee.empty() ? words : of_foreign(refusal, judged, foreign);
}

std::optional<Words> of_autocast(const RefusedCall& refusal) {
  if (!is_unsafe_to_autocast(refusal.error)) return std::nullopt;
  return Words{.message = fmt::format("{} is refused under autocast", refusal.call.op),
               .why =
                   "a probability near 0 or 1 is 0 or 1 in a low precision, and its logarithm "
                   "is infinite; autocast refuses the op rather than cast for it",
               .fix =
                   "give the logits to binary_cross_entropy_with_logits, without the sigmoid; or "
                   "call it under torch.autocast(device_type, enabled=False) with operands in "
                   "Float"};
}

// "Multiplication of two Float8_e5m2 matrices is not supported"
std::optional<Words> of_factors(const RefusedCall& refusal) {
  if (refusal.error.find("two Float8_e5m2 matrices") == refusal.error.npos) return std::nullopt;
  return Words{.message = fmt::format("both factors of {} are Float8_e5m2", refusal.call.op),
               .why = "cuBLAS multiplies only e5m2 by e4m3fn and e4m3fn by e4m3fn",
               .fix =
                   "e5m2 is for gradients: cast weights and activations to torch.float8_e4m3fn, "
                   "with a scale for its 448",
               .odd = "mat2"};
}

// "BFloat16 or Half"
std::string either(DtypeSet dtypes) {
  if (dtypes == kFloat8) return "8 bits";
  if (dtypes == (DtypeSet(Dtype::kBFloat16) | Dtype::kHalf)) return "BFloat16 or Half";
  return dtypes.to_string();
}

// The operand of a scaled product that its sentence, in many words, is about.
std::optional<Words> of_scaled(const RefusedCall& refusal, const Judged& judged) {
  const OpCall& call = refusal.call;
  const auto fault = scaled_fault(call);
  if (!fault) return std::nullopt;
  const bool is_scale = fault->kind == ScaledFault::Kind::kScale;
  Words words{.message = fmt::format("{} is {}, and {} takes {}", fault->odd->name,
                                     dtype_word(*fault->odd), call.op,
                                     fault->wanted.empty() ? "none where it answers in Float"
                                     : is_scale            ? "scales in " + either(fault->wanted)
                                                           : "it in " + either(fault->wanted)),
              .odd = fault->odd->name};
  switch (fault->kind) {
    case ScaledFault::Kind::kScale:
      words.why = fault->wanted == DtypeSet(Dtype::kFloat)
                      ? "what was divided to fit 8 bits is multiplied by its scale again, and 16 "
                        "bits would round that"
                      : "the factors are scaled in blocks, and both have scales of the same dtype";
      words.fix = "make the scales again from the tensors, by what quantizes them";
      break;
    case ScaledFault::Kind::kBias:
      words.why = "it is added to the result, not to the factors in 8 bits";
      words.fix = "ask for out_dtype=torch.bfloat16, or add the bias behind it";
      break;
    case ScaledFault::Kind::kOffset:
      words.why = "offsets are read by the kernel as whole numbers of 32 bits";
      break;
    case ScaledFault::Kind::kFactor:
      words.why = "LibTorch has this product for no other factors";
      words.fix = "quantize the tensor again, with a scale for that dtype";
      break;
  }
  const auto dtype =
      fault->wanted.contains(Dtype::kBFloat16) ? Dtype::kBFloat16 : fault->wanted.single();
  if (!dtype || kFloat8.contains(*dtype)) return words;
  std::vector<const Operand*> all;
  for (const Operand& operand : call.operands) {
    const bool is_alike = (ops::argument_facts(operand.name) & ops::kScale) != 0;
    if (is_scale && is_alike && operand.dtypes == fault->odd->dtypes) all.push_back(&operand);
  }
  if (all.size() > 1) words.add(judged.propose.cast_operands(call, all, *dtype));
  const ScalarArgument* asked = call.scalar("out_dtype");
  const bool is_half = fault->kind == ScaledFault::Kind::kBias && asked != nullptr &&
                       asked->dtype == Dtype::kHalf && fault->wanted.contains(Dtype::kHalf);
  cast(judged, call, *fault->odd, is_half ? Dtype::kHalf : *dtype, words);
  return words;
}

// "Error in op: torch.ops.demo.scale.default": what a compiled graph was told of a custom op by its
// fake kernel is not what the real one gave.
std::optional<Words> of_fake_kernel(const RefusedCall& refusal, const Judged& judged) {
  constexpr std::string_view kOp = "Error in op: torch.ops.";
  const bool is_it = refusal.error.find("incorrect fake (aka meta) kernel") != std::string::npos;
  if (!is_it || refusal.named.size() < 2) return std::nullopt;
  const size_t found = refusal.error.find(kOp);
  std::string_view op = std::string_view(refusal.error);
  op = found == op.npos ? "a custom op" : op.substr(found + kOp.size());
  op = op.substr(0, op.find('\n'));
  const std::string name(op.substr(0, std::min(op.rfind('.'), op.size())));
  const Dtype fake = refusal.named[0], real = refusal.named[1];
  Words words{
      .message = fmt::format("the fake kernel of {} says {}, and the real one gives {}", name,
                             dtype_name(fake), dtype_name(real)),
      .why =
          "a compiler runs fake kernels to know dtypes and sizes, and makes its code for what they "
          "say",
      .fix =
          fmt::format("make the result of the function under {}.register_fake in the dtype that "
                      "the op gives, dtype=x.dtype; graphs that were compiled before are cached, "
                      "until TORCHINDUCTOR_FX_GRAPH_CACHE=0 or another cache",
                      name.substr(name.rfind('.') + 1))};
  if (refusal.call.operands.size() != 1) return words;
  words.odd = refusal.call.operands.front().name;
  const OpCall* maker =
      judged.index.run().call(refusal.call.operands.front().origin);  // the real kernel
  const bool is_known = maker != nullptr && !is_in_cpp(*maker) && maker->first_operand_in(real);
  if (is_known) words.add(judged.propose.rewrite(*maker, fake, "fake kernel", words.fix));
  return words;
}

// "Tensor dtype mismatch! Expected: BFloat16, Got: float"
std::optional<Words> of_exported(const RefusedCall& refusal, const Judged& judged) {
  const OpCall& call = refusal.call;
  const ScalarArgument* wanted = call.scalar("dtype");
  const bool is_it = call.op == "aten::_assert_tensor_metadata" && wanted != nullptr &&
                     wanted->dtype && call.operands.size() == 1;
  if (!is_it || call.operands.front().dtypes == DtypeSet(*wanted->dtype)) return std::nullopt;
  const Operand& given = call.operands.front();
  const std::string dtype = dtype_name(*wanted->dtype);
  Words words{
      .message =
          fmt::format("a graph that was traced with {} is given {}", dtype, dtype_word(given)),
      .why = fmt::format(
          "torch.export keeps what a cast of the program did to the example, which was {}, and "
          "checks that each input of it has that dtype",
          dtype),
      .fix = fmt::format("cast what the program is given to {}, or export it again with an "
                         "example in {}",
                         dtype, dtype_word(given)),
      .odd = given.name};
  words.add(judged.propose.cast_operand(call, given, *wanted->dtype, "input"));
  return words;
}

// "Sharding propagation failed for aten.lerp.Scalar(Spec(bf16[8](S(0))), Spec(f32[8](S(0))), 0.1)"
std::optional<Words> of_sharding(const RefusedCall& refusal) {
  constexpr std::string_view kFailed = "Sharding propagation failed for aten.", kSpec = "Spec(";
  const size_t found = refusal.error.find(kFailed);
  if (found == std::string::npos) return std::nullopt;
  std::string_view rest = std::string_view(refusal.error).substr(found + kFailed.size());
  const std::string op(rest.substr(0, rest.find('.')));
  std::vector<std::string> dtypes;
  for (size_t at = rest.find(kSpec); at != rest.npos; at = rest.find(kSpec, at + 1)) {
    const std::string_view spec = rest.substr(at + kSpec.size());
    const auto dtype = parse_dtype_abbreviation(spec.substr(0, spec.find('[')));
    if (dtype) dtypes.push_back(dtype_name(*dtype));
  }
  const bool differ =
      std::any_of(dtypes.begin(), dtypes.end(), [&](auto& one) { return one != dtypes.front(); });
  if (!differ) return std::nullopt;
  const bool is_state = refusal.call.site.phase == Phase::kOptimizer;
  return Words{
      .message =
          fmt::format("aten::{} of sharded tensors is given {}", op, fmt::join(dtypes, " and ")),
      .why =
          "DTensor asks the op on tensors without data how its result is laid out, and there the "
          "op refuses what it would refuse of whole tensors",
      .fix = is_state ? "compare the dtypes of the optimizer's state with those before it was "
                        "saved, and load each in that dtype"
                      : "cast one of them to the dtype of the other before the call"};
}

// C++ asks a tensor for its numbers as another type than they are: "expected scalar type Float but
// found Double".
std::optional<Words> of_data_read(const RefusedCall& refusal, const Judged& judged) {
  if (refusal.call.op != ops::kDataRead || refusal.named.size() != 2) return std::nullopt;
  const Dtype asked = refusal.named[0], found = refusal.named[1];
  Words words{.message = fmt::format("the data of a {} tensor are read as {}", dtype_name(found),
                                     dtype_name(asked)),
              .why =
                  "data_ptr<T>() and accessor<T, N>() give the numbers as they lie in memory, and "
                  "cast none",
              .fix = fmt::format("read them as {}, or cast the tensor to {} where it is made",
                                 dtype_name(found), dtype_name(asked))};
  words.add(judged.propose.rewrite(refusal.call, found, "data read", words.fix));
  return words;
}

Words words_of(const RefusedCall& refusal, const Judged& judged) {
  if (auto words = of_data_read(refusal, judged)) return *words;
  if (auto words = of_fake_kernel(refusal, judged)) return *words;
  if (auto words = of_exported(refusal, judged)) return *words;
  if (auto words = of_sharding(refusal)) return *words;
  if (auto words = of_autocast(refusal)) return *words;
  if (auto words = of_factors(refusal)) return *words;
  if (auto words = of_scaled(refusal, judged)) return *words;
  if (ops::is_python(refusal.call.op)) return of_function(refusal, judged);
  if (auto words = of_written(refusal, judged)) return *words;
  if (auto words = of_overflow(refusal, judged)) return *words;
  if (auto words = of_argument(refusal)) return *words;
  if (auto words = of_integers(refusal, judged)) return *words;
  if (auto words = of_mismatch(refusal, judged)) return *words;
  return of_dtype(refusal, judged);
}

// Another rule's words about this refusal, at whichever of the nested calls, come first.
bool is_reported(const OpCall& throwing_call, const RunIndex& index, const Findings& out) {
  bool reported = false;
  follow_links(&throwing_call, [&](const OpCall& call) {
    reported = reported || out.is_reported(call);
    return index.run().call(call.parent);
  });
  return reported;
}

void check_run(const RunIndex& index, Findings& out) {
  const Judged judged{index, *out.options().contracts, CureProposer(index, out.options()),
                      out.options().line_text};
  for (const OpCall& call : index.judged_calls()) {
    if (!was_refused(call) || call.error.empty() || index.throwing_call(call) != &call) continue;
    const bool is_echo =
        ops::is_python(call.op) && index.is_raised_by_an_op(call.process, call.error);
    if (is_echo || is_reported(call, index, out)) continue;
    const RefusedCall refusal{index.refused_by_user(call), call.error, named_dtypes(call.error)};
    const auto of_number = of_index(refusal, judged);
    if (!of_number && !index.is_refused_for_dtypes(call)) continue;
    const Words words = of_number ? *of_number : words_of(refusal, judged);
    out.add(refusal.call, words.message, [&] {
      return Details{.odd = words.odd, .why = words.why, .fix = words.fix, .cures = words.cures};
    });
  }
}

}  // namespace

const Rule refused_dtype = {
    .doc = {.id = "refused-dtype",
            .severity = Severity::kError,
            .summary = "an op is refused for a dtype: integers, bool, a number that does not fit",
            .why = "The message speaks of a dtype; nothing else is known of this refusal.",
            .fix = "The message says which dtype is wanted, or which came: change it where the "
                   "tensor is made.",
            .example = R"(
op aten::linear input=Long[2,4] weight=Float[4,4] bias=Float[4] raised "mat1 and mat2 must have the same dtype, but got Long and Float" at train.py:40 phase forward
# EXPECT train.py:40: error: Long input meets a Float weight [refused-dtype]
# Nor a number of NumPy's where a tensor is wanted.
op python::binary_cross_entropy_with_logits input=Float[2,3] target=Float[2,3] raised "argument 'pos_weight' (position 4) must be Tensor, not numpy.float64" at train.py:39 phase forward
# Sizes are none of its business, whatever dtypes the sentence names.
op aten::linear input=Float[2,3] weight=Float[4,4] bias=Float[4] raised "mat1 and mat2 shapes cannot be multiplied" at train.py:41 phase forward
)"},
    .check_run = check_run,
    .judges_source = true,
};

}  // namespace dtypecheck::rules
