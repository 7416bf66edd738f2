// cure_places.h: which tensors of a recorded run a cure casts, and around which op calls it opens
// autocast. What follows from that is spread.h's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cure.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

// All that a cure changes by itself.
struct CureSeeds {
  std::map<OpCallId, std::vector<size_t>> operands;  // that are cast, by their number in the call
  std::set<OpCallId> results;                        // calls whose results are cast
  std::set<OpCallId> under_autocast;                 // calls that a region is opened around
  Dtype dtype = Dtype::kUndefined;                   // of the casts
  Dtype back = Dtype::kUndefined;  // what the calls with cast operands give is cast to, if anything
  AutocastState::Region region;
  size_t touched = 0;           // tensors, parameters or calls: how large the change is
  bool lowers_trained = false;  // a trained parameter is narrower than it was
  std::string wrong;            // why it can do no good, where the places alone tell
  std::string doubt;            // what the places leave open

  bool is_empty() const { return operands.empty() && results.empty() && under_autocast.empty(); }
};

class CurePlaces {
 public:
  explicit CurePlaces(const RunIndex& index);

  // `odd` is the operand that the finding is about, which a module's input may be.
  CureSeeds seeds(const Cure& cure, const std::string& odd) const;
  // Cures with one key have the same seeds: a run has many findings and few modules.
  std::string key(const Cure& cure, const std::string& odd) const;
  std::vector<OpCallId> children(const OpCall& call) const;
  // Not a parameter, and not made by an op inside of the module.
  bool is_from_outside(const Operand& operand, const std::string& module) const;

 private:
  using Use = std::pair<OpCallId, size_t>;  // an operand: its call and its number there

  CureSeeds cast_operand(const Cure& cure, const OpCall& call) const;
  CureSeeds cast_result(const Cure& cure, const OpCall& call) const;
  void cast_handed_over(const OpCall& maker, CureSeeds& seeds) const;
  CureSeeds cast_module_input(const Cure& cure, const OpCall& call, const std::string& odd) const;
  CureSeeds cast_parameters(const Cure& cure, const OpCall& call) const;
  CureSeeds open_autocast(const Cure& cure, const OpCall& call) const;
  CureSeeds master_weights(const Cure& cure, const OpCall& call) const;

  void cast_in(const OpCall& outer, const Operand& operand, CureSeeds& seeds) const;
  void cast_for_backward(const OpCall& forward, const Operand& operand, CureSeeds& seeds) const;
  bool are_all_trained(const std::set<std::string>& names, uint32_t process) const;
  void cast_in_step(uint32_t process, CureSeeds& seeds) const;
  void cast_parameter(const Use& use, CureSeeds& seeds, std::set<std::string>& names) const;
  void cast_nameless_parameters(const std::string& module, const OpCall& call,
                                CureSeeds& seeds) const;
  const Operand* only_input(const Cure& cure, const OpCall& call, const std::string& odd) const;
  const OpCall* open_region(const OpCall& call) const;
  void follow_casts(const std::string& module, uint32_t process, CureSeeds& seeds) const;
  void add_scope(const Cure& cure, const OpCall& call, CureSeeds& seeds) const;
  void add_lines_behind(const OpCall& call, CureSeeds& seeds) const;
  void keep_in_forward(const OpCall& call, CureSeeds& seeds) const;
  void check_integers(const OpCall* origin, DtypeSet dtypes, CureSeeds& seeds) const;

  std::vector<Use> parameters_cast_at(const SourceLine& line) const;
  std::vector<OpCallId> calls_beside(const OpCall& call) const;
  std::vector<OpCallId> calls_under(const std::string& module, uint32_t process) const;

  const RunIndex& index_;
  const Run& run_;
  std::vector<std::pair<OpCallId, OpCallId>> children_;  // parent, child
  std::vector<std::pair<uint64_t, OpCallId>> by_place_;  // op and line, hashed
  std::vector<std::pair<std::string_view, OpCallId>> by_module_;
  std::vector<std::pair<std::string_view, Use>> by_parameter_;
};

}  // namespace dtypecheck::rules
