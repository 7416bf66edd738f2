// Finds: a run that computes in another dtype than was asked for: by an option of its command, by
// the tensors that an autocast without a dtype casts to the other 16 bits, or by a layer whose
// compute dtype is Half between BFloat16 tensors. Misses: what a configuration file asks for.
// Silent where anything is computed in the dtype that was asked for, where options ask for
// different ones, and where accelerate was given its precision, of which outside-autocast speaks.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/precision_words.h"
#include "core/requests.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/source_text.h"

namespace dtypecheck::rules {
namespace {

struct AskedDtype {
  Dtype dtype = Dtype::kUndefined;  // Half or BFloat16
  std::string option;               // "--dtype float16", as it was given
};

// Of the model as a whole: "vae_dtype" and "save_precision" are not.
bool is_of_the_run(std::string_view key) {
  constexpr std::string_view kKeys[] = {
      "dtype",         "torch_dtype",    "precision",   "amp_dtype",   "mixed_precision",
      "compute_dtype", "autocast_dtype", "model_dtype", "train_dtype", "weight_dtype"};
  return std::any_of(std::begin(kKeys), std::end(kKeys),
                     [&](std::string_view known) { return is_same_name(last_name(key), known); });
}

// "--dtype=float16", "--dtype float16", "train.dtype=float16".
std::vector<AskedDtype> asked_in(const std::vector<std::string>& words) {
  std::vector<AskedDtype> out;
  std::string before;  // an option whose value is yet to come
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const bool is_whole = equals != word.npos;
    const std::string key = is_whole ? word.substr(0, equals) : before;
    const Dtype dtype = precision_in(is_whole ? std::string_view(word).substr(equals + 1) : word);
    if (dtype != Dtype::kUndefined && is_of_the_run(key))
      out.push_back({dtype, is_whole ? word : fmt::format("{} {}", key, word)});
    before = word.starts_with('-') && !is_whole ? word : "";
  }
  return out;
}

// What all options that ask agree on.
AskedDtype asked_for(const Process& process) {
  const std::vector<AskedDtype> asked = asked_in(words_of_command(process));
  const bool agree = std::all_of(asked.begin(), asked.end(), [&](const AskedDtype& other) {
    return other.dtype == asked.front().dtype;
  });
  return asked.empty() || !agree ? AskedDtype() : asked.front();
}

// autocast(…) at this line of source is given no dtype. False where the text is not known.
bool is_without_dtype(const LineText& line_text, const SourceLine& entered) {
  const std::string text = call_at(line_text, entered);
  const size_t call = text.find("autocast(");
  if (call == text.npos) return false;
  const auto arguments = arguments_of(text, text.find('(', call));
  for (const std::string_view& argument : arguments) {
    const bool is_named = &argument == arguments.data() || argument.find('=') != argument.npos;
    // A second positional argument is the dtype.
    if (!is_named || argument.find("dtype") != argument.npos || argument.find('*') != argument.npos)
      return false;
  }
  return !arguments.empty();
}

struct ComputedIn {
  AskedDtype asked;
  std::set<Dtype> computed;             // 16 bits and Float, of arithmetic
  const OpCall* product = nullptr;      // the first of the forward pass
  const OpCall* in_autocast = nullptr;  // the first product in a region of 16 bits
  Dtype region = Dtype::kUndefined;     // of its autocast
  const OpCall* crossed = nullptr;      // the first product of a tensor that autocast cast from …
  const Operand* crossed_operand = nullptr;  // … the other 16 bits
};

Dtype other_of(Dtype dtype) { return dtype == Dtype::kHalf ? Dtype::kBFloat16 : Dtype::kHalf; }

// The cast from the other 16 bits that gave this operand.
const OpCall* crossing(const RunIndex& index, const Operand& operand) {
  const auto dtype = operand.dtypes.single();
  if (!dtype || !kLowPrecision.contains(*dtype)) return nullptr;
  const OpCall* cast = index.run().call(operand.origin);
  if (cast == nullptr || !index.has(*cast, ops::kCast) || cast->operands.empty()) return nullptr;
  return cast->operands.front().dtypes == DtypeSet(other_of(*dtype)) ? cast : nullptr;
}

void note_computed(const RunIndex& index, const OpCall& call, ComputedIn& seen) {
  if (call.site.phase == Phase::kLoad || call.outcome != Outcome::kReturned) return;
  const auto note = [&](const Operand& tensor) {
    const auto dtype = tensor.dtypes.single();
    if (dtype && tensor.is_floating()) seen.computed.insert(*dtype);
  };
  if (index.has(call, ops::kCast | ops::kFactory | ops::kView | ops::kCopy) ||
      call.autocast.is_wrapper)
    return;
  for (const Operand& result : call.results) note(result);
  if (call.op.starts_with("aten::")) return;
  for (const Operand& operand : call.operands) note(operand);  // what is inside is not known
}

// Autocast is off in the call that it makes itself, inside of the one that it took.
const AutocastState::Region* region_of(const RunIndex& index, const OpCall& call) {
  const OpCall* wrapper = call.autocast.is_inner ? index.run().call(call.parent) : nullptr;
  const AutocastState::Region* region = call.autocast.region_for(call.device_type());
  return region != nullptr || wrapper == nullptr ? region
                                                 : wrapper->autocast.region_for(call.device_type());
}

void collect(const RunIndex& index, const OpCall& call, ComputedIn& seen) {
  note_computed(index, call, seen);
  if (!index.has(call, ops::kMultiplies) || call.autocast.is_wrapper || call.results.empty() ||
      call.site.phase != Phase::kForward || call.outcome != Outcome::kReturned)
    return;
  if (seen.product == nullptr) seen.product = &call;
  const AutocastState::Region* region = region_of(index, call);
  if (region == nullptr || !kLowPrecision.contains(region->dtype)) return;
  seen.region = region->dtype;
  if (seen.in_autocast == nullptr) seen.in_autocast = &call;
  if (seen.crossed != nullptr || !call.autocast.is_inner) return;
  for (const Operand& operand : call.operands) {
    const OpCall* cast = crossing(index, operand);
    if (cast == nullptr || cast->parent != call.parent) continue;
    seen.crossed = &call;
    seen.crossed_operand = &operand;
    return;
  }
}

// Linear4bit casts what it is given to its compute dtype, and what it gives back.
struct Detour {
  const OpCall* in = nullptr;
  const OpCall* out = nullptr;
};

Detour detour_of(const RunIndex& index, const OpCall& call) {
  // An op of a library, as bitsandbytes::gemm_4bit, may do the product itself.
  const bool is_of_library = !call.op.starts_with("aten::") && call.operands.size() > 1;
  if (!(is_of_library || index.has(call, ops::kMultiplies)) || call.autocast.is_inner ||
      call.autocast.is_wrapper || call.site.phase != Phase::kForward || call.site.module.empty())
    return {};
  const auto is_same_layer = [&](const OpCall& cast) {
    return cast.site.module == call.site.module && cast.site.phase == Phase::kForward;
  };
  for (const Operand& operand : call.operands) {
    const OpCall* in = crossing(index, operand);
    if (in == nullptr || !is_same_layer(*in) || call.result_dtype() != Dtype::kHalf) continue;
    for (const OpCallId id : index.consumers(call)) {
      const OpCall& out = *index.run().call(id);
      if (index.has(out, ops::kCast) && out.result_dtype() == Dtype::kBFloat16 &&
          is_same_layer(out))
        return {in, &out};
    }
  }
  return {};
}

void check_detour(const RunIndex& index, const OpCall& call, Findings& out) {
  const Detour detour = detour_of(index, call);
  if (detour.in == nullptr) return;
  const std::string message = fmt::format("{} computes in Half between BFloat16 tensors", call.op);
  out.add(call, message, [&] {
    return Details{
        .odd = call.operands.front().name,
        .why = fmt::format("what goes in is cast to Half{}, and what comes out to BFloat16: an "
                           "activation beyond 65504 becomes infinite, and each has the digits of "
                           "BFloat16 alone",
                           at_place(detour.in->site)),
        .fix =
            "compute in BFloat16: bnb_4bit_compute_dtype=torch.bfloat16 of a "
            "BitsAndBytesConfig, compute_dtype of the layer"};
  });
}

Details explain(const RunIndex& index, const JudgeOptions& options, const ComputedIn& seen,
                const std::string& why, Dtype want) {
  const OpCall* at = seen.in_autocast != nullptr ? seen.in_autocast : seen.product;
  Details details{.why = why};
  if (seen.in_autocast == nullptr) {
    // A program that opens autocast on a GPU alone means to: nullcontext() if device == "cpu".
    details.severity = Severity::kNote;
    details.why +=
        fmt::format(", and no autocast of 16 bits is open around them on {}", at->device_type());
    details.fix = fmt::format("pass the option's dtype on: to the weights, {}, or to autocast",
                              to_dtype(*at, want));
    return details;
  }
  const SourceLine& entered = at->autocast.entered;
  if (entered.line > 0) details.site = Site{.line = entered, .phase = at->site.phase};
  if (is_without_dtype(options.line_text, entered))
    details.why += fmt::format("; without a dtype autocast takes its default on {}, {}",
                               at->device_type(), dtype_name(seen.region));
  details.fix =
      fmt::format("give autocast the dtype: torch.autocast(…, dtype={})", torch_dtype(want));
  if (is_in_cpp(*at) || !entered.known()) return details;
  details.cures = {CureProposer(index, options).rewrite(*at, want, "region dtype", details.fix)};
  details.cures.front().where = entered;
  return details;
}

void check_asked(const RunIndex& index, uint32_t id, const ComputedIn& seen, Findings& out) {
  const Process& process = index.run().processes[id];
  const Dtype want = seen.asked.dtype;
  if (want == Dtype::kUndefined || seen.product == nullptr || seen.computed.contains(want)) return;
  if (!process.fact(FactKey::kAcceleratePrecision).empty() || process.ended_badly()) return;
  const OpCall& at = seen.in_autocast != nullptr ? *seen.in_autocast : *seen.product;
  const std::string message = fmt::format("{} asks for {}, and nothing is computed in it",
                                          seen.asked.option, dtype_name(want));
  out.add(at, message, [&] {
    const std::string other = at.result_dtype() ? dtype_name(*at.result_dtype()) : "another dtype";
    return explain(index, out.options(), seen, fmt::format("products are computed in {}", other),
                   want);
  });
}

void check_crossed(const RunIndex& index, const ComputedIn& seen, Findings& out) {
  const OpCall& call = *seen.crossed;
  if (!is_without_dtype(out.options().line_text, call.autocast.entered)) return;
  const Dtype to = *seen.crossed_operand->dtypes.single();
  const Dtype from = other_of(to);
  const std::string message = fmt::format("autocast without a dtype computes in {} what is {}",
                                          dtype_name(to), dtype_name(from));
  out.add(call, message, [&] {
    Details details = explain(
        index, out.options(), seen,
        fmt::format("each {} is cast {}", seen.crossed_operand->name,
                    to == Dtype::kHalf ? "to Half, which ends at 65504"
                                       : "to BFloat16, which has 8 bits of the 11 that Half has"),
        from);
    details.odd = seen.crossed_operand->name;
    return details;
  });
}

void check_run(const RunIndex& index, Findings& out) {
  const Run& run = index.run();
  std::vector<ComputedIn> processes(run.processes.size());
  for (size_t i = 0; i < run.processes.size(); ++i)
    processes[i].asked = asked_for(run.processes[i]);
  for (const OpCall& call : index.judged_calls()) {
    collect(index, call, processes[call.process]);
    check_detour(index, call, out);
  }
  for (uint32_t i = 0; i < processes.size(); ++i) {
    if (run.processes[i].signatures_lost > 0) continue;
    check_asked(index, i, processes[i], out);
    if (processes[i].crossed != nullptr) check_crossed(index, processes[i], out);
  }
}

}  // namespace

const Rule asked_dtype = {
    .doc = {.id = "asked-dtype",
            .severity = Severity::kWarning,
            .summary = "a run computes in another dtype than was asked for",
            .why = "autocast without a dtype takes its default, Half on a GPU and BFloat16 on a "
                   "CPU, whatever the program's own option says; a quantized layer has a compute "
                   "dtype of its own. The range and the digits are those of the other dtype.",
            .fix =
                "Give autocast, or the quantized layer, the dtype that the program was asked for.",
            .example = R"(
process pid=1 fact:python.argv="train.py --dtype float16 --lr 1e-4"
op aten::mm self=BFloat16[2,4] mat2=BFloat16[4,4] -> BFloat16[2,4] at train.py:20 phase forward autocast cpu:BFloat16 inner
# EXPECT train.py:20: warning: --dtype float16 asks for Half, and nothing is computed in it [asked-dtype]
# EXPECT-FIX dtype=torch.float16
process pid=2 fact:python.argv="train.py --dtype float16 --lr 1e-4"
op aten::mm self=Half[2,4] mat2=Half[4,4] -> Half[2,4] at train.py:30 phase forward autocast cpu:Half inner
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
