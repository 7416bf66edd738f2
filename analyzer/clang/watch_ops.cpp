// watch_ops.cpp: LibTorch's ops that are called with tensors whose dtypes are known, and divisions
// of integers in place.
#include <algorithm>
#include <utility>

#include "analyzer/clang/watcher.h"
#include "analyzer/op_answers.h"
#include "analyzer/op_refusals.h"
#include "ops/arguments.h"
#include "ops/ops.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// at::matmul, which torch::matmul is as well, and torch::nn::functional::nll_loss, which calls it.
bool is_in_at(const FunctionDecl* function) {
  const auto* space =
      dyn_cast<NamespaceDecl>(function->getDeclContext()->getEnclosingNamespaceContext());
  return space != nullptr && (space->getName() == "at" || space->getName() == "functional") &&
         is_libtorchs(function) && !isa<CXXMethodDecl>(function);
}

// Rules can say something of an op where each tensor's dtype is known, of those that mix dtypes or
// compute in low precision; and where those that are known are refused whatever the others are.
bool is_of_interest(const SourceOp& op) {
  if (refusal_of(op)) return true;
  DtypeSet all;
  for (const SourceOperand& operand : op.operands) {
    if (!operand.dtypes.single()) return false;
    all |= operand.dtypes;
  }
  // Which dtype the modules of the program have, another file may say.
  const bool meets_assumed =
      llvm::any_of(op.operands, [](const auto& one) { return one.is_assumed; }) &&
      llvm::any_of(op.operands, [](const SourceOperand& one) {
        return !one.is_assumed && one.dtypes.within(kFloating);
      });
  if (meets_assumed) return true;
  const bool joins = op.op == "cat" || op.op == "stack" || op.op == "where";
  if (joins && all.within(kIntegral)) return all.size() > 1;
  const DtypeSet floating = all & kFloating;
  return floating.size() > 1 || floating.intersects(kLowPrecision);
}

// The op without the assumption that the module's parameters are Float: they are no integers.
SourceOp without_assumption(SourceOp op) {
  for (SourceOperand& operand : op.operands) {
    if (operand.is_assumed) operand.dtypes = kFloating | kComplex;
    operand.is_assumed = false;
  }
  return op;
}

// Inside a region of autocast, which casts of floating operands but Double some or all; of modules
// whose dtype another file says nothing is known there.
SourceOp as_under_autocast(SourceOp op) {
  for (SourceOperand& operand : op.operands) {
    if (operand.is_assumed)
      operand.dtypes = kFloating | kComplex;
    else if (operand.dtypes.intersects(kCastByAutocast))
      operand.dtypes |= kCastByAutocast;
    operand.is_assumed = false;
  }
  return op;
}

// The variables that an expression below `stmt` may name, in the order of their declarations.
// False: it stands elsewhere.
bool visible_at(const Stmt* stmt, const Expr* at, std::vector<const VarDecl*>& variables) {
  if (stmt == nullptr || stmt == at) return stmt != nullptr;
  const size_t before = variables.size();
  for (const Stmt* child : stmt->children()) {
    if (visible_at(child, at, variables)) return true;
    const auto* declares = dyn_cast_or_null<DeclStmt>(child);
    if (declares == nullptr) continue;
    for (const Decl* decl : declares->decls()) {
      if (const auto* variable = dyn_cast<VarDecl>(decl)) variables.push_back(variable);
    }
  }
  variables.resize(before);
  return false;
}

// Each way that leads here may give it other dtypes.
std::string known_as(const SourceOp& op) {
  std::string name = op.op;
  for (const SourceOperand& operand : op.operands)
    name += " " + std::to_string(operand.dtypes.bits()) + (operand.is_assumed ? "?" : "");
  return name;
}

class Ops : public Watcher {
 public:
  using Watcher::Watcher;
  void op(const SourceOp& op) override { add_op(op); }
  void call(const CallExpr* call) override {
    op_of(call);
    division_of(call);
    written_by(call);
  }

 private:
  void op_of(const CallExpr* call) {
    const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
    if (callee == nullptr) return;
    const bool is_operator = isa<CXXOperatorCallExpr>(call);
    if (!is_operator) {
      const auto member = member_call(call);
      const bool is_method = member && is_tensor(member->base->getType());
      if (!is_method && (!is_in_at(callee) || callee->getIdentifier() == nullptr)) return;
      // In a template of the bundled headers it is not known which argument is which, but of some
      // ops.
      const std::string name = is_method ? member->name.str() : callee->getNameAsString();
      const bool are_named = !ops::argument_at(name, 0).empty();
      for (unsigned i = 0; i < call->getNumArgs() && i < callee->getNumParams() && !are_named;
           ++i) {
        if (callee->getParamDecl(i)->getName().empty()) return;
      }
    }
    Dtypes::CalledOp called = dtypes_.op(call);
    if (called.op.op.empty() || dtypes_.keeps_integers(call, called)) return;
    called.op.place = place_of(context_, call->getExprLoc());
    called.op.function = at_.function;
    narrowed_in(call, called);
    add_op(std::move(called.op));
  }

  // x.to(torch::kLong) * 0.5, x.to(torch::kHalf).sum(): what the cast lost matters to the op.
  void narrowed_in(const CallExpr* call, const Dtypes::CalledOp& called) {
    const std::string& name = called.op.op;
    const uint64_t facts = ops::facts_of(name);
    const bool is_loss = (facts & ops::kLoss) != 0, is_backward = name == "backward";
    const bool sums = is_loss || is_backward || (facts & ops::kReduces) != 0;
    const bool computes =
        is_backward ||
        (promotes(name) && dtypes_.state.dtypes(dtypes_.tensor(call)).within(kFloating));
    const Place place = sums || computes ? place_of(context_, call->getExprLoc()) : Place();
    for (size_t i = 0; i < called.symbols.size() && place.line > 0; ++i) {
      const auto narrowed = dtypes_.narrowed(called.symbols[i]);
      if (!narrowed) continue;
      const std::string& text = called.op.operands[i].text;
      const bool is_low = kLowPrecision.contains(narrowed->to);
      const bool matters = is_low ? sums && (is_loss || narrowed->is_cast_itself) : computes;
      if (matters && cut_.insert(is_low ? place : narrowed->cast).second)
        facts_.cut_numbers.push_back({narrowed->cast, at_.function, text,
                                      dtype_name(narrowed->from), narrowed->to, false, CutBy::kCast,
                                      name, place});
    }
  }

  // counts[i] = x, counts.copy_(x)
  void written_by(const CallExpr* call) {
    const auto* op = dyn_cast<CXXOperatorCallExpr>(call);
    const auto member = member_call(call);
    const Expr *to = nullptr, *value = nullptr;
    if (op != nullptr && op->getOperator() == OO_Equal && isa<CallExpr>(stripped(op->getArg(0)))) {
      to = op->getArg(0);
      value = op->getArg(1);
    } else if (member && member->name == "copy_" && call->getNumArgs() > 0) {
      to = member->base;
      value = call->getArg(0);
    }
    if (to == nullptr || !is_tensor(to->getType()) || !is_tensor(value->getType())) return;
    const int target = dtypes_.tensor(to), given = dtypes_.tensor(value);
    const auto dtype = dtypes_.state.dtypes(target).single();
    const auto from = dtypes_.state.dtypes(given).single();
    const bool is_byte = dtype == Dtype::kByte || dtype == Dtype::kChar;
    if (!dtype || !from || !kIntegral.contains(*dtype) || is_byte || !kFloating.contains(*from) ||
        dtypes_.is_whole(given))
      return;
    const Place place = place_of(context_, call->getExprLoc());
    if (place.line > 0 && cut_.insert(place).second)
      facts_.cut_numbers.push_back({place, at_.function, dtypes_.text(stripped(value)),
                                    dtype_name(*from), *dtype, false, CutBy::kWrite,
                                    dtypes_.text(stripped(to)), dtypes_.origin(target)});
  }

  void say_options(const SourceOp& op, SourceOperand& operand) const {
    const Dtypes::Factory* factory = dtypes_.factory_at(operand.made);
    DtypeSet met;
    for (const SourceOperand& other : op.operands) met |= other.dtypes & kFloating;
    met = met - operand.dtypes;
    if (factory == nullptr || !operand.dtypes.within(kFloating) || !met.single()) return;
    for (const FunctionDecl* function : at_.stack) {
      std::vector<const VarDecl*> variables(function->param_begin(), function->param_end());
      if (!visible_at(function->getBody(), factory->call, variables)) continue;
      const auto has_it = [&](const VarDecl* variable) {
        const auto held = factory->variables.find(variable);
        return held != factory->variables.end() && is_tensor(variable->getType()) &&
               dtypes_.state.knows(held->second) && dtypes_.state.dtypes(held->second) == met;
      };
      const auto found = std::find_if(variables.rbegin(), variables.rend(), has_it);
      if (found == variables.rend()) return;
      operand.maker = called_name(factory->call).str();
      operand.options_at = written_place(context_, factory->call->getRParenLoc());
      operand.options = (*found)->getNameAsString() + ".options()";
      return;
    }
  }

  void add_op(SourceOp op) {
    if (op.operands.empty() || !is_of_interest(op)) return;
    if (at_.autocast && !refusal_of(as_under_autocast(op))) return;
    for (SourceOperand& operand : op.operands) {
      say_options(op, operand);
      if (operand.made.line == op.place.line) operand.made = {};
      if (operand.is_assumed) op.assumes = at_.assumption();
    }
    if (!op.assumes.empty()) {
      SourceOp open = without_assumption(op);
      open.assumes.clear();
      if (refusal_of(open)) op = std::move(open);
    }
    op.led_here = at_.led_here(op.place);
    if (op.place.line > 0 && ops_.insert({op.place, known_as(op)}).second)
      facts_.ops.push_back(std::move(op));
  }

  // Control is in a case of a dispatch that stands for one of these.
  bool in_dispatch_on(DtypeSet dtypes) const {
    return llvm::any_of(at_.switches, [&](const Switch& over) {
      return over.symbol >= 0 && dtypes_.state.knows(over.symbol) &&
             dtypes_.state.dtypes(over.symbol).within(dtypes);
    });
  }

  void division_of(const CallExpr* call) {
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
      facts_.integer_divisions.push_back({place, at_.function, fact, !is_integral});
    } else {
      facts_.integer_divisions[at->second].tensor.dtypes |= fact.dtypes;
    }
  }

  std::set<std::pair<Place, std::string>> ops_;
  std::set<Place> cut_;
  std::map<Place, size_t> divisions_;
};

}  // namespace

std::unique_ptr<Watcher> watch_ops(Whereabouts& at) { return std::make_unique<Ops>(at); }

}  // namespace dtypecheck::analyzer
