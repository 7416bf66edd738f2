// Finds: an op that was refused because its operands disagree in floating dtype, or because an
// index or target is not an integer.
// Misses: refusals in Python code whose tensors are no local variables and whose message does not
// name the dtypes of both sides.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/follow_links.h"
#include "ops/arguments.h"
#include "rules/cures/cures.h"
#include "rules/cures/mix_cures.h"
#include "rules/engine/asked.h"
#include "rules/engine/formatting.h"
#include "rules/engine/mix_reason.h"
#include "rules/engine/rule.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

struct RefusedMix {
  const OpCall& call;
  Mix mix;
};

// The loss whose backward refuses: it took the mix at the same line without a word.
void link_to_forward_loss(const RunIndex& index, const OpCall& call, Details& details) {
  const Run& run = index.run();
  for (const Operand& operand : call.operands) {
    const OpCall* origin = run.call(operand.origin);
    if (origin == nullptr) continue;
    for (const OpCallId id : index.consumers(*origin)) {
      if (index.has(run.calls[id - 1], ops::kLoss)) {
        details.follows.push_back({&silent_promotion, id});
      }
    }
  }
}

// Two inputs are distinguished by LibTorch's names.
std::string message(const RefusedMix& refusal) {
  const Side &odd = refusal.mix.odd, &other = refusal.mix.other;
  const bool is_alike = odd.noun() == other.noun();
  return fmt::format("{} {} meets a {} {}", dtype_name(odd.dtype),
                     is_alike ? odd.operand->name : odd.noun(), dtype_name(other.dtype),
                     is_alike ? other.operand->name : other.noun());
}

// Promotions whose result nothing has read: it was on its way into something when the run ended.
std::vector<OpCallId> unread_promotions(const RunIndex& index) {
  std::vector<OpCallId> unread;
  for (const OpCall& call : index.judged_calls()) {
    const bool is_top = call.parent == kNoOpCall;
    if (!is_top || !index.promotes(call) || call.floating_dtypes().size() < 2) continue;
    if (index.consumers(call).empty() && !call.results.empty()) unread.push_back(call.id);
  }
  return unread;
}

// A model that casts its embeddings to its sample's dtype fails there, before it reads the sample:
// the last promotion to that dtype that the program made before, when it is still unread.
const OpCall* pending_promotion(const Run& run, const std::vector<OpCallId>& unread,
                                const OpCall& call, const Mix& mix, const Provenance& source) {
  const bool is_cast_in_model = source.promotion == nullptr && source.maker != nullptr &&
                                !call.site.module.empty() && !is_users_own(source.maker->site);
  const auto after = std::lower_bound(unread.begin(), unread.end(), call.id);
  if (!is_cast_in_model || after == unread.begin()) return nullptr;
  const OpCall& last = run.calls[*std::prev(after) - 1];
  const bool fits = last.process == call.process && last.result_dtype() == mix.odd.dtype &&
                    is_users_own(last.site);
  return fits ? &last : nullptr;
}

// "; --precision 16 (train.py's command line) asked for the Half weight": of the side that is a
// parameter in 16 bits.
std::string who_asked_text(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                           const Mix& mix) {
  for (const auto* side : {&mix.other, &mix.odd}) {
    if (side->operand == nullptr || !side->is_parameter()) continue;
    if (const auto asked = who_asked(index, options, call, *side->operand))
      return fmt::format("; {} asked for the {} {}", asked_text(*asked), dtype_name(side->dtype),
                         side->noun());
  }
  return "";
}

// What autocast would do with the call. A compiler hands on to variants with out= what the program
// called without: of that nothing is known.
contracts::Acceptance autocast_here(const RunIndex& index, const JudgeOptions& options,
                                    const OpCall& call, const Mix& mix) {
  const bool has_out = std::any_of(call.operands.begin(), call.operands.end(),
                                   [](auto& operand) { return operand.role == Role::kOut; });
  if (has_out) return contracts::Acceptance::kUnknown;
  const bool is_odd_low = kLowPrecision.contains(mix.odd.dtype);
  const bool has_low = is_odd_low || kLowPrecision.contains(mix.other.dtype);
  return under_autocast(index, options, call,
                        !has_low     ? Dtype::kBFloat16
                        : is_odd_low ? mix.odd.dtype
                                     : mix.other.dtype);
}

Details explain(const RunIndex& index, const JudgeOptions& options, const RefusedMix& refusal,
                const std::vector<OpCallId>& unread) {
  const auto& [call, mix] = refusal;
  const Provenance source = index.provenance().trace_back(call, *mix.odd.operand);
  Details details;
  details.odd = mix.odd.operand->name;
  details.why = mix_why(index, call, mix, source, autocast_here(index, options, call, mix)) +
                who_asked_text(index, options, call, mix);
  details.cures = mix_cures(index, options, call, mix, source);
  details.is_loaded_low = comes_of_lone_parameter(index, call, mix.odd, mix.other, source);
  if (kFloat8.contains(mix.odd.dtype) || kFloat8.contains(mix.other.dtype)) {
    details.fix =
        "8-bit values are scaled: multiply them by their scale, in a wider dtype, before this "
        "op; or scale the other operand, cast it as well, and give both scales to torch._scaled_mm";
  }
  if (source.promotion != nullptr)
    details.follows.push_back({&silent_promotion, source.promotion->id});
  if (index.has(call, ops::kBackward)) link_to_forward_loss(index, call, details);
  const OpCall* pending = pending_promotion(index.run(), unread, call, mix, source);
  if (pending == nullptr) {
    const bool is_layer = mix.odd.is_parameter() != mix.other.is_parameter();
    if (is_layer && call.follows == kNoOpCall) details.follows.push_back({&outside_autocast});
    return details;
  }
  details.why += fmt::format("; before that, {} promoted a tensor to {} that nothing has read yet",
                             made_by(*pending), dtype_name(mix.odd.dtype));
  details.follows.push_back({&silent_promotion, pending->id});
  // That the library casts to the dtype of its sample no op call shows: the cures cannot be judged.
  for (const Cure& cure : details.cures) {
    if (cure.kind == CureKind::kCastModuleInput && details.fix.empty()) details.fix = cure.text;
  }
  if (!details.fix.empty()) details.cures.clear();
  return details;
}

// A run that went on may meet one mix at one line for several reasons: what came of an earlier
// repair is one, and so is each place that gave the odd operand its dtype.
std::string cause(const RefusedMix& refusal, const RunIndex& index) {
  const auto& [call, mix] = refusal;
  if (!was_let_through(call)) return "";
  if (call.follows != kNoOpCall) return "follows";
  const OpCall* maker = index.provenance().trace_back(call, *mix.odd.operand).maker;
  return maker == nullptr ? "" : recorded_place(maker->site);
}

// A checkpoint computes a module again from within the backward's line: reported where it ran
// first.
class FirstPlaces {
 public:
  const SourceLine& of(const RefusedMix& refusal, const std::string& message,
                       const std::string& cause) {
    const OpCall& call = refusal.call;
    if (!was_let_through(call) || call.site.module.empty()) return call.site.line;
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}\n{}", call.process, call.op, call.site.module, message, cause);
    const SourceLine& first = lines_.try_emplace(key, call.site.line).first->second;
    return first == call.site.line ? call.site.line : first;  // of the line there may be two calls
  }

 private:
  std::unordered_map<std::string, SourceLine> lines_;
};

void report(const RunIndex& index, const RefusedMix& refusal, const std::vector<OpCallId>& unread,
            FirstPlaces& places, Findings& out) {
  const std::string reason = cause(refusal, index);
  OpCall call = refusal.call;
  const std::string words = message(refusal);
  call.site.line = places.of(refusal, words, reason);
  out.add(call, words, [&] { return explain(index, out.options(), refusal, unread); }, reason);
}

// "expected scalar type Long but found Float": an index or a class label in a floating dtype.
void check_integer(const RunIndex& index, const OpCall& throwing_call, Findings& out) {
  if (!was_refused(throwing_call) || index.throwing_call(throwing_call) != &throwing_call) return;
  const OpCall& call = index.refused_by_user(throwing_call);
  const auto wanted = wanted_integer(throwing_call.error);
  if (!wanted) return;
  const auto is_found = [&](const Operand& operand) {
    return operand.dtypes == DtypeSet(wanted->found) &&
           (ops::argument_facts(operand.name) & (ops::kIndex | ops::kLabels)) != 0;
  };
  const auto odd = std::find_if(call.operands.begin(), call.operands.end(), is_found);
  if (odd == call.operands.end()) return;
  const std::string message = fmt::format("{} is {}, and {} needs {}", odd->name, dtype_word(*odd),
                                          call.op, dtype_name(wanted->wanted));
  out.add(call, message, [&] {
    Details details;
    details.odd = odd->name;
    details.why =
        kFloating.contains(wanted->found)
            ? "indices and class labels are integers to LibTorch; it never rounds a floating "
              "tensor "
              "to them"
            : fmt::format(
                  "indices and class labels are read as {} here, and LibTorch casts none of "
                  "another integer dtype to it",
                  dtype_name(wanted->wanted));
    const CureProposer propose(index, out.options());
    details.cures = propose.cast_chooser(call, *odd, wanted->wanted, odd->name);
    return details;
  });
}

// nn.LSTM and its kin compare input and weight themselves, and the weight is no local variable of
// the function that does: the message has its dtype.
void check_recurrent(const RunIndex& index, const OpCall& call, Findings& out) {
  if (!was_refused(call) || !ops::is_python(call.op)) return;
  const auto named = input_and_weight(call.error);
  const Operand* input = call.operand("input");
  if (!named || input == nullptr || input->dtypes != DtypeSet(named->input)) return;
  if (refused_mix(index, call)) return;  // the weight is there: it is reported as any other mix
  const std::string message = fmt::format("{} input meets a {} weight", dtype_name(named->input),
                                          dtype_name(named->weight));
  out.add(call, message, [&] {
    const std::string& module = call.site.module;
    const Provenance source = index.provenance().trace_back(call, *input);
    Details details;
    details.odd = input->name;
    details.why =
        "recurrent layers compare the dtypes of input and weight before they call an op, and "
        "nothing casts here";
    const CureProposer propose(index, out.options());
    add(details.cures, propose.cast_operand(call, *input, named->weight, "input"));
    details.cures.push_back(propose.cast_parameters(call, *input, module, named->input));
    if (source.promotion != nullptr) details.follows = {{&silent_promotion, source.promotion->id}};
    return details;
  });
}

// A second sight of one failure: what left the program as an exception of an op inside.
bool is_echo(const RunIndex& index, const OpCall& call) {
  return ops::is_python(call.op) && index.is_raised_by_an_op(call.process, call.error);
}

std::vector<RefusedMix> refusals(const RunIndex& index) {
  std::vector<RefusedMix> all;
  for (const OpCall& call : index.judged_calls()) {
    if (!was_refused(call) || is_echo(index, call)) continue;
    if (is_unsafe_to_autocast(call.error)) continue;  // refused-dtype's
    if (const auto mix = refused_mix(index, call)) all.push_back({call, *mix});
  }
  return all;
}

// A composite op and the op inside it are one refusal: the inner one is the culprit.
void check_run(const RunIndex& index, Findings& out) {
  const Run& run = index.run();
  const std::vector<RefusedMix> all = refusals(index);
  std::unordered_set<OpCallId> around;
  for (const RefusedMix& refusal : all) {
    follow_links(run.call(refusal.call.parent), [&](const OpCall& outer) {
      return around.insert(outer.id).second ? run.call(outer.parent) : nullptr;
    });
  }
  const std::vector<OpCallId> unread =
      all.empty() ? std::vector<OpCallId>() : unread_promotions(index);
  FirstPlaces places;
  for (const RefusedMix& refusal : all) {
    if (!around.contains(refusal.call.id)) report(index, refusal, unread, places, out);
  }
  for (const OpCall& call : index.judged_calls()) {
    check_integer(index, call, out);
    check_recurrent(index, call, out);
  }
}

}  // namespace

const Rule mixed_operands = {
    .doc = {.id = "mixed-operands",
            .severity = Severity::kError,
            .summary = "an op is refused because its operands disagree in floating dtype",
            .why = "LibTorch picks a kernel by one operand and refuses the others; outside of "
                   "autocast nothing casts them.",
            .fix = "Give both sides one dtype where the odd one is made, or run the module under "
                   "torch.autocast.",
            .example = R"(
# A Float UNet is handed the Half time embedding. The norm below accepts Half data with Float parameters.
op aten::addmm self=Float[320]%unet.time_embedding.linear_1.bias mat1=Half[2,320] mat2=Float[320,1280]%unet.time_embedding.linear_1.weight raised "mat1 and mat2 must have the same dtype, but got Half and Float" at train.py:1065 in unet.time_embedding.linear_1 (Linear) phase forward
# EXPECT train.py:1065: error: Half input meets a Float weight [mixed-operands]
# EXPECT-ODD mat1
# EXPECT-FIX cast unet to Half, train.py:1065
op aten::native_layer_norm input=Float[2,77,64] weight=Float[64] bias=Float[64] -> Float[2,77,64] at train.py:1066
)",
            .alias = "module-half-input-float"},
    .check_run = check_run,
    .judges_source = true,
};

}  // namespace dtypecheck::rules
