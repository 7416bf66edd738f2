#include "rules/engine/target.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/follow_links.h"

namespace dtypecheck::rules {
namespace {

using contracts::Acceptance;
using contracts::Answer;
using contracts::Contracts;
using contracts::Mode;

class Verdicts {
 public:
  Verdicts(const RunIndex& index, const Contracts& contracts, size_t target)
      : index_(index), contracts_(contracts), target_(target) {}

  TargetAnswers take() {
    const Run& run = index_.run();
    found_.runtime = target_;
    answers_.resize(run.calls.size());
    for (const OpCall& call : run.calls) answers_[call.id - 1] = answer(call);
    for (const OpCall& call : run.calls) {
      if (!is_asked(call) || is_decided_outside(call)) continue;
      const Answer& said = answers_[call.id - 1];
      if (said.acceptance != Acceptance::kUnknown) ++found_.known;
      if (said.acceptance == Acceptance::kRejects) found_.refusals.push_back({call.id, said});
      if (said.acceptance == Acceptance::kUnknown && computes(call)) found_.unknown.insert(call.op);
    }
    return std::move(found_);
  }

 private:
  // A program that has its model on a GPU leaves on the CPU there what it leaves on the CPU here.
  bool is_asked(const OpCall& call) const {
    if (call.outcome != Outcome::kReturned || !index_.is_judged(call)) return false;
    const bool stays_on_cpu = contracts_.runtimes()[target_].device != "cpu" &&
                              call.device_type() == "cpu" &&
                              index_.run().process_of(call).has_gpu();
    return !stays_on_cpu;
  }

  // Casts, views and factories take any dtype everywhere.
  bool computes(const OpCall& call) const {
    const bool is_plain = index_.has(call, ops::kCast | ops::kPassesOn | ops::kFactory);
    return call.op.starts_with("aten::") && !call.floating_dtypes().empty() && !is_plain;
  }

  template <typename Is>
  bool has_outer(const OpCall& call, Is is) const {
    bool found = false;
    follow_links(index_.run().call(call.parent), [&](const OpCall& outer) {
      found = is(outer);
      return found ? nullptr : index_.run().call(outer.parent);
    });
    return found;
  }

  // What autocast has called again runs below it, and so does all inside.
  Mode mode_of(const OpCall& call) const {
    const auto is_inner = [](const OpCall& outer) { return outer.autocast.is_inner; };
    const bool below = call.autocast.is_inner || has_outer(call, is_inner);
    const bool on = call.autocast.region_for(call.device_type()) != nullptr;
    return on && !below ? Mode::kAutocast : Mode::kCall;
  }

  Answer answer(const OpCall& call) const {
    if (!is_asked(call)) return {};
    const Mode mode = mode_of(call);
    const Process& process = index_.run().process_of(call);
    const auto own = contracts_.find(call.device_type(), process.libtorch);
    if (own && contracts_.ask(*own, call, mode).acceptance == Acceptance::kRejects) return {};
    const Answer said = contracts_.ask(target_, call, mode);
    if (said.acceptance != Acceptance::kRejects) return said;
    if (has_other_operands_there(call)) return {};
    return mode == Mode::kAutocast ? of_outer(call).value_or(said) : said;
  }

  // A norm keeps its mean in BFloat16 on a CPU and in Float on a GPU, and its backward pass takes
  // what is kept: an operand of another dtype than the op that gives it answers in there.
  bool has_other_operands_there(const OpCall& call) const {
    return std::ranges::any_of(call.operands, [&](const Operand& operand) {
      const OpCall* maker = index_.run().call(operand.origin);
      if (maker == nullptr || maker->id >= call.id) return false;
      const std::vector<Dtype>& there = answers_[maker->id - 1].results;
      for (size_t i = 0; i < std::min(there.size(), maker->results.size()); ++i) {
        const auto here = maker->results[i].dtypes.single();
        if (here && *here != there[i] && operand.dtypes.single() == here) return true;
      }
      return false;
    });
  }

  // Autocast of the target's device may know the op that calls this one, and cast for it:
  // aten::group_norm of aten::native_group_norm. Where the CPU's does not, that op is not recorded.
  std::optional<Answer> of_outer(const OpCall& call) const {
    constexpr std::string_view kNative = "aten::native_";
    if (!call.op.starts_with(kNative)) return std::nullopt;
    OpCall outer = call;
    outer.op = "aten::" + call.op.substr(kNative.size());
    const Answer said = contracts_.ask(target_, outer, Mode::kAutocast);
    return said.acceptance == Acceptance::kAccepts ? std::optional(Answer{}) : std::nullopt;
  }

  bool is_decided_outside(const OpCall& call) const {
    return has_outer(call, [&](const OpCall& outer) {
      return answers_[outer.id - 1].acceptance != Acceptance::kUnknown;
    });
  }

  const RunIndex& index_;
  const Contracts& contracts_;
  size_t target_;
  std::vector<Answer> answers_;
  TargetAnswers found_;
};

}  // namespace

TargetAnswers target_answers(const RunIndex& index, const Contracts& contracts, size_t target) {
  return Verdicts(index, contracts, target).take();
}

}  // namespace dtypecheck::rules
