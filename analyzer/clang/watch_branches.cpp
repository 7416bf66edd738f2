// watch_branches.cpp: dispatches, and the branches of one question for a dtype compared:
// if (t == at::kHalf) run<half>(…) else run<float>(…). What the last branch serves is whatever the
// others left; two branches alike serve one of the two as the other.
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/PrettyPrinter.h>
#include <llvm/Support/raw_ostream.h>

#include "analyzer/clang/assume.h"
#include "analyzer/clang/watcher.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// A call of a function template, or of a member of a class template, with the dtypes of its types.
struct Instance {
  const Decl* of = nullptr;
  std::vector<DtypeSet> types;
  const CallExpr* call = nullptr;
};

std::optional<Instance> instance_of(const CallExpr* call) {
  const FunctionDecl* callee = call->getDirectCallee();
  if (callee == nullptr || is_libtorchs(callee)) return std::nullopt;
  const TemplateArgumentList* arguments = callee->getTemplateSpecializationArgs();
  const Decl* of = callee->getPrimaryTemplate();
  const auto* method = dyn_cast<CXXMethodDecl>(callee);
  if (arguments == nullptr && method != nullptr) {
    const auto* made = dyn_cast<ClassTemplateSpecializationDecl>(method->getParent());
    if (made == nullptr) return std::nullopt;
    arguments = &made->getTemplateArgs();
    of = made->getSpecializedTemplate();
  }
  if (arguments == nullptr) return std::nullopt;
  Instance instance{of, {}, call};
  for (const TemplateArgument& argument : arguments->asArray()) {
    const bool is_type = argument.getKind() == TemplateArgument::Type;
    instance.types.push_back(is_type ? element_dtypes(argument.getAsType()) : DtypeSet());
  }
  return instance;
}

using Statements = std::vector<const Stmt*>;

std::vector<Instance> instances_in(const Statements& arm) {
  std::vector<Instance> instances;
  for (const Stmt* stmt : arm) {
    for_each_expr(stmt, [&](const Expr* expr) {
      const auto* call = dyn_cast<CallExpr>(expr);
      if (call == nullptr) return;
      if (auto instance = instance_of(call)) instances.push_back(std::move(*instance));
    });
  }
  return instances;
}

// A branch that looks once more may refuse what it is not written for.
bool asks_again(const Stmt* stmt) {
  if (stmt == nullptr) return false;
  if (const auto* branch = dyn_cast<IfStmt>(stmt)) {
    bool asks = false;
    for_each_expr(branch->getCond(), [&](const Expr* expr) {
      const auto member = member_call(expr);
      asks = asks || holds_dtype(expr->getType()) ||
             (member && (member->name == "scalar_type" || member->name == "dtype"));
    });
    if (asks) return true;
  }
  const auto* call = dyn_cast<CallExpr>(stmt);
  if (call != nullptr && called_name(call).contains_insensitive("check")) return true;
  return llvm::any_of(stmt->children(), asks_again);
}

// x.to(at::kFloat): what is read may be the cast.
bool casts(const Stmt* stmt) {
  bool does = false;
  for_each_expr(stmt, [&](const Expr* expr) {
    const auto member = member_call(expr);
    does = does || (member && member->name == "to" && is_tensor(member->base->getType()));
  });
  return does;
}

bool ends_its_way(const Stmt* stmt) {
  if (const auto* block = dyn_cast<CompoundStmt>(stmt))
    return !block->body_empty() && ends_its_way(block->body_back());
  return isa<ReturnStmt>(stmt);
}

QualType pointer_type_of(const Expr* expr) {
  const auto* cast = dyn_cast<ExplicitCastExpr>(expr);
  if (cast != nullptr && cast->getType()->isPointerType())
    return cast->getTypeAsWritten()->getPointeeType();
  const auto member = member_call(expr);
  const bool is_typed = member && is_tensor(member->base->getType()) && !member->types.empty() &&
                        member->types.front().getArgument().getKind() == TemplateArgument::Type;
  return is_typed ? member->types.front().getArgument().getAsType() : QualType();
}

// A pointer inside has a type of its own: data_ptr<T>() refuses another dtype, and a cast is
// raw-cast's.
bool takes_typed_pointer(const CallExpr* call) {
  bool takes = false;
  for (const Expr* argument : call->arguments()) {
    for_each_expr(argument, [&](const Expr* expr) {
      const QualType type = pointer_type_of(expr);
      takes = takes || (!type.isNull() && !type->isVoidType());
    });
    // What it does with a tensor is seen where its body is.
    takes = takes || may_hold_tensor(argument->getType()) || is_tensor_list(argument->getType());
  }
  return takes;
}

// The one floating dtype that an arm is written for, by the types it names; empty: none, several.
DtypeSet fixed_dtype(const Statements& arm) {
  DtypeSet dtypes;
  const auto add = [&](DtypeSet one) {
    if (one.single() && one.within(kFloating)) dtypes |= one;
  };
  for (const Instance& instance : instances_in(arm)) {
    for (const DtypeSet& type : instance.types) add(type);
  }
  for (const Stmt* stmt : arm) {
    for_each_expr(stmt, [&](const Expr* expr) {
      const QualType type = pointer_type_of(expr);
      if (!type.isNull()) add(element_dtypes(type));
    });
  }
  return dtypes.single() ? dtypes : DtypeSet();
}

std::string printed(const Statements& arm, const ASTContext& context) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const Stmt* stmt : arm) stmt->printPretty(out, nullptr, context.getPrintingPolicy());
  return text;
}

// The dtype for which an arm instantiates what another one does for another.
std::optional<std::pair<DtypeSet, const CallExpr*>> other_instance(
    const Statements& arm, const std::vector<Instance>& earlier) {
  for (const Instance& instance : instances_in(arm)) {
    if (takes_typed_pointer(instance.call)) continue;
    for (const Instance& other : earlier) {
      if (other.of != instance.of || other.types.size() != instance.types.size()) continue;
      for (size_t i = 0; i < instance.types.size(); ++i) {
        const DtypeSet type = instance.types[i];
        const bool differs = type.single() && other.types[i].single() && type != other.types[i];
        if (differs && type.within(kFloating)) return std::pair(type, instance.call);
      }
    }
  }
  return std::nullopt;
}

class Branches : public Watcher {
 public:
  using Watcher::Watcher;
  void dispatch(const Dispatch& dispatch) override {
    if (dispatches_.insert(dispatch.place).second) facts_.dispatches.push_back(dispatch);
  }
  // The arms from the first `if` on, with the dtypes that come to each. What stands behind a lone
  // one that returns is its `else`.
  void branch(const IfStmt* first, llvm::ArrayRef<const Stmt*> behind) override {
    std::vector<Arm> arms;
    const auto question = asked(first->getCond());
    if (!question) return;
    DtypeSet left = dtypes_.state.dtypes(question->symbol);
    if (first->getElse() == nullptr) {
      look_at_half_alone(first, *question, behind);
      if (!ends_its_way(first->getThen()) || instances_in({first->getThen()}).empty()) return;
      arms = {{{first->getThen()}, left & question->dtypes, false},
              {{behind.begin(), behind.end()}, left - question->dtypes, true}};
      return look_at_arms(question->symbol, arms);
    }
    for (const IfStmt* one = first;;) {
      const auto next = asked(one->getCond());
      if (!next || !dtypes_.state.same(next->symbol, question->symbol)) return;
      const bool is_dead = next->dtypes.single() && !left.intersects(next->dtypes);
      if (is_dead && dtypes_.state.dtypes(question->symbol).intersects(next->dtypes)) {
        add_branch(one->getCond(), BranchFault::kDead, at_.dispatched(question->symbol),
                   next->dtypes, {});
      }
      arms.push_back({{one->getThen()}, left & next->dtypes, false});
      left = left - next->dtypes;
      if (one->getElse() == nullptr) {
        look_at_undone(question->symbol, arms, left);
        break;
      }
      const auto* further = dyn_cast<IfStmt>(one->getElse());
      if (further == nullptr) {
        arms.push_back({{one->getElse()}, left, true});
        break;
      }
      one = further;
    }
    look_at_arms(question->symbol, arms);
  }

  void choose(const ConditionalOperator* one) override {
    const auto question = asked(one->getCond());
    if (!question) return;
    const DtypeSet known = dtypes_.state.dtypes(question->symbol);
    look_at_arms(question->symbol, {{{one->getTrueExpr()}, known & question->dtypes, false},
                                    {{one->getFalseExpr()}, known - question->dtypes, true}});
    if (question->dtypes == DtypeSet(Dtype::kHalf) &&
        widens(one->getTrueExpr(), one->getFalseExpr(), question->symbol))
      add_half_alone(*question, one);
  }

  // The cases of a switch, each with the statements up to the next; those of LibTorch's own macros
  // differ in their types alone.
  void switch_over(const SwitchStmt* stmt, int symbol) override {
    const auto* body = dyn_cast<CompoundStmt>(stmt->getBody());
    if (body == nullptr ||
        llvm::StringRef(at_.macro_at(stmt->getBeginLoc())).starts_with("AT_DISPATCH"))
      return;
    std::vector<Arm> arms;
    DtypeSet left = dtypes_.state.dtypes(symbol);
    for (const Stmt* one : body->body()) {
      if (isa<SwitchCase>(one)) arms.push_back({{}, {}, false});
      if (arms.empty()) return;
      while (const auto* label = dyn_cast<SwitchCase>(one)) {
        const auto* of = dyn_cast<CaseStmt>(label);
        const auto dtype = of ? dtype_constant(stripped(of->getLHS()), context_) : std::nullopt;
        if (of != nullptr && !dtype) return;
        if (of == nullptr)
          arms.back().is_last = true;
        else
          arms.back().dtypes |= left & DtypeSet(*dtype);
        one = label->getSubStmt();
      }
      if (!isa<BreakStmt>(one)) arms.back().body.push_back(one);
    }
    for (const Arm& arm : arms) left = left - arm.dtypes;
    for (Arm& arm : arms) {
      if (arm.is_last) arm.dtypes |= left;
    }
    std::erase_if(arms, [](const Arm& arm) { return arm.body.empty(); });
    look_at_arms(symbol, arms);
  }

 private:
  // The one tensor's dtype that a condition asks for, and the dtypes that it holds for.
  struct Question {
    int symbol;
    DtypeSet dtypes;
  };
  struct Arm {
    Statements body;
    DtypeSet dtypes;  // that come here
    bool is_last;     // an `else` without a question, a `default`, what stands behind a lone `if`
  };

  std::optional<Question> asked(const Expr* condition) {
    static constexpr int kMaxDepth = 32;
    const Dtypes::Depth depth(dtypes_);
    if (depth.is_beyond(kMaxDepth)) return std::nullopt;
    condition = stripped(condition);
    if (const Expr* named = dtypes_.named(condition)) return asked(named);
    const auto* unary = dyn_cast<UnaryOperator>(condition);
    if (unary != nullptr && unary->getOpcode() == UO_LNot) {
      auto question = asked(unary->getSubExpr());
      if (question) question->dtypes = kAnyDtype - question->dtypes;
      return question;
    }
    const auto* either = dyn_cast<BinaryOperator>(condition);
    if (either != nullptr && either->getOpcode() == BO_LOr) {
      auto left = asked(either->getLHS());
      const auto right = left ? asked(either->getRHS()) : std::nullopt;
      if (!right || !dtypes_.state.same(left->symbol, right->symbol)) return std::nullopt;
      left->dtypes |= right->dtypes;
      return left;
    }
    const Expr* of = nullptr;
    const auto dtype = equals_constant(condition, context_, of);
    const auto other = dtype ? dtype : differs_from_constant(condition, context_, of);
    const int symbol = other ? dtypes_.dtype(of) : -1;
    if (symbol < 0) return std::nullopt;
    return Question{symbol, dtype ? DtypeSet(*dtype) : kAnyDtype - DtypeSet(*other)};
  }

  void add_branch(const Stmt* at, BranchFault fault, const TensorFact& tensor, DtypeSet dtypes,
                  DtypeSet served) {
    const Place place = place_of(context_, at->getBeginLoc());
    if (place.line == 0 || !branches_.emplace(place, fault).second) return;
    facts_.branches.push_back({place, at_.function, at_.callers, tensor, dtypes, served, fault});
  }

  void look_at_arms(int symbol, const std::vector<Arm>& arms) {
    const TensorFact tensor = at_.dispatched(symbol);
    if (!tensor.is_external() || tensor.looked_at || arms.size() < 2) return;
    for (size_t i = 0; i < arms.size(); ++i) {
      for (size_t k = i + 1; k < arms.size(); ++k) {
        const DtypeSet fixed = fixed_dtype(arms[k].body);
        if (fixed.empty() || arms[i].dtypes.intersects(arms[k].dtypes)) continue;
        if (printed(arms[i].body, context_) != printed(arms[k].body, context_)) continue;
        const Arm& wrong = arms[k].dtypes.within(fixed) ? arms[i] : arms[k];
        if (!wrong.dtypes.empty())
          add_branch(wrong.body.front(), BranchFault::kAlike, tensor, wrong.dtypes, fixed);
        return;
      }
    }
    for (const Arm& arm : arms) {
      const bool is_open = arm.is_last || arm.dtypes.size() > kNarrowed;
      if (!is_open || arm.dtypes.empty()) continue;
      if (llvm::any_of(arm.body, asks_again) || llvm::any_of(arm.body, casts)) continue;
      std::vector<Instance> others;
      for (const Arm& one : arms) {
        if (&one == &arm) continue;
        for (Instance& instance : instances_in(one.body)) others.push_back(std::move(instance));
      }
      const auto other = other_instance(arm.body, others);
      if (other && !arm.dtypes.within(other->first))
        add_branch(other->second, BranchFault::kLeftOver, tensor, arm.dtypes, other->first);
    }
    look_at_typed_arm(symbol, arms);
  }

  // if (x.scalar_type() == at::kFloat) run(x.data_ptr<float>()); else run(x.data_ptr<double>());
  // The typed pointer refuses what has no branch: a dispatch on two dtypes, by hand.
  void look_at_typed_arm(int symbol, const std::vector<Arm>& arms) {
    const Arm& last = arms.back();
    if (!last.is_last || last.dtypes.size() <= kNarrowed) return;
    DtypeSet cases, fixed;
    for (const Arm& arm : arms) {
      if (!arm.is_last) cases |= arm.dtypes;
    }
    for (const Stmt* stmt : last.body) {
      for_each_expr(stmt, [&](const Expr* expr) {
        const auto call = member_call(expr);
        const bool is_typed = call && is_tensor(call->base->getType()) && !call->types.empty();
        const QualType type = is_typed ? pointer_type_of(expr) : QualType();
        if (!type.isNull() && dtypes_.state.same(dtypes_.tensor(call->base), symbol))
          fixed |= element_dtypes(type);
      });
    }
    const SourceLocation begin = arms.front().body.front()->getBeginLoc();
    if (cases.size() > kNarrowed || !fixed.single() || !at_.is_ours(begin)) return;
    dispatch({place_of(context_, begin), at_.function, at_.callers, "", at_.dispatched(symbol),
              cases | fixed});
  }

  // if (float) launch<float>(…); else if (half) launch<half>(…); and nothing refuses the rest: what
  // has no branch comes back as it was.
  void look_at_undone(int symbol, const std::vector<Arm>& arms, DtypeSet left) {
    const TensorFact tensor = at_.dispatched(symbol);
    const bool is_open = tensor.is_external() && !tensor.looked_at && left.size() > kNarrowed;
    const bool each_serves = llvm::all_of(arms, [](const Arm& arm) {
      const bool ends = llvm::any_of(arm.body, ends_its_way);
      return !ends && arm.dtypes.single() && fixed_dtype(arm.body) == arm.dtypes;
    });
    // Double alone is left as a rule where it is meant to be.
    const bool is_usual = left.intersects(kLowPrecision | Dtype::kFloat);
    if (!is_open || !is_usual || arms.size() < 2 || !each_serves) return;
    if (undone_.emplace(at_.stack.front(), tensor.name).second)
      add_branch(arms.front().body.front(), BranchFault::kUndone, tensor, left, {});
  }

  // sum_dtype = x.scalar_type() == at::kHalf ? at::kFloat : x.scalar_type()
  bool widens(const Expr* wide, const Expr* other, int symbol) {
    const bool is_dtype = holds_dtype(wide->getType());
    if (!is_dtype && !is_tensor(wide->getType())) return false;
    const int kept = is_dtype ? dtypes_.dtype(other) : dtypes_.tensor(other);
    const int made = is_dtype ? dtypes_.dtype(wide) : dtypes_.tensor(wide);
    return kept >= 0 && made >= 0 && dtypes_.state.same(kept, symbol) &&
           dtypes_.state.dtypes(made) == DtypeSet(Dtype::kFloat);
  }

  void add_half_alone(const Question& question, const Stmt* at) {
    const TensorFact tensor = at_.dispatched(question.symbol);
    if (!tensor.is_external() || tensor.looked_at || !tensor.dtypes.contains(Dtype::kBFloat16))
      return;
    add_branch(at, BranchFault::kHalfAlone, tensor, Dtype::kBFloat16, Dtype::kFloat);
  }

  // if (x.scalar_type() == at::kHalf) x = x.to(at::kFloat); and nothing of the kind for BFloat16.
  void look_at_half_alone(const IfStmt* lone, const Question& question,
                          llvm::ArrayRef<const Stmt*> behind) {
    const Stmt* then = lone->getThen();
    const auto* block = dyn_cast<CompoundStmt>(then);
    if (block != nullptr && block->size() == 1) then = block->body_front();
    const auto* whole = dyn_cast<Expr>(then);
    if (question.dtypes != DtypeSet(Dtype::kHalf) || whole == nullptr) return;
    whole = stripped(whole);
    const Expr *to = nullptr, *value = nullptr;
    if (const auto* op = dyn_cast<BinaryOperator>(whole); op && op->getOpcode() == BO_Assign) {
      to = op->getLHS(), value = op->getRHS();
    } else if (const auto* op = dyn_cast<CXXOperatorCallExpr>(whole);
               op && op->getOperator() == OO_Equal && op->getNumArgs() == 2) {
      to = op->getArg(0), value = op->getArg(1);
    }
    if (to == nullptr || llvm::any_of(behind, asks_again)) return;
    if (widens(value, to, question.symbol)) add_half_alone(question, lone);
  }

  std::set<Place> dispatches_;
  std::set<std::pair<Place, BranchFault>> branches_;
  std::set<std::pair<const FunctionDecl*, std::string>> undone_;  // told, by the tensor
};

}  // namespace

std::unique_ptr<Watcher> watch_branches(Whereabouts& at) { return std::make_unique<Branches>(at); }

}  // namespace dtypecheck::analyzer
