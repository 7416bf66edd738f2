#include "analyzer/clang/file_facts.h"

#include <clang/AST/DeclCXX.h>
#include <clang/Basic/SourceManager.h>

#include "analyzer/clang/functions.h"
#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

#define WATCHER(name) std::unique_ptr<Watcher> name(Whereabouts& at);
#include "watchers.inc"
#undef WATCHER

static bool declares_tensor(ASTContext& context) {
  const DeclContext* scope = context.getTranslationUnitDecl();
  for (const auto* decl : scope->lookup(&context.Idents.get("at"))) {
    const auto* space = dyn_cast<NamespaceDecl>(decl);
    if (space != nullptr && !space->lookup(&context.Idents.get("Tensor")).empty()) return true;
  }
  return false;
}

static void add_watchers(Whereabouts& at) {
#define WATCHER(name) at.watchers.push_back(name(at));
#include "watchers.inc"
#undef WATCHER
}

void add_facts(ASTContext& context, SourceFacts& facts) {
  facts.parsed = true;
  facts.sees_tensors = declares_tensor(context);
  Walk walk(context, facts);
  add_watchers(walk.at());
  const WalkedFunctions functions = functions_of(context);
  facts.functions = functions.written;
  facts.defined = functions.defined;
  for (const EntryPoint& entry : functions.entries) walk.function(entry.function, entry.callers);
  facts.bound = functions.bound;
  facts.long_elements = long_elements(context);
#define FINDER(name) name(context, facts);
  DTYPECHECK_FINDERS(FINDER)
#undef FINDER
}

void add_joined_facts(ASTContext& context, SourceFacts& facts) {
  facts.parsed = true;
  Walk walk(context, facts);
  add_watchers(walk.at());
  for (const EntryPoint& entry : functions_of(context).entries) {
    if (in_main_file(context, entry.function->getLocation()))
      walk.function(entry.function, entry.callers);
  }
}

SourceFacts facts_of(ASTContext& context) {
  SourceFacts facts;
  const SourceManager& sources = context.getSourceManager();
  if (const auto file = sources.getFileEntryRefForID(sources.getMainFileID())) {
    llvm::SmallString<256> path = file->getName();
    sources.getFileManager().makeAbsolutePath(path);
    facts.file = path.str().str();
  }
  add_facts(context, facts);
  return facts;
}

}  // namespace dtypecheck::analyzer
