// provenance.h: how a tensor got its dtype, and how that is said. Rules and all report formats ask
// here, so that no two parts of a finding name different makers of one dtype.
//
// The tracer notes for each operand the op call that gave the tensor (Operand::origin). That call
// made the dtype, by a cast or as a factory, or took it over from one of its own operands
// (ProvenanceStep::from), with whose origin the provenance goes on. If several operands have the
// dtype of the result, ProvenanceIndex::of chooses one.
//
// A tensor that another process made has no origin. What the workers of a DataLoader make is found
// among the results in their own traces, by dtype and shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/run.h"

namespace dtypecheck {

struct ProvenanceStep {
  enum class Kind : uint8_t { kPassedOn, kPromotion, kCast, kMade };

  const OpCall* call = nullptr;
  const Operand* from =
      nullptr;  // the call's operand that had the dtype; nullptr: the call made it. Of one that
                // casts a dtype back: the operand of the cast that took it
  Kind kind = Kind::kPassedOn;
  bool is_in_worker = false;  // the call is in the trace of a DataLoader's worker
};
const char* step_kind_name(ProvenanceStep::Kind kind);  // "passed on", "promotion", "cast", "made"

struct Provenance {
  DtypeSet dtypes;
  std::vector<ProvenanceStep> steps;  // nearest first; empty when no op call was seen
  const OpCall* maker = nullptr;      // of the last step, when that made the dtype
  const OpCall* promotion = nullptr;  // the earliest that mixed dtypes and answered in this one …
  const Operand* promoted_by = nullptr;  // … and its operand that had this dtype
  const Operand* parameter = nullptr;    // the earliest source that is a parameter
  bool is_gradient = false;     // of a backward pass: what it is of decides about its dtype
  bool is_from_worker = false;  // of a DataLoader: the last steps are in the trace of one …
  bool is_probable = false;     // … and other results of the workers would fit as well
};

// At most eight of the steps, for reports that list them: the nearest ones and the last, before
// which the rest is left out.
struct ShownStep {
  const ProvenanceStep* step;
  size_t left_out_before = 0;
};
std::vector<ShownStep> shown_steps(const Provenance& provenance);

class ProvenanceIndex {
 public:
  explicit ProvenanceIndex(const Run& run) : run_(run) {}

  // Of an operand of `reader`.
  Provenance trace_back(const OpCall& reader, const Operand& operand) const;

  // The operand itself, or what it is a view of, when `accept` is true of it; nullptr otherwise.
  const Operand* behind_views(const Operand& operand, bool (*accept)(const Operand&)) const;

 private:
  struct HandedOver {  // a result in a worker's trace that may have left it
    const OpCall* call;
    const Operand* result;
    bool is_read;  // by the worker itself
  };
  struct Fit {
    const OpCall* call = nullptr;
    bool is_only_one = true;
  };
  // By one operand of each call.
  Provenance follow(const OpCall& reader, const Operand& operand) const;
  Fit handed_over_to(const OpCall& reader, const Operand& operand) const;
  const std::vector<HandedOver>& handed_over(uint32_t reading_process) const;

  const Run& run_;
  // By reading process; filled when first asked for.
  mutable std::optional<std::vector<std::vector<HandedOver>>> handed_over_;
};

// The words. Names are as the program gave them: for a terminal they go through printable().

std::string made_by(const OpCall& call);  // "aten::ones at data.py:17"

// For a table, which has the place in a column: "aten::cat", "load (aten::empty)", and in another
// process "worker's aten::stack".
std::string step_name(const ProvenanceStep& step);
// "aten::_to_copy casts to Half", "aten::cat promotes to Float because of tensors[1]".
std::string step_sentence(const Provenance& provenance, const ProvenanceStep& step);

// "cast to Half by aten::_to_copy at train.py:12"; "" when the maker is not known.
std::string made_text(const Provenance& provenance);
// What follows a tensor's name: "was cast to Half by aten::_to_copy at train.py:12", "is Float
// because te.shared.weight is, which was made in Float by aten::empty at load.py:5"; or "".
std::string how_made(const Provenance& provenance);
// The same in brackets, for a dtype that has been named: " (from aten::ones at data.py:17)"; or "".
std::string made_from(const Provenance& provenance);

}  // namespace dtypecheck
