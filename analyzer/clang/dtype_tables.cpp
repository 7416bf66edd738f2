// dtype_tables.cpp: a dtype beside a name of one, in what maps one to the other: a case of a
// switch, a pair of a map, a comparison with a text.
#include <llvm/ADT/StringExtras.h>

#include <set>

#include "analyzer/clang/assume.h"
#include "analyzer/clang/exprs.h"
#include "analyzer/clang/file_facts.h"
#include "analyzer/clang/functions.h"
#include "analyzer/clang/visitor.h"
#include "core/dtype_names.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

struct Named {
  std::string name;
  Dtype dtype = Dtype::kFloat;
  bool is_text = false;
};

// "float32" or "torch.float32", ncclFloat32; a message of several words is none.
std::optional<Named> named_in(const Expr* expr) {
  std::optional<Named> found;
  for_each_expr(expr, [&](const Expr* one) {
    if (const auto* text = dyn_cast<StringLiteral>(one); text != nullptr && text->isOrdinary()) {
      llvm::StringRef word = text->getString();
      word.consume_front("torch.");
      const bool is_word =
          llvm::all_of(word.substr(word.starts_with("fp8_") ? 4 : 0), llvm::isAlnum);
      const auto dtype = is_word ? dtype_of_name(word, true) : std::nullopt;
      if (dtype) found = {text->getString().str(), *dtype, true};
    } else if (const auto dtype = told_dtype(one)) {
      found = {name_of(cast<DeclRefExpr>(one)->getDecl()->getDeclName()).str(), *dtype};
    }
  });
  return found;
}

std::optional<Dtype> constant_in(const Expr* expr, const ASTContext& context) {
  return dtype_constant(stripped(expr), context);
}

// A text is the dtype that it says. An enumerator of another library may stand for what that one
// lacks, as a wider or a shorter type, or bytes for a Bool or eight bits; one of the same size is a
// slip.
bool contradicts(Dtype dtype, const Named& named) {
  if (without_fnuz(dtype) == without_fnuz(named.dtype) || dtype == Dtype::kBool) return false;
  if (kFloat8.contains(named.dtype) != kFloat8.contains(dtype)) return false;
  const DtypeNames* one = names_of(dtype);
  const DtypeNames* other = names_of(named.dtype);
  const auto is_plain = [](const DtypeNames* names) {
    return names != nullptr &&
           (names->kind == DtypeKind::kIntegral || names->kind == DtypeKind::kFloating);
  };
  if (!is_plain(one) || !is_plain(other)) return false;
  return named.is_text || one->size_bytes == other->size_bytes;
}

// The value that a branch gives: return kHalf; or dtype = kHalf;
const Expr* value_of(const Stmt* stmt) {
  if (const auto* block = dyn_cast_or_null<CompoundStmt>(stmt))
    return block->body_empty() ? nullptr : value_of(block->body_front());
  if (const auto* end = dyn_cast_or_null<ReturnStmt>(stmt)) return end->getRetValue();
  const auto* expr = dyn_cast_or_null<Expr>(stmt);
  const auto* assignment = expr == nullptr ? nullptr : dyn_cast<BinaryOperator>(stripped(expr));
  return assignment != nullptr && assignment->isAssignmentOp() ? assignment->getRHS() : nullptr;
}

class Tables : public Visitor {
 public:
  Tables(const ASTContext& context, SourceFacts& facts) : Visitor(context), facts_(facts) {}

  bool VisitStmt(Stmt* stmt) override {
    whole(stmt);
    if (const auto* list = dyn_cast<InitListExpr>(stmt)) {
      const bool has_two = list->getNumInits() == 2 && list->getInit(0) && list->getInit(1);
      if (has_two) pair(list->getInit(0), list->getInit(1));
    } else if (const auto* label = dyn_cast<CaseStmt>(stmt)) {
      const Stmt* below = label->getSubStmt();
      if (const Expr* value = isa<SwitchCase>(below) ? nullptr : value_of(below))
        pair(label->getLHS(), value);
    } else if (const auto* choice = dyn_cast<ConditionalOperator>(stmt)) {
      compared(choice->getCond(), choice->getTrueExpr());
      by_trait(choice);
      way(choice->getCond(), choice->getTrueExpr());
    } else if (const auto* branch = dyn_cast<IfStmt>(stmt)) {
      if (const Expr* value = value_of(branch->getThen())) compared(branch->getCond(), value);
      way(branch->getCond(), branch->getThen());
    }
    return true;
  }

 private:
  // The keys of all of it. One that computes something for a dtype is a dispatch, and no table.
  void whole(const Stmt* stmt) {
    DtypeTable table;
    table.place = place_of(context_, stmt->getBeginLoc());
    table.function = function_;
    if (const auto* list = dyn_cast<InitListExpr>(stmt)) {
      for (const Expr* init : list->inits()) {
        if (!add_pair(init, table)) return;
      }
    } else if (const auto* over = dyn_cast<SwitchStmt>(stmt)) {
      for (const SwitchCase* one = over->getSwitchCaseList(); one; one = one->getNextSwitchCase())
        if (!add_case(one, table)) return;
    } else if (const auto* first = dyn_cast<IfStmt>(stmt)) {
      if (else_ifs_.contains(first)) return;
      for (const auto* one = first; one != nullptr;
           one = dyn_cast_or_null<IfStmt>(one->getElse())) {
        else_ifs_.insert(one);
        if (!add_branch(one, table)) return;
      }
    } else {
      return;
    }
    const bool is_new =
        table.place.line > 0 && table.keys.size() > 1 && seen_.insert(table.place).second;
    if (is_new) facts_.tables.push_back(std::move(table));
  }

  // What nothing declares is stood in for by what converts to anything.
  static const Expr* unconverted(const Expr* value) {
    value = stripped(value);
    const auto* converted = dyn_cast<CXXMemberCallExpr>(value);
    const bool is_one =
        converted != nullptr && isa_and_nonnull<CXXConversionDecl>(converted->getMethodDecl());
    return is_one ? stripped(converted->getImplicitObjectArgument()) : value;
  }

  static bool is_name(const Expr* value) {
    value = unconverted(value);
    if (const auto* reference = dyn_cast<DeclRefExpr>(value)) {
      const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
      return isa<EnumConstantDecl>(reference->getDecl()) ||
             (variable != nullptr && variable->hasGlobalStorage());
    }
    return isa<StringLiteral>(value);
  }

  bool add_key(const Expr* one, const Expr* other, DtypeTable& table) {
    auto dtype = constant_in(one, context_);
    const Expr* named = dtype ? other : one;
    const Expr* key = dtype ? one : other;
    if (!dtype) dtype = constant_in(other, context_);
    if (!dtype || !is_name(named) || constant_in(named, context_)) return false;
    const Place place = place_of(context_, key->getExprLoc());
    if (place.line > 0) table.keys.push_back({*dtype, place});
    return true;
  }

  bool add_pair(const Expr* init, DtypeTable& table) {
    const Expr* bare = init == nullptr ? nullptr : stripped(init);
    if (const auto* list = dyn_cast_or_null<InitListExpr>(bare))
      return list->getNumInits() == 2 && add_key(list->getInit(0), list->getInit(1), table);
    const auto* made = dyn_cast_or_null<CXXConstructExpr>(bare);
    return made != nullptr && made->getNumArgs() == 2 &&
           add_key(made->getArg(0), made->getArg(1), table);
  }

  static bool refuses(const Stmt* stmt) {
    bool refuses = false;
    for_each_expr(stmt, [&](const Expr* one) { refuses = refuses || isa<CXXThrowExpr>(one); });
    return refuses;
  }

  // A case that gives nothing refuses its dtype, and so knows it.
  bool add_case(const SwitchCase* one, DtypeTable& table) {
    const auto* label = dyn_cast<CaseStmt>(one);
    if (label == nullptr) return true;
    const Stmt* below = label->getSubStmt();
    while (const auto* further = dyn_cast<SwitchCase>(below)) below = further->getSubStmt();
    const Expr* value = value_of(below);
    if (value != nullptr) return add_key(label->getLHS(), value, table);
    const auto dtype = constant_in(label->getLHS(), context_);
    if (!refuses(below)) return false;
    if (dtype) table.keys.push_back({*dtype, place_of(context_, label->getLHS()->getExprLoc())});
    return dtype.has_value();
  }

  bool add_branch(const IfStmt* one, DtypeTable& table) {
    const Expr* of = nullptr;
    const auto dtype =
        one->getCond() == nullptr ? std::nullopt : equals_constant(one->getCond(), context_, of);
    const Expr* value = value_of(one->getThen());
    if (!dtype || value == nullptr || !is_name(value)) return false;
    table.keys.push_back({*dtype, place_of(context_, one->getCond()->getExprLoc())});
    return true;
  }

  // The dtypes of sixteen or of eight bits that a condition asks for: x.dtype() == at::kBFloat16,
  // cache == "fp8_e5m2", std::is_same_v<T, __half>.
  struct Asked {
    DtypeSet dtypes;
    std::string of;
    bool by_constant = false;
  };
  Asked asked(const Expr* condition) const {
    if (condition == nullptr) return {};
    condition = unconverted(condition);
    if (const auto* op = dyn_cast<BinaryOperator>(condition); op != nullptr && op->isLogicalOp()) {
      Asked both = asked(op->getLHS());
      const Asked other = asked(op->getRHS());
      if (both.of.empty()) both.of = other.of;
      both.dtypes |= other.dtypes;
      both.by_constant |= other.by_constant;
      return both;
    }
    const Expr* of = nullptr;
    if (const auto dtype = equals_constant(condition, context_, of)) {
      const auto member = member_call(stripped(of));
      return {without_fnuz(*dtype), text_of(member ? member->base : of, context_), true};
    }
    if (const auto [left, right] = sides(condition); left != nullptr) {
      const auto named = named_in(right);
      const auto other = named ? named : named_in(left);
      if (!other) return {};
      return {without_fnuz(other->dtype), text_of(named ? left : right, context_)};
    }
    const auto types = compared_types(condition);
    if (types.size() != 2) return {};
    return {element_dtypes(types[1]), types[0].getAsString(context_.getPrintingPolicy())};
  }

  // T and __half of std::is_same_v<T, __half> and std::is_same<T, __half>::value.
  static std::vector<QualType> compared_types(const Expr* condition) {
    std::vector<QualType> types;
    const auto take = [&](llvm::StringRef name, auto arguments, auto argument_of) {
      if (!name.starts_with("is_same")) return;
      for (const auto& one : arguments) {
        const TemplateArgument& argument = argument_of(one);
        if (argument.getKind() == TemplateArgument::Type) types.push_back(argument.getAsType());
      }
    };
    const auto of_location = [](const TemplateArgumentLoc& one) { return one.getArgument(); };
    condition = condition->IgnoreParenImpCasts();
    if (const auto* value = dyn_cast<DeclRefExpr>(condition)) {
      take(value->getDecl()->getName(), value->template_arguments(), of_location);
    } else if (const auto* value = dyn_cast<UnresolvedLookupExpr>(condition)) {
      take(name_of(value->getName()), value->template_arguments(), of_location);
    } else if (const auto* value = dyn_cast<DependentScopeDeclRefExpr>(condition)) {
      const Type* of = value->getQualifier() ? value->getQualifier()->getAsType() : nullptr;
      const auto* same = of == nullptr ? nullptr : of->getAs<TemplateSpecializationType>();
      const TemplateDecl* named =
          same == nullptr ? nullptr : same->getTemplateName().getAsTemplateDecl();
      if (named != nullptr)
        take(named->getName(), same->template_arguments(), [](const auto& one) { return one; });
    }
    return types;
  }

  // if (x.scalar_type() == at::kBFloat16) run(x.data_ptr(), CUDA_R_16F): of what is as large, the
  // way of one names another, and never its own.
  void way(const Expr* condition, const Stmt* stmt) {
    const Asked question = asked(condition);
    constexpr DtypeSet kSmall = DtypeSet(Dtype::kFloat8_e4m3fn) | Dtype::kFloat8_e5m2;
    for (const DtypeSet alike : {kLowPrecision, kSmall}) {
      if ((question.dtypes & alike).single()) look_at_way(stmt, question, alike);
    }
  }

  void look_at_way(const Stmt* stmt, const Asked& question, DtypeSet alike) {
    Names names;
    names_of(stmt, question, alike, names);
    const DtypeSet own = question.dtypes & alike;
    const auto is_own = [&](const auto& one) { return own.contains(one.first); };
    if (names.empty() || llvm::any_of(names, is_own)) return;
    const Place place = place_of(context_, names.front().second->getExprLoc());
    if (place.line == 0 || !told_.insert(place).second) return;
    TensorFact fact;
    fact.name = question.of;
    facts_.branches.push_back({place, function_, Callers::kUnseen, std::move(fact), own,
                               names.front().first, BranchFault::kTold});
  }

  // What a way names of these dtypes, and where. A question inside has ways of its own.
  using Names = std::vector<std::pair<Dtype, const Expr*>>;
  void names_of(const Stmt* stmt, const Asked& question, DtypeSet alike, Names& names) {
    if (stmt == nullptr) return;
    const auto* choice = dyn_cast<ConditionalOperator>(stmt);
    if (choice != nullptr && asked(choice->getCond()).dtypes.intersects(alike)) return;
    if (const auto* branch = dyn_cast<IfStmt>(stmt)) {
      if (asked(branch->getCond()).dtypes.intersects(alike)) return;
      for (const Stmt* inner : {branch->getThen(), branch->getElse()})
        look_at_way(inner, question, alike);
      return;
    }
    const auto* expr = dyn_cast<Expr>(stmt);
    const auto add = [&](DtypeSet dtype) {
      if (dtype.within(alike)) names.emplace_back(*dtype.single(), expr);
    };
    const auto add_name = [&](const Expr* one) {
      const auto dtype = one == nullptr ? std::nullopt : told_dtype(one->IgnoreParenImpCasts());
      if (dtype) add(without_fnuz(*dtype));
    };
    add_name(expr);
    llvm::ArrayRef<TemplateArgumentLoc> given;
    if (const auto* reference = dyn_cast<DeclRefExpr>(stmt))
      given = reference->template_arguments();
    else if (const auto member = expr == nullptr ? std::nullopt : member_call(expr))
      given = member->types;
    for (const TemplateArgumentLoc& one : given) {
      const TemplateArgument& argument = one.getArgument();
      if (argument.getKind() == TemplateArgument::Expression) add_name(argument.getAsExpr());
      if (argument.getKind() == TemplateArgument::Type && !question.by_constant)
        add(element_dtypes(argument.getAsType()));
    }
    // kernel<at::Half, Cache::kFp8E4M3>(x): an object, as SYCL's kernels are.
    const auto* made =
        expr == nullptr ||
                !isa<CXXTemporaryObjectExpr, CXXUnresolvedConstructExpr, ExplicitCastExpr>(expr)
            ? nullptr
            : expr->getType()->getAs<TemplateSpecializationType>();
    if (made != nullptr) {
      for (const TemplateArgument& one : made->template_arguments()) {
        if (one.getKind() == TemplateArgument::Expression) add_name(one.getAsExpr());
      }
    }
    for (const Stmt* child : stmt->children()) names_of(child, question, alike, names);
  }

  // std::is_same<T, float>::value ? at::kFloat : at::kBFloat16
  void by_trait(const ConditionalOperator* choice) {
    const auto yes = constant_in(choice->getTrueExpr(), context_);
    const auto no = constant_in(choice->getFalseExpr(), context_);
    const auto types = compared_types(choice->getCond());
    if (!yes || !no || types.size() != 2 || element_dtypes(types[1]) != DtypeSet(*yes)) return;
    const Place place = place_of(context_, choice->getBeginLoc());
    if (place.line == 0) return;
    DtypeBranch branch;
    branch.place = place;
    branch.function = function_;
    branch.tensor.name = types[0].getAsString(context_.getPrintingPolicy());
    branch.dtypes = kAnyDtype - DtypeSet(*yes);
    branch.served = *no;
    branch.fault = BranchFault::kTypeTrait;
    facts_.branches.push_back(std::move(branch));
  }

  // name == "half" gives a dtype; dtype == kHalf gives a name.
  void compared(const Expr* condition, const Expr* value) {
    if (condition == nullptr) return;  // if consteval
    const auto* either = dyn_cast<BinaryOperator>(condition->IgnoreParenImpCasts());
    if (either != nullptr && either->getOpcode() == BO_LOr) {
      compared(either->getLHS(), value);
      return compared(either->getRHS(), value);
    }
    const auto [left, right] = sides(condition);
    if (left == nullptr) return;
    pair(left, value);
    pair(right, value);
  }

  // Of left == right; null: it is something else.
  static std::pair<const Expr*, const Expr*> sides(const Expr* condition) {
    condition = condition->IgnoreParenImpCasts();
    if (const auto* op = dyn_cast<BinaryOperator>(condition); op && op->getOpcode() == BO_EQ)
      return {op->getLHS(), op->getRHS()};
    const auto* call = dyn_cast<CXXOperatorCallExpr>(condition);
    const bool is_equal = call != nullptr && call->getOperator() == OO_EqualEqual;
    if (is_equal && call->getNumArgs() == 2) return {call->getArg(0), call->getArg(1)};
    return {};
  }

  // Of two names, as a project has dtypes of its own, the first says the dtype.
  void pair(const Expr* one, const Expr* other) {
    auto dtype = constant_in(one, context_);
    const Expr* named_side = dtype ? other : one;
    if (!dtype) dtype = constant_in(other, context_);
    if (const auto told = dtype ? std::nullopt : told_dtype(stripped(one));
        told && kFloating.contains(*told)) {
      dtype = told;
      named_side = other;
    }
    const auto named = dtype ? named_in(named_side) : std::nullopt;
    if (!named || !contradicts(*dtype, *named)) return;
    const Place place = place_of(context_, named_side->getExprLoc());
    told_.insert(place);
    if (place.line > 0)
      facts_.table_entries.push_back({place, function_, *dtype, named->name, named->dtype});
  }

  SourceFacts& facts_;
  std::set<const IfStmt*> else_ifs_;  // of a chain that was looked at
  std::set<Place> seen_;              // tables: a list has two forms
  std::set<Place> told_;              // of wrong names
};

}  // namespace

void find_table_entries(ASTContext& context, SourceFacts& facts) { Tables(context, facts).walk(); }

}  // namespace dtypecheck::analyzer
