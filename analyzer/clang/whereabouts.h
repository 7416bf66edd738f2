// whereabouts.h: where the walk (walk.h) stands, which all that look on may ask.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analyzer/clang/dtypes.h"

namespace dtypecheck::analyzer {

class Watcher;

// What autocast casts, to one of these.
constexpr DtypeSet kCastByAutocast = DtypeSet(Dtype::kHalf) | Dtype::kBFloat16 | Dtype::kFloat;

struct Whereabouts {
  static constexpr size_t kMaxCallDepth = 8;

  // A dispatch that control is inside of.
  struct Switch {
    int symbol = -1;  // of the dtype; -1: a switch over something else
    DtypeState entry;
    std::vector<DtypeState> ends;
    DtypeSet cases;
    TensorFact fact;
    std::set<const clang::Decl*> aliases;  // using scalar_t = …
    size_t lambdas = 0;
    std::string function;  // that dispatches
    const clang::SwitchStmt* stmt = nullptr;
  };
  // A block that control is inside of.
  struct OpenBlock {
    const clang::CompoundStmt* block;
    const clang::Stmt* statement;  // before which another could stand; null: before a part of it
    bool is_called_lambda;
    const clang::Stmt* whole = nullptr;  // the statement, though it be an `if` or a loop
  };
  struct CallSite {
    Place place;
    const clang::CallExpr* call;  // null: of a constructor
    int first;  // of its arguments that a parameter stands for; -1: the second parameter, the first
  };

  Whereabouts(const clang::ASTContext& context, SourceFacts& facts);
  ~Whereabouts();

  // The parameter of the function that the walk came from whose dtype this is; -1: none.
  int parameter_of(int symbol) const;
  // The calls on the way that go from one file to another.
  std::vector<Place> led_here(const Place& place) const;
  // Whose modules are said to be Float: those of a function that no other file knows have no name.
  std::string assumption() const { return entry.empty() ? "-" : entry; }
  // A tensor by whose dtype something branches.
  TensorFact dispatched(int symbol) const;
  // A dispatch is several macros deep; the one that the user wrote is the outermost. "": none.
  std::string macro_at(clang::SourceLocation location) const;
  bool is_ours(clang::SourceLocation location) const;
  // An op that is called here, without operands yet.
  SourceOp op_at(clang::SourceLocation location, llvm::StringRef name) const;
  bool is_too_deep(const clang::FunctionDecl* function) const;

  // Hands all that look on what the walk came to.
  template <class... Parts, class... Given>
  void notify(void (Watcher::*event)(Parts...), const Given&... given) {
    for (const std::unique_ptr<Watcher>& watcher : watchers) (watcher.get()->*event)(given...);
  }

  const clang::ASTContext& context;
  SourceFacts& facts;
  std::vector<std::unique_ptr<Watcher>> watchers;
  Dtypes dtypes;
  std::vector<Switch> switches;   // innermost last; also one for each loop, for its breaks
  std::vector<OpenBlock> levels;  // innermost last
  std::vector<const clang::FunctionDecl*> stack;
  std::vector<CallSite> call_sites;  // of each function of the stack but the first
  std::string entry;                 // of stack.front(), as other files know it
  std::string function;              // that is walked through
  std::vector<int> parameters;       // symbols of those of stack.front()
  Callers callers = Callers::kUnseen;
  bool autocast = false;  // the function opens a region: what its ops see is not what they get
};

}  // namespace dtypecheck::analyzer
