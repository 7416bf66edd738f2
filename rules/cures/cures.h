// cures.h: proposes cures: what to change, at which line, in words. Which expression of the line
// that is, and how the change is written there, the program's own Python finds
// (cures/write_cure.py), and in C++ cures/cpp_source.py. Casts are in cures.cpp, autocast and
// masters in autocast_cures.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/cure.h"
#include "core/provenance.h"
#include "rules/contracts/contracts.h"
#include "rules/engine/rule.h"

namespace dtypecheck::rules {

inline constexpr const char* kFitNumber = "give a number that the dtype holds";

class CureProposer {
 public:
  CureProposer(const RunIndex& index, const JudgeOptions& options)
      : index_(index), options_(options) {}

  // At the line of the call: the operand itself, or, for an op inside of a module, what the module
  // is called with. Nothing where no line of the user's has it: inside of a library, or between two
  // layers of one module. `noun` is what people call it.
  std::optional<Cure> cast_operand(const OpCall& call, const Operand& operand, Dtype dtype,
                                   const std::string& noun) const;
  // To Float, for an op that takes nothing lower. If the program's parameters are lower, the layers
  // behind it need the lower dtype again: if the op returns the dtype it takes, its result is cast
  // back at once.
  std::vector<Cure> raise_operand(const OpCall& call, const Operand& operand,
                                  const std::string& noun) const;
  // Of an op that 16 bits are too few for: what leads to it from the first op on that autocast
  // computes in Float on a GPU; the op alone where a line of the user's calls it; all of the
  // function's arithmetic that leads to it; what the function is given; the frozen model that it is
  // in.
  std::vector<Cure> compute_in_float(const OpCall& call) const;
  // What a model was given, where it is called, when a line of its own code reads it beside
  // weights.
  std::optional<Cure> cast_for_model(const OpCall& call, const Operand& operand, Dtype dtype) const;
  // A variable of the function that raised, for all that read it: what is kept for the backward
  // pass.
  std::optional<Cure> cast_own_variable(const OpCall& call, const Operand& operand,
                                        Dtype dtype) const;
  // A number that the dtype does not have, in place of which its lowest or highest is written.
  Cure fit_number(const OpCall& call, Dtype dtype) const {
    return rewrite(call, dtype, "number", kFitNumber);
  }
  // An epsilon that is 0 in the dtype, in place of which the least that it has is added.
  Cure fit_epsilon(const OpCall& call, Dtype dtype) const {
    return rewrite(call, dtype, "epsilon", "add an epsilon that the dtype holds");
  }
  // A clamp's bound beside 1 that is 1 in the dtype.
  Cure fit_bound(const OpCall& clamp, Dtype dtype) const {
    return rewrite(clamp, dtype, "bound", "give it a bound that the dtype holds");
  }
  // What ~ inverts as bytes is a mask.
  Cure invert_as_bool(const OpCall& inversion) const {
    return rewrite(inversion, Dtype::kBool, "inverted",
                   "cast it to Bool before ~, which flips the bits of a byte");
  }
  // A parameter that is trained keeps its dtype: what reads it is cast.
  static bool is_learned(const Operand& operand);
  // Labels, indices and masks: at the line of a dataset, a loader or the model that makes them, and
  // at that of the call.
  std::vector<Cure> cast_chooser(const OpCall& call, const Operand& operand, Dtype dtype,
                                 const std::string& noun) const;
  // Integers and masks that a line casts with the floating tensors of a batch are left as they are:
  // at the cast that made the operand.
  std::optional<Cure> cast_floats_alone(const OpCall& call, const Operand& operand) const;
  // Several of one call at once.
  std::optional<Cure> cast_operands(const OpCall& call, const std::vector<const Operand*>& operands,
                                    Dtype dtype) const;
  // Variables of NumPy's, below the statements that bind them.
  std::optional<Cure> cast_arrays(const OpCall& call, const std::vector<const Operand*>& operands,
                                  Dtype dtype) const;
  // The variable that the line reads, below the statement that binds it; with all that is bound
  // there in the operand's dtype, or alone.
  std::optional<Cure> cast_drawn(const OpCall& call, const Operand& operand, Dtype dtype) const;
  std::optional<Cure> cast_variable(const OpCall& call, const Operand& operand, Dtype dtype) const;
  // In the line of the call and back: nothing where the call gives another dtype than it takes.
  std::optional<Cure> cast_and_back(const OpCall& call, const Operand& operand, Dtype dtype) const;
  // At the line of the user's own that made a tensor, by a cast or as a factory.
  std::optional<Cure> cast_result(const OpCall& maker, Dtype dtype) const;
  // The same of what was cast down: it is kept as it was.
  std::optional<Cure> keep_in(const OpCall& rounded, Dtype dtype) const;
  // "data.to(scale.dtype)": at the line of the user's own that made the other tensor.
  std::optional<Cure> cast_giver(const OpCall& cast, Dtype dtype) const;
  // What copy_() writes to, in the dtype of what is written: at the line that makes it or asks for
  // it.
  std::vector<Cure> widen_written(const OpCall& copy) const;
  // What the module gives, by the call that reads its parameter; in words.
  Cure cast_output(const OpCall& call, const std::string& module, Dtype dtype) const;
  // Those of the module, of which the operand of the call is one; "" where it has no name.
  Cure cast_parameters(const OpCall& call, const Operand& operand, const std::string& module,
                       Dtype dtype) const;
  // Nothing where autocast is on already, has no such dtype, or is known not to help the call.
  std::optional<Cure> open_autocast(const OpCall& call, Dtype dtype) const;
  // The line alone without autocast, which lowers what the call is given.
  std::optional<Cure> leave_autocast(const OpCall& call) const;
  // The same for the op that autocast made this cast for; nothing of another cast.
  std::optional<Cure> leave_autocast_of(const OpCall& cast) const;
  // Moves the region of the same function that ends above the line, so that it covers the line.
  std::optional<Cure> move_autocast(const OpCall& call) const;
  // The region that the same code ran in before, around what leads to it without one.
  std::optional<Cure> reopen_autocast(const OpCall& call) const;
  // Trainable parameters in Float, with the forward pass under autocast, at the optimizer's step.
  Cure master_weights(const OpCall& call, const Operand* parameter) const;
  // The same, and the line that lowered the model of this parameter: first where all of it trains.
  std::vector<Cure> masters_of(const OpCall& call, const Operand* parameter) const;
  // No dtype in the cast that lowered the parameter while it was trained.
  std::optional<Cure> keep_dtype(const OpCall& call, const Operand& parameter) const;
  // At the outermost line that hands the dtype of a cast or factory on, where another line than its
  // own does.
  std::optional<Cure> ask_for(const OpCall& maker, Dtype dtype) const;
  // Float at the line of the user's own that asked for the parameter in 16 bits.
  std::optional<Cure> ask_otherwise(const OpCall& call, const Operand& parameter) const;
  // The line's expression written another way; `how` is a name of write_cure.py, `what` the words.
  Cure rewrite(const OpCall& call, Dtype dtype, const std::string& how,
               const std::string& what) const;
  // Where a softmax reads the sum of scores and a mask that is beyond Half's end: the sum is held
  // at its lowest number.
  std::optional<Cure> hold_scores(const OpCall& softmax) const;
  // A buffer that was lowered with its module by this cast keeps its dtype when the module is cast.
  // The reader is in a method of that module.
  std::optional<Cure> keep_buffer(const OpCall& cast, const OpCall& reader) const;
  // An extension's function: its arguments in the one dtype are cast to the other.
  Cure cast_arguments(const OpCall& call, Dtype dtype, const std::string& callee) const;

  // The maker of the operand is in the same file, and more than this call reads what it made.
  bool is_made_for_more(const OpCall& call, const OpCall* maker) const;
  // The call's line, as it stands there.
  std::string line_of(const OpCall& call) const;
  // The call's line says the op's name, as far as it is known: a layer's weight is made unnamed.
  bool is_named(const OpCall& call) const;

 private:
  // The outermost line that hands the dtype on to the call that made a tensor in it.
  SourceLine line_asking(const OpCall& maker, Dtype dtype) const;
  // Behind the last layer, from the call back to the first: each op with what it reads in 16 bits.
  std::vector<std::pair<const OpCall*, const Operand*>> arithmetic_before(const OpCall& call) const;
  std::vector<Cure> raise_before(const OpCall& call, std::vector<Cure> alone) const;
  bool is_float_under_autocast(const OpCall& call) const;
  bool has_lowered_floats(const OpCall& call, const Operand& operand) const;
  bool has_frozen(const OpCall& call, const std::string& module) const;
  bool calls_function(const OpCall& call) const;
  bool may_call_module(const OpCall& call) const;
  bool is_from_outside(const OpCall& call, const Operand& operand, std::string_view module) const;
  bool is_handed_down(const OpCall& call, const Operand& operand, std::string_view module) const;
  bool takes_other_floats(const OpCall& call, std::string_view module, Dtype dtype) const;

  const RunIndex& index_;
  const JudgeOptions& options_;
};

// What the call becomes in a region of this dtype: autocast casts where it sees the outermost call
// that it knows, so that one around it may be taken where the call itself is not.
contracts::Acceptance under_autocast(const RunIndex& index, const JudgeOptions& options,
                                     const OpCall& call, Dtype dtype);

// The dtypes, in order, of all tensors with as many rows that the operand's line makes: those of a
// loader's batch.
std::vector<Dtype> drawn_with(const Run& run, const OpCall& call, const Operand& operand);

// A mask of the program's own, or the sum of several.
bool is_of_mask(const RunIndex& index, const Operand& operand, int depth = 0);

// The line makes tensors of several dtypes, as that of a helper for all of a batch.
bool makes_several(const Run& run, const OpCall& maker);

// A line of the package called an op of the process.
bool has_package(const Run& run, uint32_t process, std::string_view name);

// A parameter by its name; in C++, where none has one, a leaf that is trained.
bool is_weight(const Operand& operand);

// What the files that propose cures share.
inline void add(std::vector<Cure>& cures, std::optional<Cure> more) {
  if (more) cures.push_back(*std::move(more));
}
inline void add(std::vector<Cure>& cures, std::vector<Cure> more) {
  for (Cure& cure : more) cures.push_back(std::move(cure));
}
Cure cure_of(CureKind kind, const OpCall& call, std::string operand, Dtype dtype);
std::string at(const SourceLine& line);      // ", train.py:40", or nothing where it is not known
bool is_in_forward(const SourceLine& line);  // of a module, which is called no more there

}  // namespace dtypecheck::rules
