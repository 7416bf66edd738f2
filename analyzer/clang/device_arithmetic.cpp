// device_arithmetic.cpp: what kernels do in Half or BFloat16 that they could do in Float, and what
// they do in double by an oversight. Templates count by their instantiations.
#include <clang/AST/Attr.h>
#include <clang/Basic/SourceManager.h>

#include <map>
#include <set>

#include "analyzer/clang/exprs.h"
#include "analyzer/clang/file_facts.h"
#include "analyzer/clang/functions.h"
#include "analyzer/clang/low_precision.h"
#include "analyzer/clang/visitor.h"

namespace dtypecheck::analyzer {

using namespace clang;

DtypeSet low_precision(QualType type) {
  if (type.isNull()) return {};
  const DtypeSet dtypes = element_dtypes(type.getNonReferenceType());
  return dtypes.within(kLowPrecision) ? dtypes : DtypeSet();
}

namespace {

bool is_wide(QualType type) {
  if (type.isNull()) return false;  // of an expression that was not understood
  type = type.getNonReferenceType().getCanonicalType();
  if (type->isSpecificBuiltinType(BuiltinType::Float)) return true;
  if (type->isSpecificBuiltinType(BuiltinType::Double)) return true;
  return element_dtypes(type) == DtypeSet(Dtype::kFloat);  // float2, float4
}

// Without what does not change the value: parentheses, copies, casts to the same dtype.
const Expr* bare(const Expr* expr) {
  for (;;) {
    expr = expr->IgnoreParens();
    const Expr* inner = nullptr;
    if (const auto* full = dyn_cast<FullExpr>(expr)) inner = full->getSubExpr();
    if (const auto* made = dyn_cast<MaterializeTemporaryExpr>(expr)) inner = made->getSubExpr();
    if (const auto* bound = dyn_cast<CXXBindTemporaryExpr>(expr)) inner = bound->getSubExpr();
    const auto* made = dyn_cast<CXXConstructExpr>(expr);
    const bool is_copy =
        made != nullptr && made->getNumArgs() == 1 &&
        low_precision(made->getArg(0)->getType()) == low_precision(made->getType());
    if (is_copy) inner = made->getArg(0);
    if (const auto* cast = dyn_cast<CastExpr>(expr)) {
      const Expr* from = cast->getSubExpr();
      const bool is_same = low_precision(cast->getType()) == low_precision(from->getType()) &&
                           is_wide(cast->getType()) == is_wide(from->getType());
      if (is_same) inner = from;
    }
    if (inner == nullptr) return expr;
    expr = inner;
  }
}

// A conversion, by whatever way it is written: the value that goes in; null for anything else.
const Expr* converted(const Expr* expr) {
  if (const auto* cast = dyn_cast<CastExpr>(expr)) {
    const Expr* inner = cast->getSubExpr()->IgnoreParens();
    if (cast->getCastKind() == CK_ConstructorConversion || isa<CXXFunctionalCastExpr>(cast) ||
        cast->getCastKind() == CK_UserDefinedConversion) {
      if (const Expr* value = converted(bare(inner))) return value;
    }
    return cast->getSubExpr();
  }
  if (const auto* made = dyn_cast<CXXConstructExpr>(expr)) {
    return made->getNumArgs() == 1 ? made->getArg(0) : nullptr;
  }
  if (const auto* member = dyn_cast<CXXMemberCallExpr>(expr)) {
    const bool converts = isa_and_nonnull<CXXConversionDecl>(member->getMethodDecl());
    return converts ? member->getImplicitObjectArgument() : nullptr;
  }
  const auto* call = dyn_cast<CallExpr>(expr);
  if (call == nullptr || call->getNumArgs() != 1 || isa<CXXOperatorCallExpr>(call)) return nullptr;
  const llvm::StringRef name = called_name(call);
  return name.contains("2float") || name.contains("2half") || name.contains("2bfloat16") ||
                 name.contains("1622float")
             ? call->getArg(0)
             : nullptr;
}

// float to half, or to bfloat16.
const Expr* narrowed(const Expr* expr) {
  expr = bare(expr);
  const Expr* from = low_precision(expr->getType()).empty() ? nullptr : converted(expr);
  return from != nullptr && is_wide(bare(from)->getType()) ? from : nullptr;
}

// half or bfloat16 to float.
const Expr* widened(const Expr* expr) {
  const Expr* from = is_wide(expr->getType()) ? converted(expr) : nullptr;
  return from != nullptr && !low_precision(bare(from)->getType()).empty() ? bare(from) : nullptr;
}

}  // namespace

const Expr* rounded_before(const Expr* expr) { return widened(bare(expr)); }

namespace {

bool is_exponential(llvm::StringRef name) {
  static const std::set<llvm::StringRef> names = {"hexp",  "hexp2",  "hexp10",  "hlog",  "hlog2",
                                                  "h2exp", "h2exp2", "h2exp10", "h2log", "h2log2"};
  return names.contains(name);
}

bool is_double_literal(const Expr* expr) {
  const auto* literal = dyn_cast<FloatingLiteral>(expr->IgnoreParenImpCasts());
  return literal != nullptr && literal->getType()->isSpecificBuiltinType(BuiltinType::Double);
}

// One body of a kernel or of a device function.
class Body {
 public:
  Body(const ASTContext& context, const FunctionDecl* function, std::vector<HalfArithmetic>& found,
       std::map<std::pair<Place, HalfFault>, size_t>& known)
      : context_(context), function_(function), found_(found), known_(known) {
    is_of_half_ = reads_half();
  }

  void look() {
    stmt(function_->getBody());
    for (const auto& [variable, uses] : locals_) {
      if (uses.all > 0 && uses.all == uses.widened) {
        add(HalfFault::kCastChain, variable->getLocation(), variable->getNameAsString(),
            low_precision(variable->getType()));
      }
    }
    for (const auto& [root, stores] : stores_) {
      if (stores.in_half == nullptr || stores.in_float == nullptr) continue;
      if (stores.half_loop == stores.float_loop) continue;
      add(HalfFault::kUnevenTail, stores.in_half->getBeginLoc(), root->getNameAsString(),
          stores.dtypes, place_of(context_, stores.in_float->getBeginLoc()));
    }
  }

 private:
  struct Uses {
    size_t all = 0, widened = 0;
  };
  // What is stored through a parameter: computed in Half at one place, in Float at another.
  struct Stores {
    const Expr *in_half = nullptr, *in_float = nullptr;
    const Stmt *half_loop = nullptr, *float_loop = nullptr;
    DtypeSet dtypes;
  };

  bool reads_half() const {
    for (const ParmVarDecl* parameter : function_->parameters()) {
      const QualType type = parameter->getType().getNonReferenceType();
      const QualType of = type->isPointerType() ? type->getPointeeType() : type;
      if (!low_precision(of).empty()) return true;
    }
    const auto* made = function_->getTemplateSpecializationArgs();
    if (made == nullptr) return false;
    for (const TemplateArgument& argument : made->asArray()) {
      if (argument.getKind() != TemplateArgument::Type) continue;
      if (!low_precision(argument.getAsType()).empty()) return true;
    }
    return false;
  }

  void stmt(const Stmt* one) {
    if (one == nullptr || isa<LambdaExpr>(one)) return;
    const Stmt* outer = loop_;
    if (isa<ForStmt>(one) || isa<WhileStmt>(one) || isa<DoStmt>(one)) loop_ = one;
    if (const auto* declared = dyn_cast<DeclStmt>(one)) declare(declared);
    if (const auto* value = dyn_cast<Expr>(one)) expr(value);
    for (const Stmt* child : one->children()) stmt(child);
    loop_ = outer;
  }

  void declare(const DeclStmt* declared) {
    for (const Decl* decl : declared->decls()) {
      const auto* variable = dyn_cast<VarDecl>(decl);
      if (variable == nullptr || variable->getInit() == nullptr) continue;
      const QualType type = variable->getType();
      if (type->isPointerType()) {
        if (const VarDecl* root = root_of(variable->getInit())) roots_[variable] = root;
      } else if (!type->isReferenceType() && !low_precision(type).empty() &&
                 narrowed(variable->getInit()) != nullptr) {
        locals_.try_emplace(variable);
      }
    }
  }

  void expr(const Expr* one) {
    if (const auto* reference = dyn_cast<DeclRefExpr>(one)) {
      const auto local = locals_.find(dyn_cast<VarDecl>(reference->getDecl()));
      if (local != locals_.end()) ++local->second.all;
    }
    if (const Expr* low = widened(one)) {
      const auto* reference = dyn_cast<DeclRefExpr>(low);
      const auto* variable =
          reference == nullptr ? nullptr : dyn_cast<VarDecl>(reference->getDecl());
      const auto local = locals_.find(variable);
      // A cast is a cast of a call of a conversion: one of them counts.
      if (local != locals_.end() && counted_.insert(reference).second) ++local->second.widened;
      if (narrowed(low) != nullptr) {
        add(HalfFault::kCastChain, one->getBeginLoc(), text_of(one, context_),
            low_precision(low->getType()));
      }
    }
    if (const auto* call = dyn_cast<CallExpr>(one); call && is_exponential(called_name(call))) {
      add(HalfFault::kExponential, call->getBeginLoc(), called_name(call).str(),
          low_precision(call->getType()));
    }
    double_arithmetic(one);
    store(one);
  }

  void double_arithmetic(const Expr* one) {
    const Expr *left = nullptr, *right = nullptr;
    if (const auto* op = dyn_cast<BinaryOperator>(one)) {
      if (!op->isAdditiveOp() && !op->isMultiplicativeOp()) return;
      left = op->getLHS(), right = op->getRHS();
    } else if (const auto* op = dyn_cast<CXXOperatorCallExpr>(one); op && op->getNumArgs() == 2) {
      left = op->getArg(0), right = op->getArg(1);
    }
    if (left == nullptr || !one->getType()->isSpecificBuiltinType(BuiltinType::Double)) return;
    if (is_double_literal(left)) std::swap(left, right);
    if (!is_of_half_ || !is_double_literal(right) || is_double_literal(left)) return;
    const QualType from = left->IgnoreParenImpCasts()->getType().getNonReferenceType();
    const bool is_narrower =
        from->isSpecificBuiltinType(BuiltinType::Float) || !low_precision(from).empty();
    if (is_narrower) {
      add(HalfFault::kDoubleLiteral, right->getBeginLoc(), text_of(right, context_), {});
    }
  }

  // The parameter that memory is reached from: through subscripts, sums, casts and local pointers.
  const VarDecl* root_of(const Expr* value) const {
    for (value = stripped(value);;) {
      if (const auto* reference = dyn_cast<DeclRefExpr>(value)) {
        const auto* variable = dyn_cast<VarDecl>(reference->getDecl());
        const auto known = roots_.find(variable);
        if (known != roots_.end()) return known->second;
        return isa_and_nonnull<ParmVarDecl>(variable) ? variable : nullptr;
      }
      const Expr* inner = nullptr;
      if (const auto* element = dyn_cast<ArraySubscriptExpr>(value)) inner = element->getBase();
      if (const auto* op = dyn_cast<UnaryOperator>(value)) inner = op->getSubExpr();
      if (const auto* sum = dyn_cast<BinaryOperator>(value)) inner = sum->getLHS();
      if (const auto* cast = dyn_cast<ExplicitCastExpr>(value)) inner = cast->getSubExpr();
      if (inner == nullptr) return nullptr;
      value = stripped(inner);
    }
  }

  void store(const Expr* one) {
    const Expr *to = nullptr, *value = nullptr;
    if (const auto* op = dyn_cast<BinaryOperator>(one); op && op->getOpcode() == BO_Assign) {
      to = op->getLHS(), value = op->getRHS();
    } else if (const auto* op = dyn_cast<CXXOperatorCallExpr>(one);
               op && op->getOperator() == OO_Equal && op->getNumArgs() == 2) {
      to = op->getArg(0), value = op->getArg(1);
    }
    const Expr* memory = to == nullptr ? nullptr : stripped(to);
    if (memory == nullptr || !(isa<ArraySubscriptExpr>(memory) || isa<UnaryOperator>(memory)) ||
        low_precision(memory->getType()).empty()) {
      return;
    }
    const VarDecl* root = root_of(memory);
    if (root == nullptr) return;
    bool in_half = false, in_float = false;
    for_each_expr(value, [&](const Expr* part) { look_at_sum(part, in_half, in_float); });
    Stores& stores = stores_[root];
    if (in_half && !in_float && stores.in_half == nullptr) {
      stores.in_half = one, stores.half_loop = loop_;
      stores.dtypes = low_precision(memory->getType());
    }
    const bool rounds = narrowed(value) != nullptr;
    if (!in_half && (in_float || rounds) && stores.in_float == nullptr) {
      stores.in_float = one, stores.float_loop = loop_;
    }
  }

  static void look_at_sum(const Expr* part, bool& in_half, bool& in_float) {
    const bool is_low = !low_precision(part->getType()).empty();
    if (const auto* op = dyn_cast<BinaryOperator>(part)) {
      const bool computes = op->isAdditiveOp() || op->isMultiplicativeOp();
      in_half = in_half || (computes && is_low);
      in_float = in_float || (computes && is_wide(part->getType()));
    } else if (const auto* op = dyn_cast<CXXOperatorCallExpr>(part)) {
      const auto kind = op->getOperator();
      const bool computes =
          kind == OO_Plus || kind == OO_Minus || kind == OO_Star || kind == OO_Slash;
      in_half = in_half || (computes && is_low && op->getNumArgs() == 2);
    } else if (const auto* call = dyn_cast<CallExpr>(part)) {
      const llvm::StringRef name = called_name(call);
      const bool computes = name.starts_with("__hadd") || name.starts_with("__hsub") ||
                            name.starts_with("__hmul") || name.starts_with("__hfma") ||
                            name.starts_with("__hdiv");
      in_half = in_half || computes;
    }
  }

  void add(HalfFault fault, SourceLocation at, std::string text, DtypeSet dtypes,
           Place other = {}) {
    const Place place = place_of(context_, at);
    if (place.line == 0) return;
    const auto [at_known, is_new] = known_.try_emplace({place, fault}, found_.size());
    if (!is_new) {
      found_[at_known->second].dtypes |= dtypes;
      return;
    }
    found_.push_back(
        {place, function_->getNameAsString(), fault, std::move(text), dtypes, std::move(other)});
  }

  const ASTContext& context_;
  const FunctionDecl* function_;
  std::vector<HalfArithmetic>& found_;
  std::map<std::pair<Place, HalfFault>, size_t>& known_;
  bool is_of_half_ = false;
  const Stmt* loop_ = nullptr;
  std::map<const VarDecl*, const VarDecl*> roots_;  // local pointers into a parameter's memory
  std::map<const VarDecl*, Uses> locals_;           // that hold what was rounded to Half
  std::set<const DeclRefExpr*> counted_;
  std::map<const VarDecl*, Stores> stores_;
};

class Functions : public Visitor {
 public:
  Functions(const ASTContext& context, SourceFacts& facts) : Visitor(context), facts_(facts) {
    instantiations_ = true;
  }

  bool VisitFunctionDecl(FunctionDecl* function) override {
    const bool is_of_device =
        function->hasAttr<CUDADeviceAttr>() || function->hasAttr<CUDAGlobalAttr>();
    if (!is_of_device || function->isDependentContext()) return true;
    if (!function->doesThisDeclarationHaveABody()) return true;
    Body(context_, function, facts_.half_arithmetic, known_).look();
    return true;
  }

 private:
  SourceFacts& facts_;
  std::map<std::pair<Place, HalfFault>, size_t> known_;  // where in the facts
};

}  // namespace

void find_device_arithmetic(ASTContext& context, SourceFacts& facts) {
  Functions(context, facts).walk();
}

}  // namespace dtypecheck::analyzer
