// tensor_args.cpp: ATen's own checks of its arguments,
//   at::TensorArg x_arg{x, "x", 1}; at::checkAllSameType("f", {x_arg, y_arg});
// of which some compare dtypes, and most compare shapes or devices.
#include "analyzer/clang/assume.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

bool is_tensor_arg(QualType type) {
  const CXXRecordDecl* record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record != nullptr && record->getIdentifier() != nullptr &&
         (record->getName() == "TensorArg" || record->getName() == "TensorGeometryArg");
}

// The tensors and TensorArgs that an argument is made of, alone or in a list.
void add_tensors(const Stmt* stmt, std::vector<const Expr*>& tensors, bool& has_args) {
  const auto* expr = dyn_cast_or_null<Expr>(stmt);
  if (expr == nullptr) return;
  has_args = has_args || is_tensor_arg(expr->getType());
  const bool is_named_arg = isa<DeclRefExpr>(expr) && is_tensor_arg(expr->getType());
  if (is_named_arg || is_tensor(expr->getType())) {
    tensors.push_back(expr);
    return;
  }
  for (const Stmt* child : expr->children()) add_tensors(child, tensors, has_args);
}

}  // namespace

bool declare_tensor_arg(Dtypes& dtypes, const VarDecl* variable) {
  if (!is_tensor_arg(variable->getType())) return false;
  std::vector<const Expr*> tensors;
  bool has_args = false;
  add_tensors(variable->getInit(), tensors, has_args);
  if (!tensors.empty()) dtypes.bind(variable, dtypes.tensor(tensors.front()));
  return true;
}

bool check_of_tensor_args(Dtypes& dtypes, const CallExpr* call) {
  const llvm::StringRef name = called_name(call);
  if (!name.starts_with("check")) return false;
  std::vector<const Expr*> tensors;
  bool has_args = false;
  for (const Expr* argument : call->arguments()) add_tensors(argument, tensors, has_args);
  if (!has_args || tensors.empty()) return false;
  const int first = dtypes.tensor(tensors.front());
  if (name == "checkSameType" || name == "checkAllSameType") {
    for (const Expr* tensor : tensors) dtypes.state.unify(first, dtypes.tensor(tensor));
  } else if (name == "checkScalarType" || name == "checkScalarTypes") {
    DtypeSet named;
    for (const Expr* argument : call->arguments()) {
      for_each_expr(argument, [&](const Expr* one) {
        if (const auto dtype = dtype_constant(one, dtypes.context())) named |= *dtype;
      });
    }
    named.empty() ? dtypes.state.look_at(first) : dtypes.state.narrow(first, named);
  }
  return true;  // any other of them is about shapes or devices
}

}  // namespace dtypecheck::analyzer
