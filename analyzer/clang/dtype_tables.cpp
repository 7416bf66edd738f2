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
#include "core/precision_words.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// The dtype of which a name tells kind and size at its end: ncclBfloat16, DType::kFP32, "uint8".
// What is called int, long or float has other sizes elsewhere.
std::optional<Dtype> dtype_of_name(llvm::StringRef name) {
  const std::string lower = name.lower();
  llvm::StringRef whole = lower;
  whole.consume_back("_t");
  std::optional<Dtype> found;
  size_t longest = 0;  // uint8, and not int8
  const auto try_word = [&](llvm::StringRef word, Dtype dtype) {
    if (word.size() <= longest || !whole.ends_with(word)) return;
    longest = word.size();
    found = dtype;
  };
  for (const DtypeNames& names : kDtypeNames) try_word(names.torch, names.dtype);
  for (const PrecisionWord& one : kPrecisionWords) {
    const bool has_size = llvm::isAlpha(one.word.front()) && one.word != "float";
    if (one.use == PrecisionUse::kAny && has_size)
      try_word({one.word.data(), one.word.size()}, one.dtype);
  }
  try_word("double", Dtype::kDouble);
  return found;
}

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
      const auto dtype = llvm::all_of(word, llvm::isAlnum) ? dtype_of_name(word) : std::nullopt;
      if (dtype) found = {text->getString().str(), *dtype, true};
    } else if (const auto* reference = dyn_cast<DeclRefExpr>(one)) {
      const auto* constant = dyn_cast<EnumConstantDecl>(reference->getDecl());
      const auto dtype = constant == nullptr ? std::nullopt : dtype_of_name(constant->getName());
      if (dtype && !holds_dtype(constant->getType())) found = {constant->getName().str(), *dtype};
    }
  });
  return found;
}

std::optional<Dtype> constant_in(const Expr* expr, const ASTContext& context) {
  return dtype_constant(stripped(expr), context);
}

// A text is the dtype that it says. An enumerator of another library may stand for what that one
// lacks, as a wider or a shorter type, or bytes for a Bool; one of the same size is a slip.
bool contradicts(Dtype dtype, const Named& named) {
  if (dtype == named.dtype || dtype == Dtype::kBool) return false;
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
    } else if (const auto* branch = dyn_cast<IfStmt>(stmt)) {
      if (const Expr* value = value_of(branch->getThen())) compared(branch->getCond(), value);
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

  static bool is_name(const Expr* value) {
    value = stripped(value);
    // What nothing declares is stood in for by a variable that converts to anything.
    const auto* converted = dyn_cast<CXXMemberCallExpr>(value);
    if (converted != nullptr && isa_and_nonnull<CXXConversionDecl>(converted->getMethodDecl()))
      value = stripped(converted->getImplicitObjectArgument());
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

  // std::is_same<T, float>::value ? at::kFloat : at::kBFloat16
  void by_trait(const ConditionalOperator* choice) {
    const auto yes = constant_in(choice->getTrueExpr(), context_);
    const auto no = constant_in(choice->getFalseExpr(), context_);
    const auto* trait =
        dyn_cast<DependentScopeDeclRefExpr>(choice->getCond()->IgnoreParenImpCasts());
    if (!yes || !no || trait == nullptr || trait->getQualifier() == nullptr) return;
    const Type* of = trait->getQualifier()->getAsType();
    const auto* same = of == nullptr ? nullptr : of->getAs<TemplateSpecializationType>();
    if (same == nullptr || same->template_arguments().size() != 2) return;
    const TemplateDecl* named = same->getTemplateName().getAsTemplateDecl();
    if (named == nullptr || named->getName() != "is_same") return;
    const QualType asked = same->template_arguments()[0].getAsType();
    if (element_dtypes(same->template_arguments()[1].getAsType()) != DtypeSet(*yes)) return;
    const Place place = place_of(context_, choice->getBeginLoc());
    if (place.line == 0) return;
    DtypeBranch branch;
    branch.place = place;
    branch.function = function_;
    branch.tensor.name = asked.getAsString(context_.getPrintingPolicy());
    branch.dtypes = kAnyDtype - DtypeSet(*yes);
    branch.served = *no;
    branch.fault = BranchFault::kTypeTrait;
    facts_.branches.push_back(std::move(branch));
  }

  // name == "half" gives a dtype; dtype == kHalf gives a name.
  void compared(const Expr* condition, const Expr* value) {
    if (condition == nullptr) return;  // if consteval
    condition = condition->IgnoreParenImpCasts();
    const Expr* sides[2] = {};
    if (const auto* op = dyn_cast<BinaryOperator>(condition)) {
      if (op->getOpcode() == BO_LOr) {
        compared(op->getLHS(), value);
        return compared(op->getRHS(), value);
      }
      if (op->getOpcode() != BO_EQ) return;
      sides[0] = op->getLHS(), sides[1] = op->getRHS();
    } else if (const auto* call = dyn_cast<CXXOperatorCallExpr>(condition)) {
      if (call->getOperator() != OO_EqualEqual || call->getNumArgs() != 2) return;
      sides[0] = call->getArg(0), sides[1] = call->getArg(1);
    } else {
      return;
    }
    for (const Expr* side : sides) pair(side, value);
  }

  void pair(const Expr* one, const Expr* other) {
    auto dtype = constant_in(one, context_);
    const Expr* named_side = dtype ? other : one;
    if (!dtype) dtype = constant_in(other, context_);
    const auto named = dtype ? named_in(named_side) : std::nullopt;
    if (!named || !contradicts(*dtype, *named)) return;
    const Place place = place_of(context_, named_side->getExprLoc());
    if (place.line > 0)
      facts_.table_entries.push_back({place, function_, *dtype, named->name, named->dtype});
  }

  SourceFacts& facts_;
  std::set<const IfStmt*> else_ifs_;  // of a chain that was looked at
  std::set<Place> seen_;              // tables: a list has two forms
};

}  // namespace

void find_table_entries(ASTContext& context, SourceFacts& facts) { Tables(context, facts).walk(); }

}  // namespace dtypecheck::analyzer
