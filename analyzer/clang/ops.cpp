// ops.cpp: the part of the walk that sees LibTorch's ops called with tensors whose dtypes are
// known.
#include <cmath>

#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

static llvm::StringRef op_of_operator(OverloadedOperatorKind kind) {
  switch (kind) {
    case OO_Plus:
      return "add";
    case OO_Minus:
      return "sub";
    case OO_Star:
      return "mul";
    case OO_Slash:
      return "div";
    default:
      return "";
  }
}

// at::matmul, which torch::matmul is as well.
static bool is_in_at(const FunctionDecl* function) {
  const auto* space =
      dyn_cast<NamespaceDecl>(function->getDeclContext()->getEnclosingNamespaceContext());
  return space != nullptr && space->getName() == "at" && !isa<CXXMethodDecl>(function);
}

static const InitListExpr* list_of(const Expr* argument) {
  const Expr* bare = argument->IgnoreImplicit();
  for (int depth = 0; depth < 8; ++depth) {
    bare = bare->IgnoreImplicit();
    if (const auto* list = dyn_cast<InitListExpr>(bare)) return list;
    if (const auto* made = dyn_cast<CXXConstructExpr>(bare);
        made != nullptr && made->getNumArgs() > 0) {
      bare = made->getArg(0);
    } else if (const auto* elements = dyn_cast<CXXStdInitializerListExpr>(bare)) {
      bare = elements->getSubExpr();
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

void Walk::add_operand(SourceOp& op, const std::string& name, const Expr* argument) {
  const Expr* bare = stripped(argument);
  if (is_tensor(bare->getType()) || is_tensor(argument->getType())) {
    op.operands.push_back(
        {name, dtypes_.text(bare), dtypes_.state.dtypes(dtypes_.tensor(argument))});
    return;
  }
  if (const InitListExpr* list = list_of(argument)) {
    unsigned i = 0;
    for (const Expr* element : list->inits()) {
      if (!is_tensor(stripped(element)->getType()) && !is_tensor(element->getType())) return;
      add_operand(op, name + "[" + std::to_string(i++) + "]", element);
    }
    return;
  }
  if (const auto number = number_of(argument, context_)) op.scalars.emplace_back(name, *number);
}

// Worth telling: every tensor's dtype is known, and they differ, or one is of low precision.
static bool is_of_interest(const SourceOp& op) {
  DtypeSet all;
  for (const SourceOperand& operand : op.operands) {
    if (!operand.dtypes.single()) return false;
    all |= operand.dtypes;
  }
  const bool joins = op.op == "cat" || op.op == "stack" || op.op == "where";
  if (joins && all.within(kIntegral)) return all.size() > 1;
  const DtypeSet floating = all & kFloating;
  return floating.size() > 1 || floating.intersects(kLowPrecision);
}

void Walk::add_op(SourceOp op) {
  if (autocast_ || op.operands.empty() || !is_of_interest(op)) return;
  if (op.place.line > 0 && ops_.insert({op.place, op.op}).second)
    facts_.ops.push_back(std::move(op));
}

void Walk::division_of(const CallExpr* call) {
  const Expr* tensor = nullptr;
  if (const auto* op = dyn_cast<CXXOperatorCallExpr>(call)) {
    if (op->getOperator() == OO_SlashEqual) tensor = op->getArg(0);
  } else if (const auto member = member_call(call); member && member->name == "div_") {
    const bool has_mode = call->getNumArgs() > 1 && !isa<CXXDefaultArgExpr>(call->getArg(1));
    if (!has_mode) tensor = member->base;
  }
  if (tensor == nullptr || !is_tensor(tensor->getType())) return;
  const TensorFact fact = dtypes_.fact(tensor);
  const DtypeSet integers = kIntegral | Dtype::kBool;
  const bool is_integral = fact.dtypes.within(integers);
  const bool is_open = fact.dtypes.intersects(integers) && !fact.looked_at;
  if (!is_integral && !(is_open && in_dispatch_on(integers))) return;
  const Place place = place_of(context_, call->getExprLoc());
  if (place.line == 0) return;
  const auto [at, is_new] = divisions_.try_emplace(place, facts_.integer_divisions.size());
  if (is_new) {
    facts_.integer_divisions.push_back({place, function_, fact, !is_integral});
  } else {
    facts_.integer_divisions[at->second].tensor.dtypes |= fact.dtypes;
  }
}

// Control is in a case of a dispatch that stands for one of these.
bool Walk::in_dispatch_on(DtypeSet dtypes) const {
  return llvm::any_of(switches_, [&](const Switch& over) {
    return over.symbol >= 0 && dtypes_.state.knows(over.symbol) &&
           dtypes_.state.dtypes(over.symbol).within(dtypes);
  });
}

void Walk::op_of(const CallExpr* call) {
  if (autocast_) return;
  SourceOp op;
  const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
  if (callee == nullptr) return;
  unsigned skip = 0;
  if (const auto* overloaded = dyn_cast<CXXOperatorCallExpr>(call)) {
    op.op = op_of_operator(overloaded->getOperator()).str();
    if (op.op.empty() || call->getNumArgs() != 2) return;
    add_operand(op, "self", call->getArg(0));
    add_operand(op, "other", call->getArg(1));
    skip = 2;
  } else if (const auto member = member_call(call); member && is_tensor(member->base->getType())) {
    op.op = member->name.str();
    add_operand(op, "self", member->base);
  } else if (is_in_at(callee) && callee->getIdentifier() != nullptr) {
    op.op = callee->getName().str();
  } else {
    return;
  }
  for (unsigned i = skip; i < call->getNumArgs() && i < callee->getNumParams(); ++i) {
    const std::string name = callee->getParamDecl(i)->getNameAsString();
    if (name.empty())
      return;  // a template of the bundled headers: which argument is which is not known
    if (!isa<CXXDefaultArgExpr>(call->getArg(i))) add_operand(op, name, call->getArg(i));
  }
  op.place = place_of(context_, call->getExprLoc());
  op.function = function_;
  add_op(std::move(op));
}

}  // namespace dtypecheck::analyzer
