// run_index.h: an index of a run, so that rules find what reads a result or what threw without
// searching. Built once for each judgement, in time linear in the operands.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/provenance.h"
#include "core/run.h"
#include "ops/ops.h"
#include "rules/contracts/contracts.h"

namespace dtypecheck::rules {

class RunIndex {
 public:
  explicit RunIndex(const Run& run,
                    const contracts::Contracts& contracts = contracts::Contracts::shipped());

  const Run& run() const { return run_; }
  // Any of the facts of ops/ops.h.
  bool has(const OpCall& call, uint64_t facts) const { return (facts_[call.id - 1] & facts) != 0; }
  // The call that gave the operand; of one that has any of the facts, what gave its first operand,
  // and so on. nullptr: none was seen.
  const OpCall* maker_behind(const Operand& operand, uint64_t facts) const;
  // The call, and what made its operands, theirs, and so on, the nearest first: some 64 at most.
  // Operands that do not lead on are left out.
  using LeadsOn = std::function<bool(const OpCall& call, const Operand& operand)>;
  std::vector<const OpCall*> with_makers(const OpCall& call, const LeadsOn& leads_on = {}) const;

  // What the contracts measured. An op that promotes answers in the promoted dtype of its operands,
  // and refuses no mix of floating dtypes. For that, and for what a derivative's formula refuses,
  // the contracts of the CPU stand for every device.
  bool promotes(const OpCall& call) const { return promotes_[call.id - 1]; }
  bool refuses_in_backward(const OpCall& call) const;
  // The dtypes of this innermost call's operands are why it threw, not their shapes, indices or
  // devices: its message speaks of dtypes and they were not measured to be taken, or they were
  // measured to be refused in these words.
  bool is_refused_for_dtypes(const OpCall& throwing_call) const;

  // The calls that rules judge, in the order of the run. Not what a compiler traces with fake or
  // meta tensors, for nothing was computed; nor what threw inside a call that keep-going then
  // repaired: that call is judged instead.
  const std::vector<std::reference_wrapper<const OpCall>>& judged_calls() const {
    return judged_calls_;
  }
  bool is_judged(const OpCall& call) const { return is_judged_[call.id - 1]; }

  const ProvenanceIndex& provenance() const { return provenance_; }

  // Calls with an operand that originates in this one, each once.
  std::span<const OpCallId> consumers(const OpCall& call) const;

  // The innermost call that threw what also came out of this one; the call itself when there is
  // none inside it, nullptr when it did not throw.
  const OpCall* throwing_call(const OpCall& call) const;
  // The outermost call that this exception left: what the user's line called.
  const OpCall& refused_by_user(const OpCall& throwing_call) const;
  // An op of the dispatcher raised the same message: it is one failure, seen twice.
  bool is_raised_by_an_op(uint32_t process, const std::string& message) const;

  // As the _to_copy inside of aten::to, which is the same cast.
  bool is_inside_cast(const OpCall& call) const;

  // Trainable leaf written by arithmetic in an optimizer's step: first such operand, or nullptr.
  const Operand* stepped_parameter(const OpCall& call, DtypeSet dtypes) const;

  // Where autocast was on for a device in this process, if anywhere.
  const OpCall* autocast_elsewhere(uint32_t process, const std::string& device) const;

  // The last call before this one in a region of its device that the same function entered above
  // the line of this one, and has left by then.
  const OpCall* autocast_before(const OpCall& call) const;

  // The last call before this one of the same line, or else of the same module, that ran in a
  // region of its device, of which the line is known.
  const OpCall* autocast_then(const OpCall& call) const;

  // The last call before this one of the same op at the same place that returned, with operands of
  // one floating dtype.
  const OpCall* ran_before(const OpCall& call) const;

  // How often a cast's line cast to the same dtype.
  uint64_t casts_beside(const OpCall& cast) const;

  // How many tensors without a value, as layers get for their parameters, the function that made
  // this one made in a dtype, in the same phase: batches are rebuilt in such tensors, too.
  uint64_t made_beside(const OpCall& maker, Dtype dtype) const;

  // How many other parameters of the same root module ("unet"), trained or frozen like this one,
  // were seen in each dtype. Others say nothing of what this one should be: a VAE is Float beside a
  // Half UNet on purpose, and so is the LoRA inside it. A lone layer ("kernel.weight") is in no
  // model, and is held against all parameters of the process.
  std::map<Dtype, size_t> parameter_dtypes(uint32_t process, const std::string& parameter) const;
  // Of the parameters below the module that were read: of those that are trained, where some are.
  DtypeSet dtypes_in(uint32_t process, std::string_view module) const;
  bool has_parameters_in(uint32_t process, Dtype dtype) const;
  // A factory that no line gives a dtype: it makes the default's, or that of what it is like.
  bool is_unasked(const OpCall* made) const {
    return made != nullptr && has(*made, ops::kFactory) && made->scalar("dtype") == nullptr;
  }
  // The first call that read the parameter in Float; kNoOpCall where none did.
  OpCallId first_read_in_float(uint32_t process, const std::string& parameter) const;

 private:
  bool threw_in_repaired(const OpCall& call) const;
  void index_consumers();
  void index_throws();
  void index_autocast();

  const Run& run_;
  ProvenanceIndex provenance_;
  const contracts::Contracts& contracts_;
  std::vector<uint64_t> facts_;
  std::vector<bool> promotes_;
  std::vector<bool> is_judged_;
  std::vector<std::reference_wrapper<const OpCall>> judged_calls_;
  std::vector<uint32_t>
      consumer_begin_;  // consumers of call id are consumers_[begin[id-1] .. begin[id])
  std::vector<OpCallId> consumers_;
  std::vector<OpCallId> throwing_call_;
  std::set<std::pair<uint32_t, std::string>> op_errors_;
  std::map<std::pair<uint32_t, std::string>, OpCallId> autocast_;

  // Filled when first asked for: only a run with a mismatch needs it.
  using Owner = std::tuple<uint32_t, std::string, bool>;  // process, root module, trained
  struct ParameterDtypes {
    std::map<std::pair<uint32_t, std::string>, std::pair<Owner, Dtype>> of;  // process, parameter
    std::map<Owner, std::map<Dtype, size_t>> by_owner;
    std::set<std::pair<uint32_t, Dtype>> read_in;  // at any time, by process
  };
  const ParameterDtypes& parameters() const;
  mutable std::optional<ParameterDtypes> parameters_;
  mutable std::optional<std::map<std::pair<uint32_t, std::string>, OpCallId>> read_in_float_;
  using CallPlace =
      std::tuple<uint32_t, std::string_view, std::string_view, int, std::string_view, int,
                 std::string_view>;  // process, op, line, inner line, module
  static CallPlace place_of(const OpCall& call);
  mutable std::optional<std::map<CallPlace, std::vector<OpCallId>>> ran_;
  using CastPlace = std::tuple<uint32_t, std::string_view, int, std::optional<Dtype>>;
  static CastPlace cast_line_of(const OpCall& cast);
  mutable std::optional<std::map<CastPlace, uint64_t>> casts_;
  using MakingFunction =
      std::tuple<uint32_t, std::string_view, std::string_view, Phase, std::optional<Dtype>>;
  mutable std::optional<std::map<MakingFunction, uint64_t>> made_;
};

}  // namespace dtypecheck::rules
