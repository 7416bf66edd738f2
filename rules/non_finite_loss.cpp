// Finds: a loss that was inf or NaN when backward() was called on it, as the tracer sees it without
// value checks, where it is on the CPU.
// Misses: a loss on a GPU, which would have to be waited for; gradients and parameters that became
// so from a finite loss in the last step. Silent where first-non-finite says where it began, and on
// an infinite loss beside a GradScaler, which leaves out such steps.
#include <fmt/format.h>

#include <map>
#include <set>

#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

struct Seen {
  const OpCall* loss = nullptr;
  const NonFinite* what = nullptr;
  bool has_origin = false;  // value checks tell where it began
  bool has_scaler = false;
};

void look_at(const RunIndex& index, const OpCall& call, Seen& seen) {
  seen.has_scaler |= index.has(call, ops::kScalesGradients);
  for (const NonFinite& what : call.non_finite) {
    if (!what.is_loss) {
      seen.has_origin |= what.is_nan || what.operands_were_finite;
    } else if (seen.what == nullptr || what.step < seen.what->step ||
               (what.step == seen.what->step && what.order < seen.what->order)) {
      seen.loss = &call;
      seen.what = &what;
    }
  }
}

void check_run(const RunIndex& index, Findings& out) {
  std::map<uint32_t, Seen> processes;
  for (const OpCall& call : index.judged_calls()) look_at(index, call, processes[call.process]);
  for (const auto& [process, seen] : processes) {
    if (seen.loss == nullptr || seen.has_origin) continue;
    if (!seen.what->is_nan && seen.has_scaler) continue;
    const char* value = seen.what->is_nan ? "NaN" : "infinite";
    const uint32_t step = seen.what->step;
    const std::string message = fmt::format("the loss that backward() is called on is {}", value);
    out.add(*seen.loss, message, [&] {
      return Details{.why = fmt::format(
                         "the first time {}; its gradients are lost, and with them the weights that "
                         "they go into; whether another fix of this report changes that is not known",
                         step == 0 ? "before the first step" : fmt::format("in step {}", step)),
                     .severity = Severity::kError};
    });
  }
}

}  // namespace

const Rule non_finite_loss = {
    .doc = {.id = "non-finite-loss",
            .severity = Severity::kError,
            .summary = "the loss was inf or NaN when backward() was called on it",
            .why =
                "All gradients of such a loss are NaN or inf, and after the next step so are the "
                "weights. Where it began is not known without a look at the values.",
            .fix = "Record the run once more with dtypecheck trace --check-values: it names the op "
                   "that gave the first inf or NaN.",
            .example = R"(
op aten::ones_like self=Float[]^ -> Float[] non-finite nan loss 3 1 at train.py:40 phase backward step 1-3
# EXPECT train.py:40: error: the loss that backward() is called on is NaN [non-finite-loss]
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
