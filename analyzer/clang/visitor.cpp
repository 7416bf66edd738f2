#include "analyzer/clang/visitor.h"

#include <clang/AST/RecursiveASTVisitor.h>

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
  bool TraverseForStmt(ForStmt* stmt) { return visitor_.TraverseForStmt(stmt); }
  bool TraverseWhileStmt(WhileStmt* stmt) { return visitor_.TraverseWhileStmt(stmt); }
  bool TraverseCXXForRangeStmt(CXXForRangeStmt* stmt) {
    return visitor_.TraverseCXXForRangeStmt(stmt);
  }
  bool TraverseIfStmt(IfStmt* stmt) { return visitor_.TraverseIfStmt(stmt); }

  bool VisitFunctionDecl(FunctionDecl* node) { return visitor_.VisitFunctionDecl(node); }
  bool VisitVarDecl(VarDecl* node) { return visitor_.VisitVarDecl(node); }
  bool VisitCXXRecordDecl(CXXRecordDecl* node) { return visitor_.VisitCXXRecordDecl(node); }
  bool VisitStmt(Stmt* node) { return visitor_.VisitStmt(node); }
  bool VisitCompoundStmt(CompoundStmt* node) { return visitor_.VisitCompoundStmt(node); }
  bool VisitExpr(Expr* node) { return visitor_.VisitExpr(node); }
  bool VisitCallExpr(CallExpr* node) { return visitor_.VisitCallExpr(node); }
  bool VisitCXXMemberCallExpr(CXXMemberCallExpr* node) {
    return visitor_.VisitCXXMemberCallExpr(node);
  }
  bool VisitDeclRefExpr(DeclRefExpr* node) { return visitor_.VisitDeclRefExpr(node); }
  bool VisitMemberExpr(MemberExpr* node) { return visitor_.VisitMemberExpr(node); }
  bool VisitUnresolvedLookupExpr(UnresolvedLookupExpr* node) {
    return visitor_.VisitUnresolvedLookupExpr(node);
  }
  bool VisitUnresolvedMemberExpr(UnresolvedMemberExpr* node) {
    return visitor_.VisitUnresolvedMemberExpr(node);
  }
  bool VisitCXXDependentScopeMemberExpr(CXXDependentScopeMemberExpr* node) {
    return visitor_.VisitCXXDependentScopeMemberExpr(node);
  }
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
  return Instance(*this, instantiations_).Below::TraverseDecl(decl);
}

bool Visitor::TraverseForStmt(ForStmt* stmt) {
  return Instance(*this, instantiations_).Below::TraverseForStmt(stmt);
}

bool Visitor::TraverseWhileStmt(WhileStmt* stmt) {
  return Instance(*this, instantiations_).Below::TraverseWhileStmt(stmt);
}

bool Visitor::TraverseCXXForRangeStmt(CXXForRangeStmt* stmt) {
  return Instance(*this, instantiations_).Below::TraverseCXXForRangeStmt(stmt);
}

bool Visitor::TraverseIfStmt(IfStmt* stmt) {
  return Instance(*this, instantiations_).Below::TraverseIfStmt(stmt);
}

bool Visitor::TraverseStmt(Stmt* stmt) {
  return Instance(*this, instantiations_).Below::TraverseStmt(stmt);
}

}  // namespace dtypecheck::analyzer
