#include "analyzer/clang/whereabouts.h"

#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include "analyzer/clang/watcher.h"

namespace dtypecheck::analyzer {

using namespace clang;

Whereabouts::Whereabouts(const ASTContext& context, SourceFacts& facts)
    : context(context), facts(facts), dtypes(context) {}
Whereabouts::~Whereabouts() = default;

int Whereabouts::parameter_of(int symbol) const {
  if (!dtypes.state.knows(symbol)) return -1;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!dtypes.state.knows(parameters[i])) continue;
    if (dtypes.state.same(symbol, parameters[i])) return static_cast<int>(i);
  }
  return -1;
}

std::vector<Place> Whereabouts::led_here(const Place& place) const {
  std::vector<Place> calls;
  for (size_t i = 0; i < call_sites.size(); ++i) {
    const Place& to = i + 1 < call_sites.size() ? call_sites[i + 1].place : place;
    if (call_sites[i].place.line > 0 && call_sites[i].place.file != to.file)
      calls.push_back(call_sites[i].place);
  }
  return calls;
}

std::string Whereabouts::macro_at(SourceLocation location) const {
  if (!location.isMacroID()) return "";
  const SourceManager& sources = context.getSourceManager();
  const SourceLocation at = sources.getFileLoc(location);
  return Lexer::getSourceText(CharSourceRange::getTokenRange(at, at), sources,
                              context.getLangOpts())
      .str();
}

TensorFact Whereabouts::dispatched(int symbol) const {
  TensorFact fact = dtypes.fact_of(symbol);
  fact.place = {};
  return fact;
}

bool Whereabouts::is_ours(SourceLocation location) const {
  const SourceManager& sources = context.getSourceManager();
  return location.isValid() && !sources.isInSystemHeader(sources.getFileLoc(location));
}

SourceOp Whereabouts::op_at(SourceLocation location, llvm::StringRef name) const {
  return {.place = place_of(context, location), .function = function, .op = name.str()};
}

bool Whereabouts::is_too_deep(const FunctionDecl* function) const {
  return stack.size() > kMaxCallDepth || llvm::is_contained(stack, function);
}

}  // namespace dtypecheck::analyzer
