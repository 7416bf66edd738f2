// Finds: op calls that this LibTorch accepted and that the one named by --target would refuse on
// its device, from the contracts.
// Misses: ops that the contracts do not know, and refusals that depend on more than dtypes.
#include <fmt/format.h>

#include "rules/cures/mix_cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"
#include "rules/engine/target.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

using contracts::Runtime;

std::string named(const Runtime& runtime) {
  return fmt::format("{} in LibTorch {}", runtime.device, runtime.version);
}

std::string basis(const Runtime& runtime) {
  if (!runtime.measured) return "read in LibTorch's source, not measured";
  return fmt::format("measured on {}", named(runtime));
}

std::string fix_of_missing(const OpCall& call, Dtype dtype, const contracts::Contracts& contracts,
                           const Runtime& target) {
  const std::string text = "there " + without_kernel(call, dtype);
  const std::string later = contracts.first_accepting(target.device, target.version, call);
  if (later.empty()) return text;
  return text + fmt::format("; or use LibTorch {}, the first with this kernel on {}", later,
                            target.device);
}

Details explain(const RunIndex& index, const OpCall& call, const contracts::Answer& answer,
                const Runtime& target, const JudgeOptions& options) {
  const contracts::Contracts& contracts = *options.contracts;
  Details details;
  details.why = fmt::format("{} raises there: {} ({})", call.op, answer.message, basis(target));
  const auto missing = missing_kernel(answer.message);
  if (missing) {
    if (const Operand* odd = call.first_operand_in(missing->dtype)) details.odd = odd->name;
    details.fix = fix_of_missing(call, missing->dtype, contracts, target);
  } else if (const auto mix = find_mix(index, call, /*with_scalars=*/true)) {
    details.odd = mix->odd.operand->name;
    details.cures = mix_cures(index, options, call, *mix,
                              index.provenance().trace_back(call, *mix->odd.operand));
  }
  return details;
}

void check_run(const RunIndex& index, Findings& out) {
  const TargetAnswers* target = out.options().target;
  if (target == nullptr) return;
  const contracts::Contracts& contracts = *out.options().contracts;
  const Runtime& runtime = contracts.runtimes()[target->runtime];
  for (const TargetRefusal& refusal : target->refusals) {
    const OpCall& call = index.run().calls[refusal.call - 1];
    const std::string message =
        fmt::format("{} of {} is refused on {}{}", call.op, call.floating_dtypes().to_string(),
                    named(runtime), runtime.measured ? "" : " (read, not measured)");
    out.add(call, message,
            [&] { return explain(index, call, refusal.answer, runtime, out.options()); });
  }
}

}  // namespace

const Rule fails_on_target = {
    .doc = {.id = "fails-on-target",
            .severity = Severity::kWarning,
            .summary = "an op that ran here is refused on the device and version of --target",
            .why =
                "Which dtypes an op accepts differs by device and LibTorch version; the contracts "
                "of the target say that it refuses these.",
            .fix = "Give all operands one dtype that the target has a kernel for, or run the op "
                   "under autocast there.",
            .example = R"(
# TARGET cpu:1.13
process libtorch=2.11.0
op aten::addmm self=Half[320] mat1=Half[2,320] mat2=Half[320,320] -> Half[2,320] at train.py:40 phase forward
# EXPECT train.py:40: warning: aten::addmm of Half is refused on cpu in LibTorch 1.13.1 [fails-on-target]
# BFloat16 runs in both.
op aten::addmm self=BFloat16[320] mat1=BFloat16[2,320] mat2=BFloat16[320,320] -> BFloat16[2,320] at train.py:41 phase forward
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
