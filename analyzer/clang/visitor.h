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

#include <string>

namespace dtypecheck::analyzer {

// clang-format off
#define DTYPECHECK_TRAVERSED(TRAVERSE) \
  TRAVERSE(ForStmt) TRAVERSE(WhileStmt) TRAVERSE(CXXForRangeStmt) TRAVERSE(IfStmt)
#define DTYPECHECK_VISITED(VISIT) \
  VISIT(FunctionDecl) VISIT(VarDecl) VISIT(CXXRecordDecl) VISIT(Stmt) VISIT(CompoundStmt) VISIT(Expr) \
  VISIT(CallExpr) VISIT(CXXMemberCallExpr) VISIT(DeclRefExpr) VISIT(MemberExpr) \
  VISIT(UnresolvedLookupExpr) VISIT(UnresolvedMemberExpr) VISIT(CXXDependentScopeMemberExpr)
// clang-format on

// Each function returns whether the walk goes on. `Traverse…` stands for a node with all below it;
// that of this class goes below. `Visit…` is called as a node is reached, and does nothing here.
class Visitor {
 public:
  explicit Visitor(const clang::ASTContext& context) : context_(context) {}
  virtual ~Visitor() = default;

  void walk() { TraverseDecl(context_.getTranslationUnitDecl()); }

  // Passes over what a header outside of the project declares. Namespaces may span files.
  virtual bool TraverseDecl(clang::Decl* decl);
#define TRAVERSE(Node) virtual bool Traverse##Node(clang::Node* node);
  DTYPECHECK_TRAVERSED(TRAVERSE)
#undef TRAVERSE
  bool TraverseStmt(clang::Stmt* stmt);

#define VISIT(Node) \
  virtual bool Visit##Node(clang::Node*) { return true; }
  DTYPECHECK_VISITED(VISIT)
#undef VISIT
  virtual bool VisitTemplateSpecializationTypeLoc(clang::TemplateSpecializationTypeLoc) {
    return true;
  }

 protected:
  std::string function_;         // that the walk is in; "": none
  bool instantiations_ = false;  // the walk goes through each of a template, too

  const clang::ASTContext& context_;
};

}  // namespace dtypecheck::analyzer
