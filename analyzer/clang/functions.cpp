#include "analyzer/clang/functions.h"

#include <clang/Basic/SourceManager.h>

#include <set>

#include "analyzer/clang/exprs.h"
#include "analyzer/clang/visitor.h"

namespace dtypecheck::analyzer {

using namespace clang;

bool in_main_file(const ASTContext& context, SourceLocation location) {
  const SourceManager& sources = context.getSourceManager();
  return sources.isWrittenInMainFile(sources.getFileLoc(location));
}

bool is_of_project(const ASTContext& context, SourceLocation location) {
  const SourceManager& sources = context.getSourceManager();
  const SourceLocation at = sources.getFileLoc(location);
  return at.isValid() && (sources.isWrittenInMainFile(at) || !sources.isInSystemHeader(at)) &&
         !sources.isWrittenInBuiltinFile(at) && !sources.isWrittenInCommandLineFile(at);
}

std::string outside_name(const FunctionDecl* function) {
  if (!function->isExternallyVisible() || function->isInAnonymousNamespace()) return "";
  return function->getQualifiedNameAsString() + "/" + std::to_string(function->getNumParams());
}

namespace {

// A template and each of its instantiations are one function here.
const FunctionDecl* identity(const FunctionDecl* function) {
  if (const FunctionDecl* pattern = function->getTemplateInstantiationPattern()) function = pattern;
  return function->getCanonicalDecl();
}

class Uses : public Visitor {
 public:
  using Visitor::Visitor;

  std::vector<const FunctionDecl*> bodies;
  std::set<const FunctionDecl*> called, bound;

  bool VisitFunctionDecl(FunctionDecl* function) override {
    if (function->doesThisDeclarationHaveABody()) bodies.push_back(function);
    return true;
  }
  bool VisitCallExpr(CallExpr* call) override {
    const Expr* callee = call->getCallee()->IgnoreParenImpCasts();
    callees_.insert(callee);
    if (const auto* function = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl())) {
      called.insert(identity(function));
    }
    if (const auto* lookup = dyn_cast<OverloadExpr>(callee)) add_all(lookup, called);
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) override {
    const auto* function = dyn_cast<FunctionDecl>(reference->getDecl());
    if (function != nullptr && !callees_.contains(reference)) bound.insert(identity(function));
    return true;
  }
  bool VisitUnresolvedLookupExpr(UnresolvedLookupExpr* lookup) override {
    if (!callees_.contains(lookup)) add_all(lookup, bound);
    return true;
  }

 private:
  static void add_all(const OverloadExpr* lookup, std::set<const FunctionDecl*>& to) {
    for (const NamedDecl* decl : lookup->decls()) {
      decl = decl->getUnderlyingDecl();
      if (const auto* made = dyn_cast<FunctionTemplateDecl>(decl)) decl = made->getTemplatedDecl();
      if (const auto* function = dyn_cast<FunctionDecl>(decl)) to.insert(identity(function));
    }
  }

  std::set<const Expr*> callees_;
};

class LongTypes : public Visitor {
 public:
  using Visitor::Visitor;

  std::vector<LongElement> found;

  bool VisitTemplateSpecializationTypeLoc(TemplateSpecializationTypeLoc type) override {
    const TemplateDecl* made = type.getTypePtr()->getTemplateName().getAsTemplateDecl();
    if (made == nullptr || !made->getName().contains("TensorAccessor")) return true;
    if (type.getNumArgs() == 0) return true;
    const TemplateArgument element = type.getArgLoc(0).getArgument();
    if (element.getKind() != TemplateArgument::Type || !is_written_long(element.getAsType())) {
      return true;
    }
    const Place place = place_of(context_, type.getTemplateNameLoc());
    const SourceLocation written = type.getArgLoc(0).getSourceRange().getBegin();
    if (place.line > 0 && (found.empty() || found.back().place != place)) {
      found.push_back(
          {place, written_place(context_, written), function_, made->getNameAsString()});
    }
    return true;
  }
};

}  // namespace

// Of a template of modules that the file instantiates, what it says of the blocks it is made for.
static std::vector<const FunctionDecl*> as_instantiated(const FunctionDecl* function) {
  const auto* method = dyn_cast<CXXMethodDecl>(function);
  const CXXRecordDecl* record = method == nullptr ? nullptr : method->getParent();
  const ClassTemplateDecl* made = record == nullptr ? nullptr : record->getDescribedClassTemplate();
  std::vector<const FunctionDecl*> found;
  if (made == nullptr || !is_module(QualType(record->getTypeForDecl(), 0))) return {function};
  for (const ClassTemplateSpecializationDecl* one : made->specializations()) {
    for (const CXXMethodDecl* own : one->methods()) {
      if (identity(own) == identity(function) && own->hasBody()) found.push_back(own);
    }
  }
  return found.empty() ? std::vector{function} : found;
}

WalkedFunctions functions_of(ASTContext& context) {
  Uses uses(context);
  uses.walk();
  WalkedFunctions all;
  for (const FunctionDecl* function : uses.bound) {
    if (!function->hasBody() && is_of_project(context, function->getLocation()))
      all.bound.push_back(outside_name(function));
  }
  for (const FunctionDecl* function : uses.bodies) {
    const FunctionDecl* id = identity(function);
    const bool is_bound = uses.bound.contains(id);
    const auto* method = dyn_cast<CXXMethodDecl>(function);
    if (method != nullptr && method->getParent()->isLambda()) continue;
    const SourceLocation name = function->getLocation();
    if (in_main_file(context, name) && !context.getSourceManager().isMacroBodyExpansion(name))
      ++all.written;
    if (in_main_file(context, name) && !outside_name(function).empty())
      all.defined.push_back(outside_name(function));
    if (uses.called.contains(id) && !is_bound) continue;
    for (const FunctionDecl* one : as_instantiated(function))
      all.entries.push_back({one, is_bound ? Callers::kBound : Callers::kUnseen});
  }
  return all;
}

std::vector<LongElement> long_elements(ASTContext& context) {
  LongTypes types(context);
  types.walk();
  return std::move(types.found);
}

}  // namespace dtypecheck::analyzer
