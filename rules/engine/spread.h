// spread.h: what becomes of the op calls of a run when some tensors have another dtype. A work list
// over op calls: what an op answers in decides what its readers get, until nothing changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rules/engine/cure_places.h"

namespace dtypecheck::rules {

enum class Fate : uint8_t { kFine, kRefused, kUnknown };

// A call that is another than it was. Those that stay as they were have no entry.
struct ChangedCall {
  std::vector<DtypeSet> operands;
  std::vector<DtypeSet> results;
  Fate fate = Fate::kFine;
  bool in_autocast = false;  // in a region that the cure opens
};
using ChangedCalls = std::unordered_map<OpCallId, ChangedCall>;

// What is not seen: that a cast takes its dtype from another tensor, as to(other.dtype) does; the
// run has the dtype alone, so that such a cast ends the spread. Of equal calls with operands from
// several places the run has one of them. Backward, autograd gives a gradient the dtype of what it
// is the gradient of: what an op there would refuse is no refusal.
class Spread {
 public:
  Spread(const RunIndex& index, const CurePlaces& places, const contracts::Contracts& contracts);

  ChangedCalls follow(const CureSeeds& seeds);

  // The call with these dtypes.
  OpCall with(const OpCall& call, const ChangedCall& changed, const CureSeeds& seeds) const;

 private:
  struct Answer {
    Fate fate = Fate::kUnknown;
    std::vector<DtypeSet> results;
  };
  struct Work;  // of one cure

  void visit(const OpCall& call, Work& work);
  void visit_parent(const OpCall& call, Work& work) const;
  std::vector<DtypeSet> operands_of(const OpCall& call, const Work& work) const;
  DtypeSet now(const Operand& operand, const Work& work) const;
  bool is_settled_by_autocast(const OpCall& call, const Work& work) const;
  std::vector<DtypeSet> results_of_children(const OpCall& call, const Work& work) const;
  void settle(ChangedCalls& calls) const;

  const Answer& ask(const OpCall& call, const ChangedCall& changed, const CureSeeds& seeds);
  Answer find_out(const OpCall& call, const OpCall& asked);
  std::optional<Answer> by_nature(const OpCall& call, const OpCall& asked) const;
  std::optional<Answer> measured(const OpCall& call, const OpCall& asked) const;
  std::optional<Answer> by_behaviour(const OpCall& call, const OpCall& asked) const;
  std::optional<Answer> seen_elsewhere(const OpCall& asked);
  std::optional<Answer> by_message(const OpCall& call, const OpCall& asked) const;
  bool is_repaired_inside(const OpCall& call) const;
  contracts::Answer ask_contracts(const OpCall& call) const;

  const RunIndex& index_;
  const Run& run_;
  const CurePlaces& places_;
  const contracts::Contracts& contracts_;
  std::unordered_map<uint64_t, Answer> answers_;              // by all that was asked
  std::unordered_map<uint64_t, std::vector<DtypeSet>> seen_;  // by op and dtype; filled once
};

}  // namespace dtypecheck::rules
