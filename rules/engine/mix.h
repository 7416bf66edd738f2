// mix.h: whether an op was refused because its operands disagree in floating dtype, and which of
// them a person would call the odd one out.
#pragma once

#include <optional>
#include <string>

#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

// One side of a mix.
struct Side {
  const Operand* operand = nullptr;
  Role role = Role::kInput;  // as the user sees it: mat2 of a linear's addmm is the weight
  std::string parameter;     // also when a transposed view of it was passed
  Dtype dtype = Dtype::kUndefined;
  bool is_computed = false;     // it takes a parameter's place, and is none
  bool is_cast_weight = false;  // a cast of a parameter, on the right of a product

  bool is_parameter() const { return role == Role::kWeight || role == Role::kBias; }
  std::string noun() const;  // "input", "weight", "tensors[1]", "gradient"
};

// What people call an operand: "input", "target", "gradient".
std::string noun_of(const Operand& operand);

struct Mix {
  Side odd;
  Side other;  // what the odd one disagrees with
};

// The dtype that a function raised the side's parameter from, where the module has run with it
// since: in an earlier call, which left it so.
std::optional<Dtype> raised_since(const RunIndex& index, const OpCall& call, const Side& side);
// The parameter was read in Float before, and what it is now no cast of it made: a state that was
// loaded or swapped in.
bool replaced_since(const RunIndex& index, const OpCall& call, const Side& side);

// One of few in its dtype in a model that has the other, as far as it was read, or as it was
// loaded.
bool is_lone_parameter(const RunIndex& index, const Operand& parameter, uint32_t process,
                       Dtype rest);

// The odd side comes of such a parameter, and meets another of the model. `source` is where the odd
// side's dtype came from.
bool comes_of_lone_parameter(const RunIndex& index, const OpCall& call, const Side& odd,
                             const Side& other, const Provenance& source);

// Of a call that was refused, and only when its dtypes were the reason. The message is the one that
// came out of the call, from an op inside it if need be. The operands of a "python::" call are
// merely a function's variables, so there the message must name both dtypes.

std::optional<Mix> refused_mix(const RunIndex& index, const OpCall& call);

// The dtypes disagree, whatever became of the call.
std::optional<Mix> find_mix(const RunIndex& index, const OpCall& call, bool with_scalars);

}  // namespace dtypecheck::rules
