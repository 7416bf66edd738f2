// visitor.h: a walk over Clang's tree, through the declarations that the project's own files write.
//
// Clang's RecursiveASTVisitor is a template of some thousand functions, which take longer to
// compile than all else in a file that derives from it. It is instantiated once, in visitor.cpp,
// and asks virtual functions, as the DynamicRecursiveASTVisitor of LLVM 20 does: the names are
// those.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/AST/TypeLoc.h>

namespace dtypecheck::analyzer {

// Each function returns whether the walk goes on. `Traverse…` stands for a node with all below it;
// that of this class goes below. `Visit…` is called as a node is reached, and does nothing here.
class Visitor {
 public:
  explicit Visitor(const clang::ASTContext& context) : context_(context) {}
  virtual ~Visitor() = default;

  void walk() { TraverseDecl(context_.getTranslationUnitDecl()); }

  // Passes over what a header outside of the project declares. Namespaces may span files.
  virtual bool TraverseDecl(clang::Decl* decl);
  virtual bool TraverseForStmt(clang::ForStmt* stmt);
  virtual bool TraverseWhileStmt(clang::WhileStmt* stmt);
  virtual bool TraverseCXXForRangeStmt(clang::CXXForRangeStmt* stmt);
  virtual bool TraverseIfStmt(clang::IfStmt* stmt);
  bool TraverseStmt(clang::Stmt* stmt);

  virtual bool VisitFunctionDecl(clang::FunctionDecl*) { return true; }
  virtual bool VisitVarDecl(clang::VarDecl*) { return true; }
  virtual bool VisitCXXRecordDecl(clang::CXXRecordDecl*) { return true; }
  virtual bool VisitStmt(clang::Stmt*) { return true; }
  virtual bool VisitCompoundStmt(clang::CompoundStmt*) { return true; }
  virtual bool VisitExpr(clang::Expr*) { return true; }
  virtual bool VisitCallExpr(clang::CallExpr*) { return true; }
  virtual bool VisitCXXMemberCallExpr(clang::CXXMemberCallExpr*) { return true; }
  virtual bool VisitDeclRefExpr(clang::DeclRefExpr*) { return true; }
  virtual bool VisitMemberExpr(clang::MemberExpr*) { return true; }
  virtual bool VisitUnresolvedLookupExpr(clang::UnresolvedLookupExpr*) { return true; }
  virtual bool VisitUnresolvedMemberExpr(clang::UnresolvedMemberExpr*) { return true; }
  virtual bool VisitCXXDependentScopeMemberExpr(clang::CXXDependentScopeMemberExpr*) {
    return true;
  }
  virtual bool VisitTemplateSpecializationTypeLoc(clang::TemplateSpecializationTypeLoc) {
    return true;
  }

 protected:
  bool instantiations_ = false;  // the walk goes through each of a template, too

  const clang::ASTContext& context_;
};

}  // namespace dtypecheck::analyzer
