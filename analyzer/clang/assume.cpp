#include "analyzer/clang/assume.h"

#include <llvm/ADT/StringSet.h>

#include <set>

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// An equality of any spelling: ==, !=, overloaded, rewritten.
struct Comparison {
  const Expr* left;
  const Expr* right;
  bool is_equal;
};

std::optional<Comparison> comparison_of(const Expr* expr) {
  if (const auto* binary = dyn_cast<BinaryOperator>(expr)) {
    if (!binary->isEqualityOp()) return std::nullopt;
    return Comparison{binary->getLHS(), binary->getRHS(), binary->getOpcode() == BO_EQ};
  }
  if (const auto* call = dyn_cast<CXXOperatorCallExpr>(expr)) {
    const bool equal = call->getOperator() == OO_EqualEqual;
    if (!equal && call->getOperator() != OO_ExclaimEqual) return std::nullopt;
    return Comparison{call->getArg(0), call->getArg(1), equal};
  }
  if (const auto* rewritten = dyn_cast<CXXRewrittenBinaryOperator>(expr)) {
    if (!BinaryOperator::isEqualityOp(rewritten->getOperator())) return std::nullopt;
    return Comparison{rewritten->getLHS(), rewritten->getRHS(), rewritten->getOperator() == BO_EQ};
  }
  return std::nullopt;
}

void assume_comparison(Dtypes& dtypes, const Comparison& comparison, bool truth) {
  const int left = dtypes.dtype(comparison.left), right = dtypes.dtype(comparison.right);
  if (left < 0 || right < 0) {
    look_at_mentioned(dtypes, comparison.left);
    look_at_mentioned(dtypes, comparison.right);
    return;
  }
  DtypeState& state = dtypes.state;
  const DtypeSet in_left = state.dtypes(left), in_right = state.dtypes(right);
  if (comparison.is_equal == truth) {
    // Control cannot come here, as in the Float case of a dispatch where x is Half.
    if (!in_left.intersects(in_right)) state.dead = true;
    state.unify(left, right);
    return;
  }
  if (in_left.single() && in_left == in_right) state.dead = true;
  if (in_right.single()) state.exclude(left, in_right);
  if (in_left.single()) state.exclude(right, in_left);
}

// isIntegralType(type, includeBool)
DtypeSet integral_kind(const CallExpr* call, const ASTContext& context) {
  const Expr* with_bool = call->getNumArgs() > 1 ? call->getArg(1) : nullptr;
  bool value = true;
  const bool is_known = with_bool != nullptr && !with_bool->isValueDependent() &&
                        with_bool->EvaluateAsBooleanCondition(value, context);
  return is_known && !value ? kIntegral : kIntegral | Dtype::kBool;
}

// x.is_floating_point(), at::isFloatingType(x.scalar_type()), isIntegralType(…)
bool assume_kind(Dtypes& dtypes, const Expr* expr, bool truth) {
  const auto* call = dyn_cast<CallExpr>(expr);
  if (call == nullptr) return false;
  const auto member = member_call(call);
  const llvm::StringRef name = member ? member->name : called_name(call);
  const Expr* of = member ? member->base : call->getNumArgs() > 0 ? call->getArg(0) : nullptr;
  if (of == nullptr) return false;
  DtypeSet kind;
  if (name == "is_floating_point" || name == "isFloatingType") kind = kFloating;
  if (name == "isReducedFloatingType") kind = kLowPrecision | kFloat8;
  if (name == "isIntegralType") kind = integral_kind(call, dtypes.context());
  if (name == "is_complex" || name == "isComplexType") kind = kComplex;
  if (kind.empty()) return false;
  const int symbol = is_tensor(of->getType()) ? dtypes.tensor(of) : dtypes.dtype(of);
  if (symbol < 0) return false;
  const DtypeSet known = dtypes.state.dtypes(symbol);
  if ((truth ? known & kind : known - kind).empty()) dtypes.state.dead = true;
  truth ? dtypes.state.narrow(symbol, kind) : dtypes.state.exclude(symbol, kind);
  return true;
}

bool is_zero(const Expr* expr, const ASTContext& context) { return number_of(expr, context) == 0; }

// The tensor that a condition asks for, as bias.has_value() and weight.defined() do; null: none.
// `is_there`: the tensor is there where the condition is true.
const Expr* asked_for(const Expr* condition, const ASTContext& context, bool& is_there) {
  is_there = true;
  if (const auto comparison = comparison_of(condition)) {
    is_there = !comparison->is_equal;
    const Expr* right = stripped(comparison->right);
    const Expr* left = stripped(comparison->left);
    if (is_no_tensor(right)) return may_hold_tensor(left->getType()) ? left : nullptr;
    const bool is_null =
        right->isNullPointerConstant(const_cast<ASTContext&>(context),
                                     Expr::NPC_ValueDependentIsNotNull) != Expr::NPCK_NotNull;
    if (left->getType()->isPointerType() && is_null)
      return may_hold_tensor(left->getType()) ? left : nullptr;
    const auto count = member_call(left);
    return count && count->name == "numel" && is_zero(right, context) ? count->base : nullptr;
  }
  if (const auto* binary = dyn_cast<BinaryOperator>(condition)) {  // x.numel() > 0
    const auto count = member_call(stripped(binary->getLHS()));
    const bool is_more = binary->getOpcode() == BO_GT && is_zero(binary->getRHS(), context);
    return count && count->name == "numel" && is_more ? count->base : nullptr;
  }
  if (condition->getType()->isPointerType()) return condition;
  const auto* call = dyn_cast<CXXMemberCallExpr>(condition);
  if (call == nullptr || call->getMethodDecl() == nullptr) return nullptr;
  const auto member = member_call(call);
  const bool asks = isa<CXXConversionDecl>(call->getMethodDecl()) ||
                    (member && (member->name == "has_value" || member->name == "defined" ||
                                member->name == "numel"));
  return asks ? call->getImplicitObjectArgument() : nullptr;
}

bool assume_there(Dtypes& dtypes, const Expr* condition, bool truth) {
  bool is_there = true;
  const Expr* tensor = asked_for(condition, dtypes.context(), is_there);
  if (tensor == nullptr || !may_hold_tensor(tensor->getType())) return false;
  const int symbol = dtypes.tensor(tensor);
  if (truth != is_there)
    dtypes.state.set_absent(symbol);
  else if (dtypes.state.is_left_out(symbol))
    dtypes.state.dead = true;
  return true;
}

// a || b is true, or a && b is false: the left side decided alone, or the right side did after the
// left one had not. Either may be so, so both states are joined, and what only one says is lost.
void assume_either(Dtypes& dtypes, const BinaryOperator* op, bool truth) {
  const DtypeState before = dtypes.state;
  assume(dtypes, op->getLHS(), truth);
  const DtypeState by_left = std::move(dtypes.state);
  dtypes.state = before;
  assume(dtypes, op->getLHS(), !truth);
  assume(dtypes, op->getRHS(), truth);
  dtypes.state = DtypeState::join(by_left, dtypes.state);
  bool is_there = true;
  const bool of_absent = asked_for(stripped(op->getLHS()), dtypes.context(), is_there) != nullptr ||
                         asked_for(stripped(op->getRHS()), dtypes.context(), is_there) != nullptr;
  if (of_absent) return;
  // The join knows nothing of x after is_cpu || x.dtype() == kFloat, since the left side may have
  // decided. That its dtype was looked at is kept all the same.
  look_at_mentioned(dtypes, op);
}

}  // namespace

// What x.type() and x.options() are asked for: x.type().is_cuda() says nothing of the dtype.
static bool asks_for_dtype(llvm::StringRef name) {
  static const llvm::StringSet<> names = {
      "dtype",    "dtype_opt", "has_dtype",          "scalarType", "scalar_type", "toScalarType",
      "typeMeta", "toString",  "elementSizeInBytes", "itemsize",   "name",        "id",
      "ID",       "Match",     "isScalarType"};
  return names.contains(name);
}

void look_at_mentioned(Dtypes& dtypes, const Expr* expr) {
  // Checks are silent about a tensor that was looked at. So it is marked only where many dtypes are
  // still possible: of few, checks can say which of them are wrong.
  const auto look_at = [&](int symbol) {
    if (dtypes.state.dtypes(symbol).size() > kNarrowed) dtypes.state.look_at(symbol);
  };
  std::set<const Expr*> asked_for_others;  // in x.type().is_cuda(), x.type() is
  for_each_expr(expr, [&](const Expr* inner) {
    if (const auto* call = dyn_cast<CallExpr>(inner)) {
      const auto member = member_call(call);
      if (!member) return;
      if (!is_tensor(member->base->getType())) {
        const bool asks_others = holds_dtype(member->base->getType()) && !member->name.empty() &&
                                 !asks_for_dtype(member->name);
        if (asks_others) asked_for_others.insert(stripped(member->base));
        return;
      }
      const llvm::StringRef name = member->name;
      const bool asks = name == "scalar_type" || name == "dtype" || name == "type" ||
                        name == "options" || name == "is_floating_point" || name == "is_complex" ||
                        name == "element_size" || name == "itemsize";
      if (asks && !asked_for_others.contains(inner)) look_at(dtypes.tensor(member->base));
    } else if (const auto* reference = dyn_cast<DeclRefExpr>(inner)) {
      if (!holds_dtype(reference->getType()) || asked_for_others.contains(inner)) return;
      const int symbol = dtypes.dtype(reference);
      if (symbol >= 0) look_at(symbol);
    }
  });
}

// return x.scalar_type() == at::kHalf; alone in a function.
static const Expr* only_returned(const FunctionDecl* function) {
  const auto* body = dyn_cast_or_null<CompoundStmt>(function->getBody());
  if (body == nullptr || body->size() != 1) return nullptr;
  const auto* last = dyn_cast<ReturnStmt>(body->body_front());
  return last == nullptr ? nullptr : last->getRetValue();
}

static bool asks_for_dtypes(const FunctionDecl* function) {
  bool asks = false;
  for_each_expr(function->getBody(), [&](const Expr* expr) {
    const auto member = member_call(expr);
    asks = asks || (member && (member->name == "scalar_type" || member->name == "dtype"));
  });
  return asks;
}

// is_half(x): what the function returns is assumed, of these arguments.
static bool assume_called(Dtypes& dtypes, const CallExpr* call, bool truth) {
  const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
  if (callee == nullptr || is_libtorchs(callee)) return false;
  const FunctionDecl* body = nullptr;
  if (!callee->hasBody(body) || isa<CXXMethodDecl>(callee)) {
    look_at_arguments(dtypes, call);
    return false;
  }
  const Expr* returned = only_returned(body);
  if (returned == nullptr) {
    if (asks_for_dtypes(body)) look_at_arguments(dtypes, call);
    return false;
  }
  for (unsigned i = 0; i < body->getNumParams() && i < call->getNumArgs(); ++i)
    dtypes.bind_argument(body->getParamDecl(i), call->getArg(i));
  assume(dtypes, returned, truth);
  return true;
}

void look_at_arguments(Dtypes& dtypes, const CallExpr* call) {
  const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
  if (callee != nullptr && is_libtorchs(callee)) return;
  if (says_other_than_dtype(called_name(call))) return;
  for (const Expr* argument : call->arguments()) look_at_argument(dtypes, argument);
}

void look_at_argument(Dtypes& dtypes, const Expr* argument) {
  if (may_hold_tensor(stripped(argument)->getType()))
    dtypes.state.look_at(dtypes.tensor(argument));
  else
    look_at_mentioned(dtypes, argument);
}

static std::optional<Dtype> compared_constant(const Expr* condition, const ASTContext& context,
                                              bool is_equal, const Expr*& of) {
  const auto comparison = comparison_of(stripped(condition));
  if (!comparison || comparison->is_equal != is_equal) return std::nullopt;
  of = comparison->left;
  if (const auto right = dtype_constant(stripped(comparison->right), context)) return right;
  of = comparison->right;
  return dtype_constant(stripped(comparison->left), context);
}

std::optional<Dtype> equals_constant(const Expr* condition, const ASTContext& context,
                                     const Expr*& of) {
  return compared_constant(condition, context, true, of);
}

std::optional<Dtype> differs_from_constant(const Expr* condition, const ASTContext& context,
                                           const Expr*& of) {
  return compared_constant(condition, context, false, of);
}

void assume(Dtypes& dtypes, const Expr* condition, bool truth) {
  static constexpr int kMaxDepth = 32;  // of names for conditions, and functions that return them
  const Dtypes::Depth depth(dtypes);
  if (depth.is_beyond(kMaxDepth)) return;
  condition = stripped(condition);
  if (const auto* cast = dyn_cast<ExplicitCastExpr>(condition)) {
    return assume(dtypes, cast->getSubExpr(), truth);
  }
  if (const auto* op = dyn_cast<UnaryOperator>(condition)) {
    if (op->getOpcode() == UO_LNot) return assume(dtypes, op->getSubExpr(), !truth);
  }
  if (const auto* op = dyn_cast<BinaryOperator>(condition); op != nullptr && op->isLogicalOp()) {
    if (truth != (op->getOpcode() == BO_LAnd)) return assume_either(dtypes, op, truth);
    assume(dtypes, op->getLHS(), truth);
    return assume(dtypes, op->getRHS(), truth);
  }
  if (const Expr* named = dtypes.named(condition)) return assume(dtypes, named, truth);
  if (assume_there(dtypes, condition, truth)) return;
  if (const auto comparison = comparison_of(condition)) {
    return assume_comparison(dtypes, *comparison, truth);
  }
  if (assume_kind(dtypes, condition, truth)) return;
  const auto* call = dyn_cast<CallExpr>(condition);
  if (call != nullptr && !member_call(call) && assume_called(dtypes, call, truth)) return;
  look_at_mentioned(dtypes, condition);
}

}  // namespace dtypecheck::analyzer
