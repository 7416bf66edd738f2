// arithmetic.cpp: sums that are kept in Half or BFloat16, and numbers that Half cannot hold, in the
// functions of the main file and of the project's headers. Templates count by their instantiations:
// what nothing makes of Half is not reported.
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <llvm/Support/SaveAndRestore.h>

#include <cmath>
#include <map>
#include <set>

#include "analyzer/clang/exprs.h"
#include "analyzer/clang/file_facts.h"
#include "analyzer/clang/functions.h"
#include "analyzer/clang/low_precision.h"
#include "analyzer/clang/visitor.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

constexpr uint64_t kFewSteps = 8;  // a loop this short is a vector written out

bool adds(const Expr* value, const std::string& target, const ASTContext& context) {
  value = stripped(value);
  const auto is_target = [&](const Expr* side) {
    return text_of(side->IgnoreParenImpCasts(), context) == target;
  };
  if (const auto* op = dyn_cast<BinaryOperator>(value)) {
    const bool sums = op->getOpcode() == BO_Add || op->getOpcode() == BO_Mul;
    return sums && (is_target(op->getLHS()) || is_target(op->getRHS()));
  }
  const auto* call = dyn_cast<CallExpr>(value);
  if (call == nullptr) return false;
  if (const auto* op = dyn_cast<CXXOperatorCallExpr>(call)) {
    if (op->getOperator() != OO_Plus && op->getOperator() != OO_Star) return false;
  } else {
    const llvm::StringRef name = called_name(call);
    const bool sums = (name.contains("fma") && !name.contains("fmax")) ||
                      name.starts_with("__hadd") || name.starts_with("__hmul");
    if (!sums) return false;
  }
  return llvm::any_of(call->arguments(), is_target);
}

// x = value, of built-in types or of classes; null for anything else.
const Expr* assigned_to(const Expr* expr, const Expr*& value) {
  if (const auto* op = dyn_cast<BinaryOperator>(expr)) {
    value = op->getRHS();
    return op->getOpcode() == BO_Assign ? op->getLHS() : nullptr;
  }
  const auto* op = dyn_cast<CXXOperatorCallExpr>(expr);
  if (op == nullptr || op->getNumArgs() != 2 || op->getOperator() != OO_Equal) return nullptr;
  value = op->getArg(1);
  return op->getArg(0);
}

// x += y, x = x + y, x = fma(a, b, x): what is added to; null for anything else.
const Expr* accumulation_of(const Expr* expr, const ASTContext& context) {
  if (const auto* op = dyn_cast<BinaryOperator>(expr)) {
    if (op->getOpcode() == BO_AddAssign || op->getOpcode() == BO_MulAssign) return op->getLHS();
  }
  if (const auto* op = dyn_cast<CXXOperatorCallExpr>(expr); op && op->getNumArgs() == 2) {
    const auto kind = op->getOperator();
    if (kind == OO_PlusEqual || kind == OO_StarEqual) return op->getArg(0);
  }
  const Expr* value = nullptr;
  const Expr* target = assigned_to(expr, value);
  return target && adds(value, text_of(target, context), context) ? target : nullptr;
}

std::set<const Decl*> mentioned(const Stmt* stmt) {
  std::set<const Decl*> variables;
  for_each_expr(stmt, [&](const Expr* expr) {
    if (const auto* reference = dyn_cast<DeclRefExpr>(expr)) variables.insert(reference->getDecl());
  });
  return variables;
}

// The variable that holds the value, or the memory that it lies in, and how it is reached.
struct Target {
  const VarDecl* variable = nullptr;
  bool is_memory = false;
  std::set<const Decl*> path;
};

Target target_of(const Expr* expr) {
  Target target;
  target.path = mentioned(expr);
  for (expr = stripped(expr);;) {
    if (const auto* reference = dyn_cast<DeclRefExpr>(expr)) {
      target.variable = dyn_cast<VarDecl>(reference->getDecl());
      return target;
    }
    const Expr* inner = nullptr;
    if (const auto* element = dyn_cast<ArraySubscriptExpr>(expr)) inner = element->getBase();
    if (const auto* op = dyn_cast<UnaryOperator>(expr)) inner = op->getSubExpr();
    if (const auto* member = dyn_cast<MemberExpr>(expr)) inner = member->getBase();
    if (const auto* op = dyn_cast<CXXOperatorCallExpr>(expr)) {
      inner = op->getNumArgs() > 0 ? op->getArg(0) : nullptr;
    }
    if (inner == nullptr) return target;
    target.is_memory = true;
    expr = stripped(inner);
  }
}

// sum += __half2float(a * b): the product, which Half or BFloat16 rounds before it is added.
const Expr* rounded_product(const Expr* expr, const ASTContext& context) {
  const Expr* target = nullptr;
  const Expr* value = nullptr;
  if (const auto* op = dyn_cast<BinaryOperator>(expr)) {
    const auto* sum = dyn_cast<BinaryOperator>(op->getRHS()->IgnoreParenImpCasts());
    target = op->getLHS();
    if (op->getOpcode() == BO_AddAssign) {
      value = op->getRHS();
    } else if (op->getOpcode() == BO_Assign && sum != nullptr && sum->getOpcode() == BO_Add) {
      const bool is_first = text_of(sum->getLHS(), context) == text_of(target, context);
      const bool is_second = text_of(sum->getRHS(), context) == text_of(target, context);
      if (is_first || is_second) value = is_first ? sum->getRHS() : sum->getLHS();
    }
  }
  const Expr* low = value == nullptr ? nullptr : rounded_before(value);
  if (low == nullptr) return nullptr;
  if (const auto* op = dyn_cast<CXXOperatorCallExpr>(low))
    return op->getOperator() == OO_Star && op->getNumArgs() == 2 ? low : nullptr;
  if (const auto* op = dyn_cast<BinaryOperator>(low))
    return op->getOpcode() == BO_Mul ? low : nullptr;
  const auto* call = dyn_cast<CallExpr>(low);
  return call != nullptr && called_name(call).starts_with("__hmul") ? low : nullptr;
}

// CUDA_R_16F, CUBLAS_COMPUTE_16F: the dtype that a library is told; empty: it is no such name.
DtypeSet dtype_told(const Expr* expr) {
  const auto* reference = dyn_cast<DeclRefExpr>(stripped(expr));
  if (reference == nullptr) return {};
  const llvm::StringRef name = name_of(reference->getDecl()->getDeclName());
  if (name == "CUDA_R_16F" || name.starts_with("CUBLAS_COMPUTE_16F")) return Dtype::kHalf;
  if (name == "CUDA_R_16BF") return Dtype::kBFloat16;
  return {};
}

// Which parameters a function adds to through a pointer or a reference.
std::set<unsigned> parameters_added_to(const FunctionDecl* function, const ASTContext& context) {
  std::set<unsigned> parameters;
  for_each_expr(function->getBody(), [&](const Expr* expr) {
    const Expr* found = accumulation_of(expr, context);
    if (found == nullptr || low_precision(found->getType()).empty()) return;
    const Target target = target_of(found);
    const auto* parameter = dyn_cast_or_null<ParmVarDecl>(target.variable);
    if (parameter == nullptr || parameter->getFunctionScopeIndex() >= function->getNumParams()) {
      return;
    }
    if (target.is_memory || parameter->getType()->isReferenceType()) {
      parameters.insert(parameter->getFunctionScopeIndex());
    }
  });
  return parameters;
}

// The Half of wmma::fragment<wmma::accumulator, 16, 16, 16, half>.
DtypeSet accumulator(QualType type) {
  const auto* made = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
      type.getNonReferenceType()->getAsCXXRecordDecl());
  if (made == nullptr || made->getIdentifier() == nullptr || made->getName() != "fragment")
    return {};
  const auto arguments = made->getTemplateArgs().asArray();
  if (arguments.size() < 5 || arguments[0].getKind() != TemplateArgument::Type ||
      arguments[4].getKind() != TemplateArgument::Type)
    return {};
  const CXXRecordDecl* role = arguments[0].getAsType()->getAsCXXRecordDecl();
  const bool sums = role != nullptr && role->getIdentifier() && role->getName() == "accumulator";
  return sums ? low_precision(arguments[4].getAsType()) : DtypeSet();
}

struct Loop {
  const Stmt* stmt;
  std::set<const Decl*> variables;  // that it steps through
  bool is_short;
};

class Arithmetic : public Visitor {
 public:
  Arithmetic(const ASTContext& context, SourceFacts& facts) : Visitor(context), facts_(facts) {
    instantiations_ = true;
  }

  bool TraverseDecl(Decl* decl) override {
    if (!isa_and_nonnull<FunctionDecl>(decl)) return Visitor::TraverseDecl(decl);
    const llvm::SaveAndRestore outside(loops_, std::vector<Loop>());
    return Visitor::TraverseDecl(decl);
  }
  bool TraverseForStmt(ForStmt* stmt) override {
    std::set<const Decl*> variables = mentioned(stmt->getInc());
    return in_loop(stmt, std::move(variables), is_short(stmt),
                   [&] { return Visitor::TraverseForStmt(stmt); });
  }
  bool TraverseWhileStmt(WhileStmt* stmt) override {
    return in_loop(stmt, {}, false, [&] { return Visitor::TraverseWhileStmt(stmt); });
  }
  bool TraverseCXXForRangeStmt(CXXForRangeStmt* stmt) override {
    return in_loop(stmt, {stmt->getLoopVariable()}, false,
                   [&] { return Visitor::TraverseCXXForRangeStmt(stmt); });
  }

  // if (std::is_same<T, float>::value): of an instantiation one branch is dead.
  bool TraverseIfStmt(IfStmt* stmt) override {
    const Expr* condition = stmt->getCond();
    bool value = false;
    const bool is_known = condition != nullptr && !condition->isValueDependent() &&
                          !condition->containsErrors() &&
                          condition->EvaluateAsBooleanCondition(value, context_);
    if (!is_known) return Visitor::TraverseIfStmt(stmt);
    return TraverseStmt(value ? stmt->getThen() : stmt->getElse());
  }

  bool VisitExpr(Expr* expr) override {
    if (const auto* call = dyn_cast<CallExpr>(expr)) look_at_call(call);
    if (const Expr* target = accumulation_of(expr, context_)) {
      look_at_target(target, expr->getBeginLoc());
    }
    look_at_product(expr);
    look_at_assignment(expr);
    look_at_cast(expr);
    look_at_pointer(expr);
    look_at_conversion(expr);
    return true;
  }
  bool VisitVarDecl(VarDecl* variable) override {
    if (variable->getInit() != nullptr) {
      look_at_number(variable->getType(), variable->getInit(), variable->getNameAsString());
    }
    return true;
  }

 private:
  template <typename Traverse>
  bool in_loop(const Stmt* stmt, std::set<const Decl*> variables, bool is_short,
               Traverse traverse) {
    loops_.push_back({stmt, std::move(variables), is_short});
    const bool go_on = traverse();
    loops_.pop_back();
    return go_on;
  }

  // for (int i = 0; i < 4; ++i), for (int i = 3; i >= 0; --i); but over the lanes of a warp it is
  // no vector that is written out: for (int lanes = 16; lanes > 0; lanes /= 2).
  bool is_short(const ForStmt* stmt) const {
    const auto* condition = dyn_cast_or_null<BinaryOperator>(stmt->getCond());
    if (condition == nullptr || condition->isValueDependent()) return false;
    const Expr* most = condition->getRHS();
    if (condition->getOpcode() == BO_GT || condition->getOpcode() == BO_GE) {
      const auto* init = dyn_cast_or_null<DeclStmt>(stmt->getInit());
      const auto* counter = init != nullptr && init->isSingleDecl()
                                ? dyn_cast<VarDecl>(init->getSingleDecl())
                                : nullptr;
      most = counter == nullptr ? nullptr : counter->getInit();
    }
    Expr::EvalResult end;
    if (most == nullptr || most->isValueDependent() || !most->EvaluateAsInt(end, context_))
      return false;
    return end.Val.getInt().getLimitedValue() <= kFewSteps;
  }

  bool is_declared_inside(const VarDecl* variable, const Stmt* loop) const {
    const SourceManager& sources = context_.getSourceManager();
    const SourceLocation at = sources.getFileLoc(variable->getLocation());
    const SourceRange range = loop->getSourceRange();
    return !sources.isBeforeInTranslationUnit(at, sources.getFileLoc(range.getBegin())) &&
           !sources.isBeforeInTranslationUnit(sources.getFileLoc(range.getEnd()), at);
  }

  // pair = in[i]; pair.x += shift; out[i] = pair: each round begins with a value of its own.
  static bool is_set_anew(const VarDecl* variable, const Stmt* loop) {
    const Stmt* body = nullptr;
    if (const auto* one = dyn_cast<ForStmt>(loop)) body = one->getBody();
    if (const auto* one = dyn_cast<WhileStmt>(loop)) body = one->getBody();
    if (body == nullptr || !isa<CompoundStmt>(body)) return false;
    return llvm::any_of(body->children(), [&](const Stmt* stmt) {
      const Expr* value = nullptr;
      const auto* expr = dyn_cast<Expr>(stmt);
      const Expr* to = expr == nullptr ? nullptr : assigned_to(expr->IgnoreImplicit(), value);
      const auto* whole = to == nullptr ? nullptr : dyn_cast<DeclRefExpr>(stripped(to));
      return whole != nullptr && whole->getDecl() == variable &&
             !mentioned(value).contains(variable);
    });
  }

  // Some loop adds to the same element in each of its rounds: it neither declares the variable, nor
  // steps through what the element is reached by. out[i] += x[i] is a sum per element, no long one.
  bool goes_round(const Target& target) const {
    for (const Loop& loop : loops_) {
      if (loop.is_short) continue;
      if (target.variable != nullptr && (is_declared_inside(target.variable, loop.stmt) ||
                                         is_set_anew(target.variable, loop.stmt)))
        continue;
      const auto steps = [&](const Decl* variable) { return target.path.contains(variable); };
      if (!llvm::any_of(loop.variables, steps) && !moves_inside(target, loop)) return true;
    }
    return false;
  }

  // The element is reached by a value that the loop computes anew in each round (int j = index[i];
  // out[j] += …), unless that value only counts the rounds of a loop further in.
  bool moves_inside(const Target& target, const Loop& loop) const {
    for (const Decl* decl : target.path) {
      const auto* variable = dyn_cast<VarDecl>(decl);
      if (variable == nullptr || variable == target.variable) continue;
      if (is_declared_inside(variable, loop.stmt)) {
        const bool is_counter = llvm::any_of(loops_, [&](const Loop& other) {
          return other.stmt != loop.stmt && other.variables.contains(variable);
        });
        if (!is_counter) return true;
      }
    }
    return false;
  }

  void look_at_target(const Expr* expr, SourceLocation at) {
    const DtypeSet dtypes = low_precision(expr->getType());
    if (dtypes.empty() || loops_.empty()) return;
    const Target target = target_of(expr);
    if (goes_round(target)) add_sum(at, expr, dtypes, SumKind::kLoop);
  }

  void look_at_product(const Expr* expr) {
    const Expr* product = loops_.empty() ? nullptr : rounded_product(expr, context_);
    if (product == nullptr) return;
    const Expr* to = cast<BinaryOperator>(expr)->getLHS();
    if (!goes_round(target_of(to))) return;
    add_sum(product->getBeginLoc(), product, low_precision(product->getType()), SumKind::kProduct);
  }

  // cublasHgemm(…), cublasGemmEx(…, CUBLAS_COMPUTE_16F, algorithm)
  void look_at_library(const CallExpr* call, llvm::StringRef name) {
    const unsigned count = call->getNumArgs();
    if (name.starts_with("cublasHgemm"))
      add_sum(call->getBeginLoc(), call->getCallee(), Dtype::kHalf, SumKind::kLoop);
    if (name.starts_with("cublasGemm") && name.contains("Ex") && count > 2) {
      const DtypeSet told = dtype_told(call->getArg(count - 2));
      if (!told.empty()) add_sum(call->getBeginLoc(), call->getCallee(), told, SumKind::kLoop);
    }
  }

  void look_at_call(const CallExpr* call) {
    const llvm::StringRef name = called_name(call);
    if (name.starts_with("cublas")) look_at_library(call, name);
    const bool is_atomic = name.starts_with("atomicAdd") || name.starts_with("gpuAtomicAdd") ||
                           name == "fastAtomicAdd" || name == "fastSpecializedAtomicAdd";
    if (is_atomic && call->getNumArgs() > 0) {
      const QualType type = call->getArg(0)->getType();
      const DtypeSet dtypes =
          type->isPointerType() ? low_precision(type->getPointeeType()) : DtypeSet();
      if (!dtypes.empty()) add_sum(call->getBeginLoc(), call->getArg(0), dtypes, SumKind::kAtomic);
      return;
    }
    if (name == "mma_sync" && call->getNumArgs() > 0 && !loops_.empty()) {
      const DtypeSet dtypes = accumulator(call->getArg(0)->getType());
      const bool sums = !dtypes.empty() && goes_round(target_of(call->getArg(0)));
      if (sums) add_sum(call->getBeginLoc(), call->getArg(0), dtypes, SumKind::kLoop);
      return;
    }
    const FunctionDecl* callee = call->getDirectCallee();
    const FunctionDecl* body = callee == nullptr ? nullptr : callee->getDefinition();
    if (body == nullptr || loops_.empty() || isa<CXXOperatorCallExpr>(call)) return;
    if (context_.getSourceManager().isInSystemHeader(body->getLocation())) return;
    for (const unsigned i : adds_to(body)) {
      if (i >= call->getNumArgs()) continue;
      const Expr* argument = stripped(call->getArg(i));
      const auto* address = dyn_cast<UnaryOperator>(argument);
      if (address != nullptr && address->getOpcode() == UO_AddrOf) argument = address->getSubExpr();
      QualType type = argument->getType().getNonReferenceType();
      if (type->isPointerType() || type->isArrayType())
        type = QualType(type->getPointeeOrArrayElementType(), 0);
      const DtypeSet dtypes = low_precision(type);
      if (!dtypes.empty() && goes_round(target_of(argument))) {
        add_sum(call->getBeginLoc(), argument, dtypes, SumKind::kLoop);
      }
    }
  }

  const std::set<unsigned>& adds_to(const FunctionDecl* body) {
    const auto [at, is_new] = adds_to_.try_emplace(body);
    if (is_new) at->second = parameters_added_to(body, context_);
    return at->second;
  }

  void add_sum(SourceLocation location, const Expr* target, DtypeSet dtypes, SumKind kind) {
    const Place place = place_of(context_, location);
    if (place.line == 0) return;
    const auto [at, is_new] = sums_.try_emplace(place, facts_.sums.size());
    if (!is_new) {
      facts_.sums[at->second].dtypes |= dtypes;
      return;
    }
    facts_.sums.push_back({place, function_, text_of(target, context_), dtypes, kind});
  }

  // *(int32_t*)&x, reinterpret_cast<const uint32_t&>(x): the value whose bits are read.
  static const Expr* punned(const Expr* expr, QualType& to) {
    if (const auto* star = dyn_cast<UnaryOperator>(expr)) {
      if (star->getOpcode() != UO_Deref) return nullptr;
      const auto* cast = dyn_cast<ExplicitCastExpr>(star->getSubExpr()->IgnoreParenImpCasts());
      if (cast == nullptr || !cast->getType()->isPointerType()) return nullptr;
      const auto* address = dyn_cast<UnaryOperator>(cast->getSubExpr()->IgnoreParenImpCasts());
      if (address == nullptr || address->getOpcode() != UO_AddrOf) return nullptr;
      to = cast->getType()->getPointeeType();
      return address->getSubExpr();
    }
    const auto* cast = dyn_cast<ExplicitCastExpr>(expr);
    if (cast == nullptr || !cast->getTypeAsWritten()->isReferenceType()) return nullptr;
    if (!isa<CXXReinterpretCastExpr>(cast) && !isa<CStyleCastExpr>(cast)) return nullptr;
    to = cast->getTypeAsWritten().getNonReferenceType();
    return cast->getSubExpr();
  }

  void look_at_cast(const Expr* expr) {
    QualType to;
    const Expr* value = punned(expr, to);
    if (value == nullptr || to->isDependentType() || !to->isIntegerType()) return;
    const QualType from = value->getType().getNonReferenceType();
    const bool is_open = from->isTemplateTypeParmType();
    const bool is_made = from->getAs<SubstTemplateTypeParmType>() != nullptr &&
                         element_dtypes(from).within(kFloating);
    if (!is_open && !is_made) return;
    const bool is_other_size = is_made && context_.getTypeSize(from) != context_.getTypeSize(to);
    const Place place = place_of(context_, expr->getBeginLoc());
    if (place.line == 0) return;
    const auto [at, is_new] = bit_casts_.try_emplace(place, facts_.bit_casts.size());
    const PrintingPolicy words((LangOptions()));
    const std::string from_text = from.getUnqualifiedType().getAsString(words);
    if (is_new) {
      facts_.bit_casts.push_back({place, function_, text_of(value, context_), from_text,
                                  to.getUnqualifiedType().getAsString(words), is_other_size});
    } else if (is_other_size && !facts_.bit_casts[at->second].is_other_size) {
      facts_.bit_casts[at->second].is_other_size = true;
      facts_.bit_casts[at->second].from = from_text;
    }
  }

  // (half2*)data in a template whose data is of BFloat16 in an instantiation.
  void look_at_pointer(const Expr* expr) {
    const auto* cast = dyn_cast<ExplicitCastExpr>(expr);
    if (cast == nullptr || !cast->getType()->isPointerType()) return;
    const QualType inner = cast->getSubExprAsWritten()->getType();
    if (!inner->isPointerType() && !inner->isArrayType()) return;
    const QualType element(inner->getPointeeOrArrayElementType(), 0);
    const DtypeSet from = low_precision(element),
                   to = low_precision(cast->getType()->getPointeeType());
    if (!from.single() || !to.single() || from == to) return;
    add_treated(stripped(cast->getSubExprAsWritten()), from, to, expr->getBeginLoc());
  }

  void add_treated(const Expr* what, DtypeSet from, DtypeSet to, SourceLocation at = {}) {
    const Place place = place_of(context_, at.isValid() ? at : what->getBeginLoc());
    if (place.line == 0 || !pointers_.insert(place).second) return;
    TensorFact fact;
    fact.name = text_of(what, context_);
    facts_.branches.push_back({place, function_, Callers::kUnseen, std::move(fact), from, to});
  }

  void look_at_conversion(const Expr* expr) {
    const PrintingPolicy words((LangOptions()));
    const auto text = [&](QualType type) { return type.getUnqualifiedType().getAsString(words); };
    if (const auto* choice = dyn_cast<ConditionalOperator>(expr)) {
      QualType yes = choice->getTrueExpr()->getType(), no = choice->getFalseExpr()->getType();
      if (yes->isTemplateTypeParmType()) std::swap(yes, no);
      if (yes->isIntegerType() && no->isTemplateTypeParmType()) {
        add_conversion(expr->getBeginLoc(), text(yes), text(no), false);
      }
      return;
    }
    const auto* cast = dyn_cast<ExplicitCastExpr>(expr);
    if (cast == nullptr || cast->getType()->isPointerType()) return;
    const QualType from = cast->getSubExprAsWritten()->getType(), to = cast->getType();
    const bool both = half_kind(from) != 0 && half_kind(from) + half_kind(to) == 0;
    if (both) add_conversion(expr->getBeginLoc(), half_name(from), half_name(to), true);
  }

  // 1 for c10's low precision types, -1 for CUDA's, 0 for anything else.
  static int half_kind(QualType type) {
    const CXXRecordDecl* record = type.getNonReferenceType()->getAsCXXRecordDecl();
    if (record == nullptr || record->getIdentifier() == nullptr) return 0;
    const llvm::StringRef name = record->getName();
    if (name == "Half" || name == "BFloat16") return 1;
    return name == "__half" || name == "__nv_bfloat16" ? -1 : 0;
  }
  static std::string half_name(QualType type) {
    const llvm::StringRef name = type.getNonReferenceType()->getAsCXXRecordDecl()->getName();
    return (half_kind(type) > 0 ? "c10::" : "") + name.str();
  }

  void add_conversion(SourceLocation location, std::string from, std::string to, bool is_cast) {
    const Place place = place_of(context_, location);
    if (place.line == 0 || !conversions_.insert(place).second) return;
    facts_.conversions.push_back({place, function_, std::move(from), std::move(to), is_cast});
  }

  void look_at_assignment(const Expr* expr) {
    const Expr* value = nullptr;
    if (const Expr* to = assigned_to(expr, value)) {
      look_at_number(to->getType(), value, text_of(to, context_));
    }
  }

  // Only what is written out: a constant that is Half already has lost its value.
  static bool is_literal(const Expr* value) {
    value = stripped(value);
    const auto* sign = dyn_cast<UnaryOperator>(value);
    if (sign != nullptr && sign->getOpcode() == UO_Minus) value = stripped(sign->getSubExpr());
    return isa<FloatingLiteral>(value) || isa<IntegerLiteral>(value);
  }

  // A number that a template stores in its parameter's type is reported with doubt, since someone
  // may instantiate it with Half; in an instantiation with Half it is reported for sure.
  void look_at_number(QualType type, const Expr* value, const std::string& name) {
    if (type.isNull()) return;
    type = type.getNonReferenceType();
    while (type->isArrayType()) type = QualType(type->getArrayElementTypeNoTypeQual(), 0);
    const auto number = is_literal(value) ? number_of(value, context_) : std::nullopt;
    if (!number || !is_beyond_half(*number)) return;
    const DtypeSet dtypes = element_dtypes(type);
    const bool is_half = dtypes == DtypeSet(Dtype::kHalf);
    const bool is_open = type->isTemplateTypeParmType();
    if (!is_half && !is_open) return;
    const Place place = place_of(context_, value->getBeginLoc());
    if (place.line == 0) return;
    const auto [at, is_new] = numbers_.try_emplace(place, facts_.large_numbers.size());
    if (is_new) {
      facts_.large_numbers.push_back({place, function_, name, text_of(value, context_), is_half});
    } else {
      facts_.large_numbers[at->second].is_half |= is_half;
    }
  }

  SourceFacts& facts_;
  std::vector<Loop> loops_;
  std::map<const FunctionDecl*, std::set<unsigned>> adds_to_;
  std::map<Place, size_t> sums_, numbers_, bit_casts_;
  std::set<Place> pointers_;
  std::set<Place> conversions_;
};

}  // namespace

void find_arithmetic(ASTContext& context, SourceFacts& facts) { Arithmetic(context, facts).walk(); }

}  // namespace dtypecheck::analyzer
