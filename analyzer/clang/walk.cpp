#include "analyzer/clang/walk.h"

#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

#include <utility>

#include "analyzer/clang/assume.h"
#include "analyzer/clang/functions.h"

namespace dtypecheck::analyzer {

using namespace clang;

static bool is_constant(const Expr* condition, const ASTContext& context, bool& value) {
  return !condition->isValueDependent() && !condition->isTypeDependent() &&
         !condition->containsErrors() && condition->EvaluateAsBooleanCondition(value, context);
}

Walk::Walk(const ASTContext& context, SourceFacts& facts, Rounds rounds)
    : at_(context, facts),
      context_(at_.context),
      dtypes_(at_.dtypes),
      rounds_(rounds),
      modules_(*this),
      layers_(*this),
      datasets_(*this) {}

WalkPart::WalkPart(Walk& walk) : walk_(walk), at_(walk.at()), dtypes_(at_.dtypes) {}

void Walk::function(const FunctionDecl* function, Callers callers) {
  enter(function, callers);
  run_body(function->getBody(), nullptr);
}

void Walk::enter(const FunctionDecl* function, Callers callers) {
  dtypes_.begin_function();
  at_.switches.clear();
  at_.callers = callers;
  at_.function = function->getNameAsString();
  at_.stack = {function};
  at_.call_sites.clear();
  at_.levels.clear();
  steps_ = 0;
  at_.autocast = false;
  at_.entry = outside_name(function);
  at_.parameters.clear();
  // Modules that come from outside are Float; the files of the run say whether that holds.
  const int assumed = dtypes_.make(TensorSource::kMade, Dtype::kFloat);
  dtypes_.state.set_entry_module(assumed);
  dtypes_.assume(assumed);
  for (const ParmVarDecl* parameter : function->parameters()) {
    at_.parameters.push_back(
        dtypes_.make(TensorSource::kParameter, kAnyDtype, parameter->getNameAsString()));
    dtypes_.bind(parameter, at_.parameters.back());
  }
  at_.notify(&Watcher::enter);
}

void Walk::children(const Stmt* stmt) {
  for (const Stmt* child : stmt->children()) this->stmt(child);
}

void Walk::block(const CompoundStmt* block) {
  at_.levels.push_back({block, nullptr, std::exchange(lambda_body_, nullptr) == block});
  for (auto at = block->body_begin(); at != block->body_end(); ++at) {
    const Stmt* child = *at;
    at_.levels.back().whole = child;
    // A TORCH_CHECK that a fix puts before this statement must run when the statement does: of an
    // `if` or a loop only a part may run.
    at_.levels.back().statement =
        isa<Expr>(child) || isa<DeclStmt>(child) || isa<ReturnStmt>(child) ? child : nullptr;
    const auto* lone = dyn_cast<IfStmt>(child);
    if (lone != nullptr && lone->getElse() == nullptr && !dtypes_.state.dead)
      at_.notify(&Watcher::branch, lone, llvm::ArrayRef<const Stmt*>(at + 1, block->body_end()));
    stmt(child);
  }
  at_.levels.pop_back();
}

void Walk::stmt(const Stmt* stmt) {
  if (stmt == nullptr || ++steps_ > kMaxSteps) return;
  if (dtypes_.state.dead && !isa<SwitchCase>(stmt) && !isa<LabelStmt>(stmt)) return;
  if (const auto* one = dyn_cast<Expr>(stmt)) return expr(one);
  if (const auto* one = dyn_cast<CompoundStmt>(stmt)) return block(one);
  if (const auto* one = dyn_cast<IfStmt>(stmt)) return branch(one);
  if (const auto* one = dyn_cast<DeclStmt>(stmt)) return declare(one);
  if (const auto* one = dyn_cast<SwitchStmt>(stmt)) return switch_over(one);
  if (const auto* one = dyn_cast<SwitchCase>(stmt)) return switch_case(one);
  if (const auto* one = dyn_cast<ReturnStmt>(stmt)) return return_from(one);
  if (const auto* one = dyn_cast<WhileStmt>(stmt)) {
    return loop(one->getBody(), one->getCond(), nullptr);
  }
  if (const auto* one = dyn_cast<ForStmt>(stmt)) {
    this->stmt(one->getInit());
    return loop(one->getBody(), one->getCond(), one->getInc());
  }
  if (const auto* one = dyn_cast<CXXForRangeStmt>(stmt)) return range_for(one);
  if (const auto* one = dyn_cast<DoStmt>(stmt)) return do_while(one);
  if (const auto* one = dyn_cast<CXXTryStmt>(stmt)) return try_block(one);
  if (isa<BreakStmt>(stmt)) {
    if (!at_.switches.empty()) at_.switches.back().ends.push_back(dtypes_.state);
    dtypes_.state.dead = true;
    return;
  }
  if (isa<ContinueStmt>(stmt) || isa<GotoStmt>(stmt)) {
    dtypes_.state.dead = true;
    return;
  }
  if (isa<LabelStmt>(stmt)) dtypes_.state.dead = false;
  children(stmt);
}

static std::string mark_of(const Decl* decl) {
  return "@" + std::to_string(reinterpret_cast<uintptr_t>(decl)) + ";";
}

// By what a condition is known again where it is asked a second time: its text, and the variables
// that it names. "": it calls something, or writes.
static std::string known_again(const Expr* condition, const ASTContext& context) {
  std::string names;
  bool is_plain = true;
  for_each_expr(condition, [&](const Expr* one) {
    if (const auto* name = dyn_cast<DeclRefExpr>(one))
      names += mark_of(name->getDecl());
    else if (const auto* member = dyn_cast<MemberExpr>(one))
      names += mark_of(member->getMemberDecl());
    const auto* binary = dyn_cast<BinaryOperator>(one);
    const auto* unary = dyn_cast<UnaryOperator>(one);
    const auto* op = dyn_cast<CXXOperatorCallExpr>(one);  // kind == "auto"
    const bool asks =
        binary != nullptr  ? binary->isComparisonOp() || binary->isLogicalOp()
        : unary != nullptr ? unary->getOpcode() == UO_LNot || unary->getOpcode() == UO_Minus
        : op != nullptr
            ? op->isComparisonOp()
            : isa<DeclRefExpr, MemberExpr, ParenExpr, ImplicitCastExpr, CXXThisExpr, IntegerLiteral,
                  StringLiteral, CXXBoolLiteralExpr, CXXNullPtrLiteralExpr>(one);
    is_plain = is_plain && asks;
  });
  return is_plain && !names.empty() ? text_of(condition, context) + names : "";
}

// The condition without its `!`s, and whether they turn it round.
static std::pair<const Expr*, bool> without_not(const Expr* condition) {
  bool is_turned = false;
  for (;;) {
    condition = condition->IgnoreParenImpCasts();
    const auto* unary = dyn_cast<UnaryOperator>(condition);
    if (unary == nullptr || unary->getOpcode() != UO_LNot) return {condition, is_turned};
    condition = unary->getSubExpr();
    is_turned = !is_turned;
  }
}

// By what it is known again that the condition holds, or does not.
static std::string key_of(const Expr* condition, bool truth, const ASTContext& context) {
  const auto [bare, is_turned] = without_not(condition);
  const std::string known = known_again(bare, context);
  return known.empty() ? "" : (truth != is_turned ? "" : "!") + known;
}

// Of a && b each holds, of !(a || b) neither.
void Walk::recall(const Expr* condition, bool truth) {
  dtypes_.state.recall(key_of(condition, truth, context_));
  const auto [bare, is_turned] = without_not(condition);
  const auto* both = dyn_cast<BinaryOperator>(bare);
  const auto of_both = truth != is_turned ? BO_LAnd : BO_LOr;
  if (both == nullptr || both->getOpcode() != of_both) return;
  recall(both->getLHS(), truth != is_turned);
  recall(both->getRHS(), truth != is_turned);
}

void Walk::either_way(const Expr* condition, const std::function<void(bool)>& way) {
  const DtypeState before = dtypes_.state;
  const auto go = [&](bool truth) {
    assume(dtypes_, condition, truth);
    recall(condition, truth);
    way(truth);
  };
  go(true);
  const DtypeState after_true = std::move(dtypes_.state);
  dtypes_.state = before;
  go(false);
  const DtypeState after_false = std::move(dtypes_.state);
  dtypes_.state = DtypeState::join(after_true, after_false);
  if (after_true.dead || after_false.dead) return;
  dtypes_.state.remember(key_of(condition, true, context_), after_true);
  dtypes_.state.remember(key_of(condition, false, context_), after_false);
}

void Walk::branch(const IfStmt* stmt) {
  this->stmt(stmt->getInit());
  this->stmt(stmt->getConditionVariableDeclStmt());
  this->stmt(stmt->getCond());
  bool value = false;
  if (is_constant(stmt->getCond(), context_, value)) {
    return this->stmt(value ? stmt->getThen() : stmt->getElse());
  }
  if (stmt->getElse() != nullptr) at_.notify(&Watcher::branch, stmt, llvm::ArrayRef<const Stmt*>());
  const auto by_hand = chain_at(stmt);
  if (by_hand && by_hand->cases.size() > 1) return chain(stmt, *by_hand);
  either_way(stmt->getCond(),
             [&](bool truth) { this->stmt(truth ? stmt->getThen() : stmt->getElse()); });
}

std::optional<Walk::Chain> Walk::chain_at(const IfStmt* first) {
  Chain chain;
  chain.begin = first->getBeginLoc();
  for (const IfStmt* one = first; one != nullptr; one = dyn_cast_or_null<IfStmt>(one->getElse())) {
    const Expr* of = nullptr;
    const auto dtype = equals_constant(one->getCond(), context_, of);
    const int symbol = dtype ? dtypes_.dtype(of) : -1;
    if (symbol < 0 || (chain.symbol >= 0 && !dtypes_.state.same(symbol, chain.symbol)))
      return std::nullopt;
    chain.symbol = symbol;
    chain.cases |= *dtype;
  }
  chain.fact = at_.dispatched(chain.symbol);
  return chain;
}

// The cases are those of a dispatch, where the last `else` lets no other dtype through.
void Walk::chain(const IfStmt* stmt, const Chain& chain) {
  this->stmt(stmt->getCond());
  const DtypeState before = dtypes_.state;
  assume(dtypes_, stmt->getCond(), true);
  Whereabouts::Switch over;
  over.symbol = chain.symbol;
  over.fact = chain.fact;
  over.lambdas = lambda_depth_;
  over.function = at_.function;
  at_.switches.push_back(std::move(over));
  this->stmt(stmt->getThen());
  const std::vector<DtypeState> breaks = std::move(at_.switches.back().ends);
  at_.switches.pop_back();
  if (!at_.switches.empty()) {
    std::vector<DtypeState>& outer = at_.switches.back().ends;
    outer.insert(outer.end(), breaks.begin(), breaks.end());
  }
  const DtypeState after_then = std::move(dtypes_.state);
  dtypes_.state = before;
  assume(dtypes_, stmt->getCond(), false);
  if (const auto* next = dyn_cast_or_null<IfStmt>(stmt->getElse())) {
    this->chain(next, chain);
  } else {
    const bool was_dead = dtypes_.state.dead;
    this->stmt(stmt->getElse());
    const bool refuses = dtypes_.state.dead && !was_dead;
    if (refuses) add_dispatch(chain.begin, chain.fact, chain.cases);
  }
  dtypes_.state = DtypeState::join(after_then, dtypes_.state);
}

// One that is evaluated on one way only, so that no check may stand before its statement.
void Walk::expr_of_one_way(const Expr* one) {
  const Stmt* outer =
      at_.levels.empty() ? nullptr : std::exchange(at_.levels.back().statement, nullptr);
  expr(one);
  if (!at_.levels.empty()) at_.levels.back().statement = outer;
}

void Walk::conditional(const ConditionalOperator* one) {
  expr(one->getCond());
  at_.notify(&Watcher::choose, one);
  either_way(one->getCond(), [&](bool truth) {
    expr_of_one_way(truth ? one->getTrueExpr() : one->getFalseExpr());
  });
}

void Walk::loop(const Stmt* body, const Expr* condition, const Stmt* step) {
  stmt(condition);
  const DtypeState before = dtypes_.state;
  at_.switches.emplace_back();
  const auto round = [&] {
    stmt(body);
    stmt(step);
  };
  round();
  if (rounds_ == Rounds::kEach) {
    dtypes_.state = DtypeState::join(dtypes_.state, before);
    round();
  } else if (dtypes_.state.has_other_dtype_than(before)) {
    round();  // begins with what this one made
  }
  dtypes_.state = DtypeState::join(dtypes_.state, before);
  for (const DtypeState& end : at_.switches.back().ends) {
    dtypes_.state = DtypeState::join(dtypes_.state, end);
  }
  at_.switches.pop_back();
}

// do { … } while (0) is how macros are written: what the body learns holds after it.
void Walk::do_while(const DoStmt* stmt) {
  bool again = true;
  do_once(stmt->getBody());
  this->stmt(stmt->getCond());
  const bool is_once = is_constant(stmt->getCond(), context_, again) && !again;
  if (rounds_ == Rounds::kEach && !is_once) loop(stmt->getBody(), stmt->getCond(), nullptr);
}

// for (const Tensor& t : {a, b, c}) check(t): the body once for each, so that each is checked.
void Walk::range_for(const CXXForRangeStmt* stmt) {
  this->stmt(stmt->getInit());
  this->stmt(stmt->getRangeInit());
  const VarDecl* variable = stmt->getLoopVariable();
  const bool is_of_modules = variable != nullptr && (is_module_or_holder(variable->getType()) ||
                                                     is_any_module(variable->getType()));
  if (Key modules; is_of_modules && dtypes_.module_key(stmt->getRangeInit(), modules))
    dtypes_.set_alias(variable, modules);
  if (const auto examples = datasets_.examples_of(stmt->getRangeInit());
      variable != nullptr && examples)
    datasets_.bind_each(variable, *examples);
  if (variable != nullptr && each_parameter(variable, stmt->getRangeInit()))
    return do_once(stmt->getBody());
  const auto* range = dyn_cast<DeclRefExpr>(stripped(stmt->getRangeInit()));
  const auto list = range == nullptr ? lists_.end() : lists_.find(range->getDecl());
  if (variable == nullptr || list == lists_.end()) {
    const bool is_of_tensors = variable != nullptr && is_tensor(variable->getType()) &&
                               is_tensor_list(stmt->getRangeInit()->getType());
    if (!is_of_tensors) return loop(stmt->getBody(), nullptr, nullptr);
    // One symbol stands for all tensors of a list, and of an empty one nothing is read.
    dtypes_.bind(variable, dtypes_.tensor(stmt->getRangeInit()));
    return do_once(stmt->getBody());
  }
  const std::vector<int> tensors = list->second;
  for (const int tensor : tensors) {
    if (dtypes_.state.knows(tensor)) dtypes_.bind(variable, tensor);
    do_once(stmt->getBody());
  }
  // Else a later join would mix the last of them with what the variable held on another way.
  if (!tensors.empty()) dtypes_.bind(variable, dtypes_.make(TensorSource::kOther, kAnyDtype));
}

// for (auto& p : net->parameters()), and of named_parameters(): a module has some.
bool Walk::each_parameter(const VarDecl* variable, const Expr* range) {
  const auto member = member_call(stripped(range));
  Key module;
  if (!member || (member->name != "parameters" && member->name != "named_parameters") ||
      !is_module(member->base->getType()) || !dtypes_.module_key(member->base, module))
    return false;
  parameters_of_[variable] = module;
  const bool is_one = !dtypes_.state.has_cast_part(module);
  const int symbol = is_one ? dtypes_.module(member->base) : -1;
  if (symbol >= 0 && is_tensor(variable->getType())) dtypes_.bind(variable, symbol);
  return true;
}

// p.set_data(x), and pair.value().set_data(x): p becomes what x is, and a module what each of its
// parameters does.
void Walk::set_data(const CallExpr* call) {
  const auto member = member_call(call);
  if (!member || member->name != "set_data" || call->getNumArgs() != 1) return;
  const int symbol = dtypes_.tensor(call->getArg(0));
  const Expr* written = stripped(member->base);
  if (const auto held = member_call(written); held && held->name == "value")
    written = stripped(held->base);
  const auto* name = dyn_cast<DeclRefExpr>(written);
  const auto of_module =
      name == nullptr ? parameters_of_.end() : parameters_of_.find(name->getDecl());
  if (of_module == parameters_of_.end()) return dtypes_.assign(member->base, symbol);
  modules_.cast(of_module->second, dtypes_.state.dtypes(symbol).single() ? symbol : -1);
}

void Walk::do_once(const Stmt* body) {
  at_.switches.emplace_back();
  stmt(body);
  for (const DtypeState& end : at_.switches.back().ends) {
    dtypes_.state = DtypeState::join(dtypes_.state, end);
  }
  at_.switches.pop_back();
}

void Walk::try_block(const CXXTryStmt* stmt) {
  const DtypeState before = dtypes_.state;
  this->stmt(stmt->getTryBlock());
  DtypeState after = dtypes_.state;
  for (unsigned i = 0; i < stmt->getNumHandlers(); ++i) {
    dtypes_.state = before;
    this->stmt(stmt->getHandler(i)->getHandlerBlock());
    after = DtypeState::join(after, dtypes_.state);
  }
  dtypes_.state = after;
}

static bool has_default(const SwitchStmt* stmt) {
  for (const SwitchCase* one = stmt->getSwitchCaseList(); one; one = one->getNextSwitchCase()) {
    if (isa<DefaultStmt>(one)) return true;
  }
  return false;
}

// default: falls_back = true; - the dtypes that have no case are served too.
static bool serves_others(const SwitchStmt* stmt) {
  for (const SwitchCase* one = stmt->getSwitchCaseList(); one; one = one->getNextSwitchCase()) {
    if (!isa<DefaultStmt>(one)) continue;
    const auto* set = dyn_cast<BinaryOperator>(one->getSubStmt());
    return set != nullptr && set->isAssignmentOp();
  }
  return false;
}

void Walk::add_dispatch(SourceLocation begin, const TensorFact& tensor, DtypeSet cases) {
  if (!at_.is_ours(begin)) return;
  at_.notify(&Watcher::dispatch, Dispatch{place_of(context_, begin), at_.function, at_.callers,
                                          at_.macro_at(begin), tensor, cases});
}

void Walk::switch_over(const SwitchStmt* stmt) {
  this->stmt(stmt->getInit());
  this->stmt(stmt->getCond());
  Whereabouts::Switch over;
  if (holds_dtype(stripped(stmt->getCond())->getType()))
    over.symbol = dtypes_.dtype(stmt->getCond());
  if (over.symbol >= 0) over.fact = at_.dispatched(over.symbol);
  over.entry = dtypes_.state;
  over.lambdas = lambda_depth_;
  over.function = at_.function;
  over.stmt = stmt;
  if (over.symbol >= 0) at_.notify(&Watcher::switch_over, stmt, over.symbol);
  at_.switches.push_back(std::move(over));
  const auto* body = dyn_cast<CompoundStmt>(stmt->getBody());
  // Until the first case; but what stands before it are cases of a macro that nothing declares.
  dtypes_.state.dead = body == nullptr || body->body_empty() || !isa<Expr>(body->body_front());
  if (body != nullptr)
    block(body);
  else
    this->stmt(stmt->getBody());
  Whereabouts::Switch done = std::move(at_.switches.back());
  at_.switches.pop_back();
  if (!has_default(stmt)) dtypes_.state = DtypeState::join(dtypes_.state, done.entry);
  for (const DtypeState& end : done.ends) dtypes_.state = DtypeState::join(dtypes_.state, end);
  if (done.symbol >= 0 && done.cases.size() > 1 && !serves_others(stmt))
    add_dispatch(stmt->getBeginLoc(), done.fact, done.cases);
}

void Walk::switch_case(const SwitchCase* stmt) {
  if (at_.switches.empty()) return children(stmt);
  Whereabouts::Switch& over = at_.switches.back();
  DtypeState fallen = std::move(dtypes_.state);
  dtypes_.state = over.entry;
  if (const auto* one = dyn_cast<CaseStmt>(stmt); one != nullptr && over.symbol >= 0) {
    if (const auto dtype = dtype_constant(stripped(one->getLHS()), context_)) {
      over.cases |= *dtype;
      // A case that cannot come is not walked through: that of Float where g == at::kHalf.
      if (!dtypes_.state.dtypes(over.symbol).intersects(*dtype)) dtypes_.state.dead = true;
      dtypes_.state.narrow(over.symbol, *dtype);
    }
  }
  // What has a case does not come to the default after it.
  if (isa<DefaultStmt>(stmt) && over.symbol >= 0) dtypes_.state.exclude(over.symbol, over.cases);
  dtypes_.state = DtypeState::join(fallen, dtypes_.state);
  this->stmt(stmt->getSubStmt());
}

void Walk::return_from(const ReturnStmt* stmt) {
  this->stmt(stmt->getRetValue());
  if (!calls_.empty() && !dtypes_.state.dead) {
    const Expr* value = stmt->getRetValue();
    const bool is_one =
        value != nullptr && (is_tensor(value->getType()) || holds_dtype(value->getType()));
    // What it constructs is walked too, as a call on top of this one.
    if (value != nullptr && !is_one) initialize_field({stmt}, value->getType(), value);
    Call& call = calls_.back();
    if (is_one) {
      call.values.push_back(
          {is_tensor(value->getType()) ? dtypes_.tensor(value) : dtypes_.dtype(value)});
    } else if (value != nullptr) {
      call.values.push_back(dtypes_.elements(value));
      call.is_tuple = true;
      call.object = {stmt};
    }
    call.returns.push_back(dtypes_.state);
  }
  dtypes_.state.dead = true;
}

void Walk::declare(const DeclStmt* stmt) {
  for (const Decl* decl : stmt->decls()) {
    if (const auto* variable = dyn_cast<VarDecl>(decl)) declare(variable);
    const bool in_case = !at_.switches.empty() && at_.switches.back().lambdas == lambda_depth_;
    if (isa<TypedefNameDecl>(decl) && in_case) at_.switches.back().aliases.insert(decl);
  }
}

void Walk::declare(const VarDecl* variable) {
  const Expr* init = variable->getInit();
  if (may_hold_tensor(variable->getType()) && (init == nullptr || is_no_tensor(init))) {
    const int none = dtypes_.make(TensorSource::kOther, kAnyDtype);
    dtypes_.state.set_absent(none);
    return dtypes_.bind(variable, none);
  }
  if (init == nullptr) return;
  const Expr* bare = stripped(init);
  if (const auto* made = dyn_cast<CXXConstructExpr>(bare);
      made != nullptr && made->getNumArgs() == 0 && is_tensor_list(variable->getType())) {
    const int none = dtypes_.make(TensorSource::kOther, kAnyDtype);
    dtypes_.state.set_absent(none);
    return dtypes_.bind(variable, none);
  }
  if (const auto* lambda = dyn_cast<LambdaExpr>(bare)) {
    lambdas_[variable] = lambda;
    return;
  }
  expr(init);
  if (declare_tensor_arg(dtypes_, variable)) return;
  const QualType type = variable->getType();
  if (const CXXRecordDecl* record = type->getAsCXXRecordDecl()) {
    at_.autocast = at_.autocast || record->getName().contains_insensitive("autocast");
  }
  at_.notify(&Watcher::bind, variable, init);
  if (type->isPointerType()) {
    modules_.make(variable);
    return bind_fields(variable, init);
  }
  int symbol = -1;
  const bool is_list = is_tensor_list(type) && isa<CallExpr>(bare);  // x.chunk(2)
  if (may_hold_tensor(type) || is_tensor(bare->getType()) || is_list)
    symbol = dtypes_.tensor(init);
  else if (is_tensor_list(type))
    symbol = dtypes_.list(init);
  else if (holds_dtype(type) || holds_dtype(bare->getType()))
    symbol = dtypes_.dtype(init);
  else if (type->isBooleanType())
    dtypes_.set_named(variable, init);
  else
    dtypes_.bind_tuple({variable}, type, init);
  if (symbol >= 0) dtypes_.bind(variable, symbol);
  if (const auto* several = dyn_cast<DecompositionDecl>(variable)) {  // auto [values, indices] = …
    for (size_t i = 0; i < several->bindings().size(); ++i)
      dtypes_.bind(several->bindings()[i], dtypes_.result(init, i));
  }
  modules_.make(variable);
  datasets_.bind(variable, init);
  bind_fields(variable, init);
}

// std::pair<Tensor, Tensor> batch = get_batch(); batch.first
void Walk::bind_fields(const VarDecl* variable, const Expr* value) {
  name_object(variable, value);
  const CXXRecordDecl* record = variable->getType().getNonReferenceType()->getAsCXXRecordDecl();
  if (!is_module_or_holder(variable->getType()) && !is_tensor(variable->getType()) &&
      held_object(variable->getType()) != nullptr)
    initialize_field({variable->getCanonicalDecl()}, variable->getType(), value);
  if (record == nullptr || !record->hasDefinition() || is_tensor(variable->getType())) return;
  std::vector<const FieldDecl*> fields;
  for (const FieldDecl* field : record->fields()) {
    if (!is_tensor(field->getType())) return;
    fields.push_back(field);
  }
  if (fields.size() < 2) return;
  const std::vector<int> all = dtypes_.elements(value);
  for (size_t i = 0; i < fields.size() && all.size() == fields.size(); ++i)
    dtypes_.state.bind({variable->getCanonicalDecl(), fields[i]}, all[i]);
}

void Walk::expr(const Expr* one) {
  if (one == nullptr || ++steps_ > kMaxSteps) return;
  if (const auto* lambda = dyn_cast<LambdaExpr>(one)) return lambda_in_place(lambda);
  if (const auto* name = dyn_cast<DeclRefExpr>(one)) {  // one that is handed on
    const auto lambda = lambdas_.find(dyn_cast<VarDecl>(name->getDecl()));
    if (lambda != lambdas_.end()) lambda_in_place(lambda->second);
    return;
  }
  if (const auto* choice = dyn_cast<ConditionalOperator>(one)) return conditional(choice);
  if (const auto* statement = dyn_cast<StmtExpr>(one)) return stmt(statement->getSubStmt());
  if (const auto* call_of = dyn_cast<CallExpr>(one)) return call(call_of);
  if (const auto* op = dyn_cast<BinaryOperator>(one); op != nullptr && op->isLogicalOp()) {
    expr(op->getLHS());
    return expr_of_one_way(op->getRHS());
  }
  if (isa<UnaryExprOrTypeTraitExpr>(one) || isa<CXXNoexceptExpr>(one)) return;  // not evaluated
  for (const Stmt* child : one->children()) {
    if (const auto* inner = dyn_cast_or_null<Expr>(child)) expr(inner);
  }
  if (const auto* unknown = dyn_cast<RecoveryExpr>(one)) trust_unknown_check(unknown);
  if (isa<CXXThrowExpr>(one)) dtypes_.state.dead = true;
  at_.notify(&Watcher::expr, one);
  const auto* assignment = dyn_cast<BinaryOperator>(one);
  if (assignment != nullptr && assignment->isAssignmentOp()) assign(assignment);
}

// What conditions said of it holds no more.
void Walk::forget_written(const Expr* written) {
  written = stripped(written);
  if (const auto* to = dyn_cast<DeclRefExpr>(written)) {
    dtypes_.forget_named(to->getDecl());
    dtypes_.state.forget(mark_of(to->getDecl()));
  } else if (const auto* field = dyn_cast<MemberExpr>(written)) {
    dtypes_.state.forget(mark_of(field->getMemberDecl()));
  }
}

void Walk::assign(const BinaryOperator* assignment) {
  forget_written(assignment->getLHS());
  if (assignment->getOpcode() != BO_Assign) return;
  if (holds_dtype(assignment->getType()))
    assign_dtype(assignment->getLHS(), assignment->getRHS());
  else if (assignment->getType()->isPointerType())
    assign_object(assignment->getLHS(), assignment->getRHS());
  at_.notify(&Watcher::assign, assignment);
}

// A lambda that is not called here runs later, or never: it is walked through for what it reads,
// and what its conditions say does not hold behind it.
void Walk::lambda_in_place(const LambdaExpr* lambda) {
  const DtypeState before = dtypes_.state;
  ++lambda_depth_;
  run_body(lambda->getBody(), nullptr);
  --lambda_depth_;
  dtypes_.state = before;
}

// Where it returns on several ways, what has one dtype on all of them.
std::vector<int> Walk::returned(const Call& done) {
  std::vector<int> all;
  const size_t ways = done.returns.size();
  for (size_t i = 0; ways > 0 && done.values.size() == ways; ++i) {
    std::vector<Dtypes::Way> values;
    for (size_t way = 0; way < ways && i < done.values[way].size(); ++way)
      values.push_back({&done.returns[way], done.values[way][i]});
    if (values.size() < ways) break;
    all.push_back(dtypes_.one_of(values));
  }
  return all;
}

std::vector<int> Walk::run_body(const Stmt* body, const Expr* call) {
  calls_.emplace_back();
  stmt(body);
  Call done = std::move(calls_.back());
  calls_.pop_back();
  for (const DtypeState& end : done.returns) dtypes_.state = DtypeState::join(dtypes_.state, end);
  std::vector<int> values = returned(done);
  if (call == nullptr) return values;
  const bool is_one = !done.is_tuple && values.size() == 1 && dtypes_.state.knows(values[0]);
  if (is_one) dtypes_.remember(call, values[0]);
  if (done.is_tuple && !values.empty()) dtypes_.remember(call, values);
  if (done.returns.size() == 1 && !done.object.empty())
    dtypes_.state.copy_object(done.object, {call});
  return values;
}

bool Walk::call_lambda(const CallExpr* call) {
  const auto* op = dyn_cast<CXXOperatorCallExpr>(call);
  if (op == nullptr || op->getOperator() != OO_Call) return false;
  const Expr* object = stripped(op->getArg(0));
  const auto* lambda = dyn_cast<LambdaExpr>(object);
  if (const auto* variable = dyn_cast<DeclRefExpr>(object); variable != nullptr) {
    const auto known = lambdas_.find(dyn_cast<VarDecl>(variable->getDecl()));
    if (known != lambdas_.end()) lambda = known->second;
  }
  if (lambda == nullptr || calls_.size() > 4 * Whereabouts::kMaxCallDepth) return false;
  for (unsigned i = 1; i < op->getNumArgs(); ++i) expr(op->getArg(i));
  const CXXMethodDecl* method = lambda->getCallOperator();
  for (unsigned i = 0; i < method->getNumParams() && i + 1 < op->getNumArgs(); ++i) {
    bind_parameter(method->getParamDecl(i), op->getArg(i + 1));
  }
  ++lambda_depth_;
  lambda_body_ = lambda->getBody();
  run_body(lambda->getBody(), call);
  --lambda_depth_;
  return true;
}

void Walk::bind_parameter(const ParmVarDecl* parameter, const Expr* argument) {
  name_object(parameter, argument);
  modules_.bind(parameter, argument);
  datasets_.bind(parameter, argument);
  dtypes_.bind_argument(parameter, argument);
  at_.notify(&Watcher::bind, parameter, argument);
  const Expr* bare = stripped(argument);
  if (const auto* made = dyn_cast<CXXStdInitializerListExpr>(bare))
    bare = stripped(made->getSubExpr());
  const auto* list = dyn_cast<InitListExpr>(bare);
  const bool is_only_one =
      is_tensor_list(parameter->getType()) && is_tensor(bare->getType());  // {x}
  if (list == nullptr && !is_only_one) return;
  std::vector<int>& tensors = lists_[parameter];
  tensors.clear();
  if (list == nullptr) {
    tensors.push_back(dtypes_.tensor(bare));
    return;
  }
  for (const Expr* element : list->inits()) {
    if (is_tensor(element->getType())) tensors.push_back(dtypes_.tensor(element));
  }
}

// A function of an object other than *this; the key is empty where it is not known which.
static bool calls_other_object(const CallExpr* call, const Dtypes& dtypes, Key& key) {
  const Expr* object = module_that_runs(call);
  const auto member = member_call(call);
  const auto* method = dyn_cast_or_null<CXXMethodDecl>(call->getDirectCallee());
  if (object == nullptr && member && (method == nullptr || !method->isStatic()))
    object = member->base;
  if (object == nullptr || isa<CXXThisExpr>(stripped(object))) return false;
  if (!dtypes.module_key(object, key)) key.clear();
  return true;
}

// The function that a call ends in; a virtual one by the class that the object was made of.
const FunctionDecl* Walk::called(const CallExpr* call) const {
  const FunctionDecl* callee = called_by(call);
  const auto* method = dyn_cast_or_null<CXXMethodDecl>(callee);
  const auto* written = dyn_cast<MemberExpr>(call->getCallee()->IgnoreParenImpCasts());
  const bool is_open =
      method != nullptr && method->isVirtual() && (written == nullptr || !written->hasQualifier());
  if (!is_open) return callee;
  const Expr* object = module_that_runs(call);
  if (const auto member = member_call(call); object == nullptr && member) object = member->base;
  Key key;
  if (object == nullptr || !dtypes_.module_key(object, key)) return callee;
  const CXXRecordDecl* made = dtypes_.class_of(key);
  const CXXMethodDecl* own =
      made == nullptr ? nullptr : method->getCorrespondingMethodInClass(made, true);
  return own == nullptr ? callee : own;
}

// A function of the same file, in the state of this call.
bool Walk::walk_through(const CallExpr* call) {
  const FunctionDecl* callee = called(call);
  const FunctionDecl* body = callee == nullptr ? nullptr : callee->getDefinition();
  if (body == nullptr || !body->hasBody() || !at_.is_ours(body->getLocation())) return false;
  if (at_.is_too_deep(body)) return false;
  const bool is_operator_of_object = isa<CXXOperatorCallExpr>(call) && isa<CXXMethodDecl>(body);
  const bool is_given_context =
      called_name(call) == "apply" && name_of(body->getDeclName()) == "forward";
  const int skip = is_operator_of_object ? 1 : is_given_context ? -1 : 0;
  for (int i = std::max(0, -skip), n = static_cast<int>(call->getNumArgs());
       i < static_cast<int>(body->getNumParams()) && i + skip < n; ++i) {
    bind_parameter(body->getParamDecl(i), call->getArg(i + skip));
  }
  at_.notify(&Watcher::walk_through, body);
  Key object;
  const bool is_of_object = calls_other_object(call, dtypes_, object);
  inside(body, {place_of(context_, call->getBeginLoc()), call, skip},
         is_of_object ? &object : nullptr, [&] { run_body(body->getBody(), call); });
  return true;
}

// The body of checkSameType(…) or check_inputs(a, b) is in another file. By its name it may compare
// dtypes, and a finding that nothing does would be wrong: its tensors count as looked at.
static bool may_compare_dtypes(llvm::StringRef function) {
  const std::string name = function.lower();
  return llvm::any_of(llvm::ArrayRef<llvm::StringRef>({"check", "assert", "valid", "dtype"}),
                      [&](llvm::StringRef word) { return llvm::StringRef(name).contains(word); });
}

void Walk::trust_opaque_check(const CallExpr* call) {
  if (may_compare_dtypes(called_name(call))) look_at_arguments(dtypes_, call);
}

// The same where the header is missing that declares it: CHECK_INPUT(x) is nothing that Clang
// knows.
void Walk::trust_unknown_check(const RecoveryExpr* unknown) {
  const auto parts = unknown->subExpressions();
  if (parts.size() < 2) return;
  const auto* callee = dyn_cast<OverloadExpr>(parts.front()->IgnoreParenImpCasts());
  const llvm::StringRef name = callee == nullptr ? "" : name_of(callee->getName());
  if (!may_compare_dtypes(name) || says_other_than_dtype(name)) return;
  for (const Expr* argument : parts.drop_front()) look_at_argument(dtypes_, argument);
}

static bool is_tie(const CallExpr* call) {
  return called_name(call) == "tie" || called_name(call) == "forward_as_tuple";
}

// std::tie(output, std::tie(h, c)) = …: each in its turn.
void Walk::assign_tie(const CallExpr* tie, const Expr* value, size_t& at) {
  for (const Expr* one : tie->arguments()) {
    const auto* inner = dyn_cast<CallExpr>(stripped(one));
    if (inner != nullptr && is_tie(inner))
      assign_tie(inner, value, at);
    else
      dtypes_.assign(one, dtypes_.result(value, at++));
  }
}

// x = y; std::tie(values, indices) = x.max(1);
void Walk::assign(const CXXOperatorCallExpr* assignment) {
  const Expr* to = assignment->getArg(0);
  const Expr* value = assignment->getArg(1);
  const auto* tie = dyn_cast<CallExpr>(stripped(to));
  if (tie != nullptr && is_tie(tie)) {
    size_t at = 0;
    assign_tie(tie, value, at);
  } else if (Key tuple; dtypes_.object_key(stripped(to), tuple) &&
                        dtypes_.bind_tuple(tuple, to->getType(), value)) {
  } else if (is_module_or_holder(to->getType())) {
    if (Key key; dtypes_.module_key(to, key)) modules_.set(key, value);
  } else if (may_hold_tensor(to->getType())) {
    const int symbol = dtypes_.tensor(value);
    if (is_no_tensor(value)) dtypes_.state.set_absent(symbol);
    dtypes_.assign(to, symbol);
    at_.notify(&Watcher::write, to, symbol);
  } else if (holds_dtype(to->getType())) {
    assign_dtype(to, value);
  } else {
    forget_written(to);
    assign_object(to, value);
  }
}

// encoder_ = encoder; agent_ = std::make_unique<Agent>(8);
void Walk::assign_object(const Expr* to, const Expr* value) {
  if (Key key; dtypes_.module_key(to, key)) initialize_field(key, to->getType(), value);
}

void Walk::assign_dtype(const Expr* to, const Expr* value) {
  int symbol = dtypes_.dtype(value);
  if (symbol < 0) symbol = dtypes_.make(TensorSource::kOther, kAnyDtype);
  dtypes_.assign(to, symbol);
  at_.notify(&Watcher::write, to, symbol);
}

// parts[0] = x, parts.push_back(x): one symbol stands for all tensors of a list, and after this it
// would be wrong for some of them, unless x has the dtype of the others, or is the first.
void Walk::list_changed(const CallExpr* call) {
  const Expr* list = nullptr;
  const Expr* value = call->getNumArgs() == 0 ? nullptr : call->getArg(call->getNumArgs() - 1);
  const auto* assignment = dyn_cast<CXXOperatorCallExpr>(call);
  if (assignment != nullptr && assignment->getOperator() == OO_Equal) {
    const auto* element = dyn_cast<CXXOperatorCallExpr>(stripped(assignment->getArg(0)));
    if (element != nullptr && element->getOperator() == OO_Subscript) list = element->getArg(0);
  } else if (const auto member = member_call(call)) {
    const bool adds =
        member->name == "push_back" || member->name == "emplace_back" || member->name == "insert";
    if (adds) list = member->base;
  }
  if (list == nullptr || !is_tensor_list(list->getType())) return;
  const int held = dtypes_.tensor(list);
  const bool is_one = is_tensor(value->getType()) || is_tensor(stripped(value)->getType());
  const int given = is_one ? dtypes_.tensor(value) : dtypes_.make(TensorSource::kOther, kAnyDtype);
  const DtypeState& state = dtypes_.state;
  if (state.is_absent(held)) return dtypes_.assign(list, given);
  const bool agrees = state.dtypes(held).single() && state.dtypes(held) == state.dtypes(given);
  if (!agrees) dtypes_.assign(list, dtypes_.make(TensorSource::kOther, kAnyDtype));
}

// set_autocast_enabled(at::kCPU, false) ends a region; of a switch that is not known it goes on.
// What asks, sets the dtype or the cache does neither.
static bool is_in_autocast(const CallExpr* call, bool is_in, const ASTContext& context) {
  const FunctionDecl* callee = call->getDirectCallee();
  const llvm::StringRef name = called_name(call);
  const bool is_torchs = callee != nullptr && is_libtorchs(callee) &&
                         llvm::StringRef(callee->getQualifiedNameAsString()).contains("autocast");
  if (!is_torchs) return is_in || name.contains("autocast");
  bool is_on = true;
  if (!name.starts_with("set_") || !name.ends_with("enabled") || name.contains("cache"))
    return is_in;
  return call->getNumArgs() == 0 ||
         !is_constant(call->getArg(call->getNumArgs() - 1), context, is_on) || is_on;
}

static bool is_given_tensors(const CallExpr* call) {
  const auto is_one = [](const Expr* one) {
    return is_tensor(one->getType()) || is_tensor(stripped(one)->getType()) ||
           is_tensor_list(one->getType()) || is_module_or_holder(one->getType());
  };
  const auto member = member_call(call);
  return (member && is_one(member->base)) || llvm::any_of(call->arguments(), is_one);
}

// What an op gives inside a region: autocast casts neither integers nor Double, and of the others
// its device says whether it does.
static DtypeSet under_autocast(DtypeSet plain) {
  const bool is_kept = plain.single() && !plain.intersects(kCastByAutocast);
  return is_kept ? plain : plain.within(kCastByAutocast) ? kCastByAutocast : kAnyDtype;
}

void Walk::call(const CallExpr* call) {
  if (call_lambda(call)) return;
  for (const Stmt* child : call->children()) {
    if (const auto* inner = dyn_cast_or_null<Expr>(child)) expr(inner);
  }
  if (const auto* launch = dyn_cast<CUDAKernelCallExpr>(call)) expr(launch->getConfig());
  at_.autocast = is_in_autocast(call, at_.autocast, context_);
  if (called_name(call) == "set_default_dtype")
    dtypes_.set_default(default_dtype_of(call, context_));
  at_.notify(&Watcher::call, call);
  list_changed(call);
  modules_.call(call);
  set_data(call);
  layers_.call(call);
  const auto* op = dyn_cast<CXXOperatorCallExpr>(call);
  if (op != nullptr && op->getOperator() == OO_Equal && op->getNumArgs() == 2) return assign(op);
  if (!walk_through(call) && !check_of_tensor_args(dtypes_, call)) {
    modules_.cast_by_unseen(call);
    at_.notify(&Watcher::want_body, called(call));
    at_.notify(&Watcher::call_unseen, call);
    trust_opaque_check(call);
  }
  const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
  if (callee != nullptr && callee->isNoReturn()) dtypes_.state.dead = true;
  if (!at_.autocast || !is_tensor(call->getType()) || !is_given_tensors(call) ||
      dtypes_.names_dtype(call))
    return;
  const DtypeSet plain = dtypes_.state.dtypes(dtypes_.tensor(call));
  const DtypeSet given = under_autocast(plain);
  if (given != plain) dtypes_.remember(call, dtypes_.make(TensorSource::kOther, given));
}

}  // namespace dtypecheck::analyzer
