// cures.h: makes cures: what to change, at which line, in the program's language and with the names
// that the line has. Where the line cannot be read, or has more than one thing that may be meant,
// the cure says in words what to cast and has no code. Casts are in cures.cpp, those of a variable
// for all that reads it in variable_cures.cpp, autocast and masters in autocast_cures.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cure.h"
#include "core/provenance.h"
#include "rules/engine/call_text.h"
#include "rules/engine/rule.h"

namespace dtypecheck::rules {

class CureWriter {
 public:
  CureWriter(const RunIndex& index, const JudgeOptions& options)
      : index_(index), options_(options) {}

  // At the line of the call: the operand itself, or, for an op inside of a module, what the module
  // is called with. Nothing where no line of the user's has it: inside of a library, or between two
  // layers of one module. `noun` is what people call it.
  std::optional<Cure> cast_operand(const OpCall& call, const Operand& operand, Dtype dtype,
                                   const std::string& noun) const;
  // To Float, for an op that takes nothing lower. In a program with lower parameters the layers
  // behind it want what it would have given: where the op gives the dtype that it takes it is cast
  // back at once, and where it gives another, as a Fourier transform does, or several, the first
  // cure says so and has no code, for the place is not known.
  std::vector<Cure> raise_operand(const OpCall& call, const Operand& operand,
                                  const std::string& noun) const;
  // Several of one call at once; nothing where the line does not name each.
  std::optional<Cure> cast_operands(const OpCall& call, const std::vector<const Operand*>& operands,
                                    Dtype dtype) const;
  // What the line draws with the operand and has its dtype as well, where all of it is drawn:
  // "x, y = x.to(torch.float32), y.to(torch.float32)" below "for x, y in loader:".
  std::optional<Cure> cast_batch(const OpCall& call, const Operand& operand, Dtype dtype) const;
  // The same of what a function returns, where it makes several of them alike.
  std::optional<Cure> cast_returned(const OpCall& call, const Operand& operand, Dtype dtype) const;
  // The variable that the line reads, below the statement above that gives it its value: where one
  // of the next lines hands it to another layer.
  std::optional<Cure> cast_variable(const OpCall& call, const Operand& operand, Dtype dtype) const;
  // In the line of the call and back: nothing where the call gives another dtype than it takes.
  std::optional<Cure> cast_and_back(const OpCall& call, const Operand& operand, Dtype dtype) const;
  // At the line of the user's own that made a tensor, by a cast or as a factory.
  std::optional<Cure> cast_result(const OpCall& maker, Dtype dtype) const;
  // What the module gives, by the call that reads its parameter; in words.
  Cure cast_output(const OpCall& call, const std::string& module, Dtype dtype) const;
  // Those of the module, of which the operand of the call is one; "" where it has no name.
  Cure cast_parameters(const OpCall& call, const Operand& operand, const std::string& module,
                       Dtype dtype) const;
  // Nothing where autocast is on already, has no such dtype, or is known not to help the call.
  std::optional<Cure> open_autocast(const OpCall& call, Dtype dtype) const;
  // The region of the same function that ends above the line takes the line in. Nothing where there
  // is none, or no `with` statement opens it.
  std::optional<Cure> move_autocast(const OpCall& call) const;
  // Trainable parameters in Float, with the forward pass under autocast.
  Cure master_weights(const OpCall& call) const;
  // The same, and before it the line that lowered the model of this parameter.
  std::vector<Cure> masters_of(const OpCall& call, const Operand* parameter) const;
  // Another call than the line's, which no cast replaces; `what` says why.
  Cure rewrite(const OpCall& call, Dtype dtype, Patch patch, const std::string& what) const;

  CodeLine line_of(const OpCall& call) const;  // the statement that calls the op
  // What that calls the operand, "self.mixing"; "" where it is long, or not sure.
  std::string name_in_line(const OpCall& call, const Operand& operand) const;
  // The maker of the operand is in the same file, and the line reads the operand in another place,
  // too, or one of the next gives it to the same function: a cast at the call would not be met
  // there.
  bool is_made_for_more(const OpCall& call, const Operand& operand, const OpCall* maker) const;
  // The line, or one of the next, reads the operand in another place, too: `met` is what it met.
  bool is_read_again(const OpCall& call, const Operand& operand,
                     const Operand* met = nullptr) const;
  // A line of the framework's called an op of the process.
  bool has_framework(const OpCall& call, std::string_view name) const;

 private:
  // The operand as the line has it: of the call or of one around it, and what stands there.
  struct Found {
    const OpCall* call;
    const Operand* operand;
    std::vector<Span> text;  // more than one where the line has it in like calls
  };
  std::optional<Found> find(const CodeLine& line, const OpCall& call, const Operand& operand) const;
  std::vector<size_t> returned_alike(const OpCall& origin, size_t count) const;
  bool is_read_by_next(const OpCall& call, const std::string& name) const;
  std::optional<Cure> cast_for_compiled(const OpCall& call, const Operand& operand, Dtype dtype,
                                        const std::string& noun) const;
  std::optional<Cure> cast_module_input(const OpCall& call, const Operand& operand, Dtype dtype,
                                        const std::string& noun, const CodeLine& line) const;
  std::optional<Cure> cast_list(const OpCall& call, const Operand& operand, Dtype dtype,
                                const CodeLine& line) const;
  bool is_from_outside(const OpCall& call, const Operand& operand, std::string_view module) const;

  std::string cast_container(const std::string& name, SourceLine below,
                             const std::string& suffix) const;
  std::string cast_at(const CodeLine& line, const SourceLine& where, Dtype dtype) const;

  const RunIndex& index_;
  const JudgeOptions& options_;
};

// What the call becomes in a region of this dtype: autocast casts where it sees the outermost call
// that it knows, so that one around it may be taken where the call itself is not.
contracts::Verdict under_autocast(const RunIndex& index, const JudgeOptions& options,
                                  const OpCall& call, Dtype dtype);

// ".to(torch.float16)", in a line of C++ ".to(torch::kHalf)" or, where it says at::,
// ".to(at::kHalf)".
std::string cast_suffix(const CodeLine& line, Dtype dtype);

}  // namespace dtypecheck::rules
