// watch_handles.cpp: a pointer to elements, beside what a library is told that they are:
//   cublasGemmEx(…, x.data_ptr(), CUDA_R_16F, …)
//   memory::desc of({n, c}, memory::data_type::f32, tag);  memory in(of, engine, x.data_ptr());
// A descriptor is told by what it is made of, or by a call that has it as its first argument.
#include "analyzer/clang/watcher.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

class Handles : public Watcher {
 public:
  using Watcher::Watcher;
  void enter() override { told_.clear(); }
  void bind(const VarDecl* variable, const Expr* value) override { tell(variable, told_by(value)); }
  void assign(const BinaryOperator* assignment) override {
    if (const ValueDecl* to = named(assignment->getLHS())) tell(to, told_by(assignment->getRHS()));
  }
  void call(const CallExpr* call) override {
    if (isa<CXXOperatorCallExpr>(call)) return;
    look_at(call, {call->getArgs(), call->getNumArgs()});
  }
  void expr(const Expr* one) override {
    if (const auto* made = dyn_cast<CXXConstructExpr>(one))
      look_at(made, {made->getArgs(), made->getNumArgs()});
  }

 private:
  using Arguments = llvm::ArrayRef<const Expr*>;
  static constexpr int kMaxDepth = 4;  // memory({{n, c}, data_type::f32, tag}, engine)

  // A variable or a field that holds what a library is told, or a handle: of, &of, of.get().
  static const ValueDecl* named(const Expr* expr) {
    expr = stripped(expr);
    if (const auto got = member_call(expr); got && got->call->getNumArgs() == 0)
      expr = stripped(got->base);
    if (const auto* address = dyn_cast<UnaryOperator>(expr);
        address != nullptr && address->getOpcode() == UO_AddrOf)
      expr = stripped(address->getSubExpr());
    const auto* reference = dyn_cast<DeclRefExpr>(expr);
    const auto* member = dyn_cast<MemberExpr>(expr);
    if (member != nullptr) return member->getMemberDecl();
    return reference == nullptr ? nullptr : dyn_cast<VarDecl>(reference->getDecl());
  }

  // What is told on another way counts as well, and what is not known makes it unknown.
  void tell(const ValueDecl* handle, DtypeSet told) {
    if (!told.empty() || told_.contains(handle)) told_[handle] |= told.empty() ? kAnyDtype : told;
  }

  // What an expression says of elements, by a name or by what it is made of; empty: nothing.
  DtypeSet told_by(const Expr* expr, int depth = 0) const {
    if (expr == nullptr || depth > kMaxDepth) return {};
    expr = stripped(expr);
    if (const auto dtype = told_dtype(expr)) return without_fnuz(*dtype);
    if (const ValueDecl* handle = named(expr)) {
      const auto known = told_.find(handle);
      return known == told_.end() ? DtypeSet() : known->second;
    }
    if (const auto* choice = dyn_cast<ConditionalOperator>(expr)) {
      const DtypeSet yes = told_by(choice->getTrueExpr(), depth + 1);
      const DtypeSet no = told_by(choice->getFalseExpr(), depth + 1);
      return yes.empty() || no.empty() ? kAnyDtype : yes | no;
    }
    Arguments parts;
    if (const auto* made = dyn_cast<CXXConstructExpr>(expr))
      parts = {made->getArgs(), made->getNumArgs()};
    else if (const auto* list = dyn_cast<InitListExpr>(expr))
      parts = {const_cast<InitListExpr*>(list)->getInits(), list->getNumInits()};
    else if (const auto* call = dyn_cast<CallExpr>(expr); call != nullptr && is_of_library(call))
      parts = {call->getArgs(), call->getNumArgs()};
    DtypeSet all;
    for (const Expr* part : parts) {
      const DtypeSet told = told_by(part, depth + 1);
      if (!told.empty() && !all.empty()) return kAnyDtype;
      all |= told;
    }
    return all;
  }

  bool is_of_library(const Expr* expr) const {
    const auto* call = dyn_cast<CallExpr>(expr);
    const auto* made = dyn_cast<CXXConstructExpr>(expr);
    const FunctionDecl* callee = call != nullptr   ? call->getDirectCallee()
                                 : made != nullptr ? made->getConstructor()
                                                   : nullptr;
    return callee != nullptr && !at_.is_ours(callee->getLocation());
  }

  // The dtypes that what a pointer points to may have; empty: not known, or bytes.
  DtypeSet elements(const Expr* expr) {
    expr = expr->IgnoreParenImpCasts();
    if (const auto* cast = dyn_cast<ExplicitCastExpr>(expr);
        cast != nullptr && (cast->getType()->isVoidPointerType() || isa<CXXConstCastExpr>(cast)))
      return elements(cast->getSubExpr());
    const auto member = member_call(expr);
    if (member && member->name.ends_with("data_ptr") && member->types.empty() &&
        is_tensor(member->base->getType())) {
      const DtypeSet dtypes = dtypes_.state.dtypes(dtypes_.tensor(member->base));
      return dtypes.size() > kNarrowed ? DtypeSet() : dtypes;
    }
    const QualType type = expr->getType();
    return type->isPointerType() ? element_dtypes(type->getPointeeType()) : DtypeSet();
  }

  static bool is_address(const Expr* expr) {
    const auto* address = dyn_cast<UnaryOperator>(expr->IgnoreParenCasts());
    return address != nullptr && address->getOpcode() == UO_AddrOf;
  }

  void look_at(const Expr* whole, Arguments arguments) {
    std::vector<DtypeSet> told, pointed;
    DtypeSet all, all_pointed;
    size_t names = 0;
    for (const Expr* one : arguments) {
      told.push_back(told_by(one));
      pointed.push_back(is_address(one) ? DtypeSet() : without_fnuz(elements(one)));
      all |= told.back();
      all_pointed |= pointed.back();
      names += told.back().empty() ? 0 : 1;
    }
    if (all.empty()) return;
    // cudnnSetTensor4dDescriptor(desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, n, c, h, w)
    const ValueDecl* handle = named(arguments[0]);
    if (all_pointed.empty() && handle != nullptr && told[0] != all && is_of_library(whole))
      return tell(handle, all);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (pointed[i].empty()) continue;
      const bool is_first = i == 0 || is_address(arguments[i - 1]);
      const bool is_last = i + 1 == arguments.size();
      const DtypeSet before = is_first ? DtypeSet() : told[i - 1];
      const DtypeSet behind = is_last ? DtypeSet() : told[i + 1];
      const bool is_named = !behind.empty() && (named(arguments[i + 1]) == nullptr ||
                                                arguments[i + 1]->getType()->isEnumeralType());
      // (x, CUDA_R_16F, &beta); (&alpha, x, x_desc); (x_desc, x, w_desc, w)
      DtypeSet said = is_named || is_first ? behind : before | behind;
      if (!is_named && !is_first && before.empty() && names > 1) said = {};
      if (said.empty() && names == 1 && isa<CXXConstructExpr>(whole)) said = all;
      compare(arguments[i], pointed[i], said);
    }
  }

  // Integers are how bits of anything are kept.
  void compare(const Expr* pointer, DtypeSet elements, DtypeSet told) {
    if (!told.intersects(kFloating) || told.intersects(elements) || !elements.within(kFloating))
      return;
    const Place place = place_of(context_, pointer->getExprLoc());
    if (place.line == 0 || !seen_.insert(place).second) return;
    TensorFact fact;
    const Expr* bare = pointer->IgnoreParenCasts();
    const auto member = member_call(bare);
    fact.name = dtypes_.text(stripped(member ? member->base : bare));
    facts_.branches.push_back(
        {place, at_.function, at_.callers, std::move(fact), elements, told, BranchFault::kTold});
  }

  std::map<const ValueDecl*, DtypeSet> told_;
  std::set<Place> seen_;
};

}  // namespace

std::unique_ptr<Watcher> watch_handles(Whereabouts& at) { return std::make_unique<Handles>(at); }

}  // namespace dtypecheck::analyzer
