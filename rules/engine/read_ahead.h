// read_ahead.h: what the lines behind one that died would do with a cure. The run ended there, but
// its source goes on: variables have the dtypes that they were made in, layers those of their
// parameters, and an expression the one that its ops give. What is not known is not followed, and
// nothing is said of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/cure.h"
#include "rules/contracts/contracts.h"
#include "rules/engine/code_line.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

// The worse the later.
enum class Ahead : uint8_t { kNothing, kPromotes, kRefuses };

class ReadAhead {
 public:
  ReadAhead(const RunIndex& index, const JudgeOptions& options)
      : index_(index), options_(options) {}

  // Of the statement of the call that was refused, with the cure in it, and of those below it up to
  // the end of their block.
  Ahead of(const OpCall& refused, const Cure& cure) const;

 private:
  // A tensor, or a layer by the dtype of its parameters.
  struct Value {
    Dtype dtype = Dtype::kUndefined;
    bool promotes = true;  // a tensor without dimensions does not
    bool is_sure = true;   // not where it met what nothing is known of, a number likely
  };
  using Known = std::optional<Value>;
  struct Scope {
    std::map<std::string, Value> names;  // "x", "self.down"
    std::string changed;                 // of them, by the cure
    std::string module;                  // that `self` is; "" where it is not known
    std::optional<Dtype> region;         // of autocast around the statement
    uint32_t process = 0;
    Ahead seen = Ahead::kNothing;
  };

  const Scope& scope_of(const OpCall& refused) const;
  Scope make_scope(const OpCall& refused) const;
  void add_made(const OpCall& refused, Scope& scope) const;
  bool is_cast_since(const OpCall& call) const;
  std::optional<CodeLine> with(const Cure& cure, const CodeLine& line, const SourceLine& at,
                               Scope& scope) const;
  void run(const CodeLine& line, Scope& scope) const;
  Known value(const CodeLine& line, Span span, Scope& scope) const;
  Known of_operation(const CodeLine& line, const CodeLine::Operation& operation,
                     Scope& scope) const;
  Known of_call(const CodeLine& line, const CodeLine::Call& call, Scope& scope) const;
  Known of_layer(const std::string& name, const Known& input, Scope& scope) const;
  static Known mixed(const Known& a, const Known& b, bool promotes, Scope& scope);

  const RunIndex& index_;
  const JudgeOptions& options_;
  mutable std::pair<OpCallId, Scope> last_{kNoOpCall, {}};  // a finding has several cures
};

}  // namespace dtypecheck::rules
