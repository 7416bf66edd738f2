#include "analyzer/clang/assume.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

constexpr int kFewDtypes = 8;

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
  State& state = dtypes.state;
  if (comparison.is_equal == truth) {
    state.unify(left, right);
    return;
  }
  if (state.dtypes(right).single()) state.exclude(left, state.dtypes(right));
  if (state.dtypes(left).single()) state.exclude(right, state.dtypes(left));
}

// x.is_floating_point(), at::isFloatingType(x.scalar_type()), isIntegralType(…)
bool assume_kind(Dtypes& dtypes, const Expr* expr, bool truth) {
  const auto* call = dyn_cast<CallExpr>(expr);
  if (call == nullptr) return false;
  const auto member = member_call(call);
  const llvm::StringRef name = member ? member->name : called_name(call);
  int symbol = -1;
  if (member && is_tensor(member->base->getType())) symbol = dtypes.tensor(member->base);
  if (!member && call->getNumArgs() > 0) symbol = dtypes.dtype(call->getArg(0));
  DtypeSet kind;
  if (name == "is_floating_point" || name == "isFloatingType") kind = kFloating;
  if (name == "isIntegralType") kind = kIntegral | Dtype::kBool;
  if (name == "is_complex" || name == "isComplexType") kind = kComplex;
  if (symbol < 0 || kind.empty()) return false;
  const DtypeSet known = dtypes.state.dtypes(symbol);
  // Control cannot come here where no dtype is left, as in the Float case of a dispatch where x is
  // integral.
  if ((truth ? known & kind : known - kind).empty()) dtypes.state.dead = true;
  truth ? dtypes.state.narrow(symbol, kind) : dtypes.state.exclude(symbol, kind);
  return true;
}

// a || b is true, or a && b is false: the left side decided alone, or the right side did after the
// left one had not. Either may be so, so both states are joined, and what only one says is lost.
void assume_either(Dtypes& dtypes, const BinaryOperator* op, bool truth) {
  const State before = dtypes.state;
  assume(dtypes, op->getLHS(), truth);
  const State by_left = std::move(dtypes.state);
  dtypes.state = before;
  assume(dtypes, op->getLHS(), !truth);
  assume(dtypes, op->getRHS(), truth);
  dtypes.state = State::join(by_left, dtypes.state);
  // The join knows nothing of x after x.numel() == 0 || x.dtype() == kFloat, since the left side may
  // have decided. That its dtype was looked at is kept all the same.
  look_at_mentioned(dtypes, op);
}

}  // namespace

void look_at_mentioned(Dtypes& dtypes, const Expr* expr) {
  // Checks are silent about a tensor that was looked at. So it is marked only where many dtypes are
  // still possible: of few, checks can say which of them are wrong.
  const auto look_at = [&](int symbol) {
    if (dtypes.state.dtypes(symbol).size() > kFewDtypes) dtypes.state.look_at(symbol);
  };
  for_each_expr(expr, [&](const Expr* inner) {
    if (const auto* call = dyn_cast<CallExpr>(inner)) {
      const auto member = member_call(call);
      if (!member || !is_tensor(member->base->getType())) return;
      const llvm::StringRef name = member->name;
      if (name == "scalar_type" || name == "dtype" || name == "type" || name == "options" ||
          name == "is_floating_point" || name == "is_complex" || name == "element_size") {
        look_at(dtypes.tensor(member->base));
      }
    } else if (const auto* reference = dyn_cast<DeclRefExpr>(inner)) {
      if (!holds_dtype(reference->getType())) return;
      const int symbol = dtypes.dtype(reference);
      if (symbol >= 0) look_at(symbol);
    }
  });
}

void assume(Dtypes& dtypes, const Expr* condition, bool truth) {
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
  if (const auto comparison = comparison_of(condition)) {
    return assume_comparison(dtypes, *comparison, truth);
  }
  if (!assume_kind(dtypes, condition, truth)) look_at_mentioned(dtypes, condition);
}

}  // namespace dtypecheck::analyzer
