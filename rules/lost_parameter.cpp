// Finds: a leaf that is to be trained, and that one line casts once before the first step: what the
// cast gives is no leaf and no Parameter, so that no optimizer steps it, while each backward pass
// goes through it. Misses: such a leaf of which the run has fewer than two steps. Silent on a copy
// that each step casts anew.
#include <fmt/format.h>

#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

bool is_at_its_line(const OpCall& one, const OpCall& call) {
  return one.process == call.process && one.op == call.op && one.site.line == call.site.line;
}

bool makes_copy_once(const RunIndex& index, const OpCall& call) {
  return index.has(call, ops::kCast) && call.site.phase == Phase::kLoad &&
         call.outcome == Outcome::kReturned && call.operands.size() == 1 &&
         call.operands.front().is_leaf && call.operands.front().parameter.empty() &&
         !call.results.empty() && call.results.front().requires_grad;
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  if (!makes_copy_once(index, call)) return;
  bool is_trained = false;
  for (const OpCall& one : index.judged_calls()) {
    if (!is_at_its_line(one, call)) continue;
    if (one.site.phase == Phase::kForward) return;
    is_trained |= one.site.phase == Phase::kBackward && one.last_step > one.first_step;
  }
  if (!is_trained) return;
  out.add(call,
          fmt::format("no optimizer steps a parameter that was cast to {} after it was made",
                      dtype_name(*call.result_dtype())),
          [&] {
            const CureProposer propose(index, out.options());
            return Details{
                .odd = call.operands.front().name,
                .why = fmt::format("a cast of a Parameter gives a new tensor, which is no "
                                   "Parameter: neither parameters() nor state_dict() has it, and "
                                   "the gradient goes to the {} one that nobody reads",
                                   dtype_word(call.operands.front())),
                .fix = "cast what the Parameter is made of, and not the Parameter",
                .cures = {propose.rewrite(call, *call.result_dtype(), "parameter cast",
                                          "cast what the Parameter is made of")}};
          });
}

}  // namespace

const Rule lost_parameter = {
    .doc = {.id = "lost-parameter",
            .severity = Severity::kWarning,
            .summary =
                "a Parameter was cast after it was made, and the result computes in its place",
            .why = "nn.Parameter(x).float() is no Parameter where x has another dtype: the cast "
                   "gives a new tensor. A module does not register it, no optimizer steps it, and "
                   "no checkpoint has it, but it computes, so that nothing is raised.",
            .fix = "Cast what it is made of: nn.Parameter(x.float()).",
            .example = R"(
op aten::_to_copy self=BFloat16[64]^^ dtype:=Float -> Float[64]^ at dora.py:5 Dora.__init__ phase load
# EXPECT dora.py:5: warning: no optimizer steps a parameter that was cast to Float after it was made [lost-parameter]
# EXPECT-FIX cast what the Parameter is made of, dora.py:5
op aten::_to_copy self=Float[64] dtype:=BFloat16 -> BFloat16[64] at dora.py:5 Dora.__init__ phase backward step 1-20 count 20
# Each step casts it anew, also the first, which nothing shows to be one.
op aten::_to_copy self=Float[64]^^ dtype:=BFloat16 -> BFloat16[64]^ at step.py:9 work phase load
op aten::_to_copy self=Float[64]^^ dtype:=BFloat16 -> BFloat16[64]^ at step.py:9 work phase forward step 2-20 count 19
op aten::_to_copy self=BFloat16[64] dtype:=Float -> Float[64] at step.py:9 work phase backward step 1-20 count 20
# One backward pass, as of an input.
op aten::_to_copy self=Float[64]^^ dtype:=BFloat16 -> BFloat16[64]^ at attack.py:3 main phase load
op aten::_to_copy self=BFloat16[64] dtype:=Float -> Float[64] at attack.py:3 main phase backward step 1
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
