#include "analyzer/clang/visitor.h"

#include <clang/AST/RecursiveASTVisitor.h>
#include <llvm/Support/SaveAndRestore.h>

#include "analyzer/clang/functions.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

class Instance : public RecursiveASTVisitor<Instance> {
 public:
  Instance(Visitor& visitor, bool instantiations)
      : visitor_(visitor), instantiations_(instantiations) {}

  bool shouldVisitTemplateInstantiations() const { return instantiations_; }

  bool TraverseDecl(Decl* decl) { return visitor_.TraverseDecl(decl); }
#define TRAVERSE(Node) \
  bool Traverse##Node(Node* node) { return visitor_.Traverse##Node(node); }
  DTYPECHECK_TRAVERSED(TRAVERSE)
#undef TRAVERSE
#define VISIT(Node) \
  bool Visit##Node(Node* node) { return visitor_.Visit##Node(node); }
  DTYPECHECK_VISITED(VISIT)
#undef VISIT
  bool VisitTemplateSpecializationTypeLoc(TemplateSpecializationTypeLoc node) {
    return visitor_.VisitTemplateSpecializationTypeLoc(node);
  }

 private:
  Visitor& visitor_;
  bool instantiations_;
};

using Below = RecursiveASTVisitor<Instance>;

}  // namespace

bool Visitor::TraverseDecl(Decl* decl) {
  const bool is_scope = decl == nullptr || isa<TranslationUnitDecl>(decl) ||
                        isa<NamespaceDecl>(decl) || isa<LinkageSpecDecl>(decl);
  if (!is_scope && !is_of_project(context_, decl->getLocation())) return true;
  const auto* function = dyn_cast_or_null<FunctionDecl>(decl);
  const llvm::SaveAndRestore inside(function_,
                                    function == nullptr ? function_ : function->getNameAsString());
  return Instance(*this, instantiations_).Below::TraverseDecl(decl);
}

#define TRAVERSE(Node)                                                   \
  bool Visitor::Traverse##Node(Node* node) {                             \
    return Instance(*this, instantiations_).Below::Traverse##Node(node); \
  }
DTYPECHECK_TRAVERSED(TRAVERSE)
#undef TRAVERSE

bool Visitor::TraverseStmt(Stmt* stmt) {
  return Instance(*this, instantiations_).Below::TraverseStmt(stmt);
}

}  // namespace dtypecheck::analyzer
