// chains.cpp: the part of the walk that compares the branches of one question for a dtype:
// if (t == at::kHalf) run<half>(…) else run<float>(…). What the last branch serves is whatever the
// others left; two branches alike serve one of the two as the other.
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/PrettyPrinter.h>
#include <llvm/Support/raw_ostream.h>

#include "analyzer/clang/assume.h"
#include "analyzer/clang/walk.h"

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

std::vector<Instance> instances_in(const Stmt* arm) {
  std::vector<Instance> instances;
  for_each_expr(arm, [&](const Expr* expr) {
    const auto* call = dyn_cast<CallExpr>(expr);
    if (call == nullptr) return;
    if (auto instance = instance_of(call)) instances.push_back(std::move(*instance));
  });
  return instances;
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
DtypeSet fixed_dtype(const Stmt* arm) {
  DtypeSet dtypes;
  const auto add = [&](DtypeSet one) {
    if (one.single() && one.within(kFloating)) dtypes |= one;
  };
  for (const Instance& instance : instances_in(arm)) {
    for (const DtypeSet& type : instance.types) add(type);
  }
  for_each_expr(arm, [&](const Expr* expr) {
    const QualType type = pointer_type_of(expr);
    if (!type.isNull()) add(element_dtypes(type));
  });
  return dtypes.single() ? dtypes : DtypeSet();
}

std::string printed(const Stmt* stmt, const ASTContext& context) {
  std::string text;
  llvm::raw_string_ostream out(text);
  stmt->printPretty(out, nullptr, context.getPrintingPolicy());
  return text;
}

// The dtype for which the last arm instantiates what an earlier one does for another.
std::optional<std::pair<DtypeSet, const CallExpr*>> other_instance(
    const Stmt* last, const std::vector<Instance>& earlier) {
  for (const Instance& instance : instances_in(last)) {
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

}  // namespace

void Walk::look_at_arms(const TensorFact& tensor, const std::vector<Arm>& arms) {
  if (!tensor.is_external() || tensor.looked_at || arms.size() < 2) return;
  const auto add = [&](const Stmt* at, BranchFault fault, DtypeSet dtypes, DtypeSet served) {
    const Place place = place_of(context_, at->getBeginLoc());
    if (place.line == 0 || !branches_.emplace(place, fault).second) return;
    facts_.branches.push_back({place, function_, callers_, tensor, dtypes, served, fault});
  };
  for (size_t i = 0; i < arms.size(); ++i) {
    for (size_t k = i + 1; k < arms.size(); ++k) {
      const DtypeSet fixed = fixed_dtype(arms[k].body);
      if (fixed.empty() || arms[i].dtypes.intersects(arms[k].dtypes)) continue;
      if (printed(arms[i].body, context_) != printed(arms[k].body, context_)) continue;
      const Arm& wrong = arms[k].dtypes.within(fixed) ? arms[i] : arms[k];
      if (!wrong.dtypes.empty()) add(wrong.body, BranchFault::kAlike, wrong.dtypes, fixed);
      return;
    }
  }
  if (!arms.back().is_last) return;
  std::vector<Instance> earlier;
  for (size_t i = 0; i + 1 < arms.size(); ++i) {
    for (Instance& instance : instances_in(arms[i].body)) earlier.push_back(std::move(instance));
  }
  const DtypeSet left = arms.back().dtypes;
  const auto other = other_instance(arms.back().body, earlier);
  if (other && !left.empty() && !left.within(other->first))
    add(other->second, BranchFault::kLeftOver, left, other->first);
}

// The arms from the first `if` on, with the dtypes that come to each; empty: it asks for more than
// one tensor's dtype.
std::vector<Walk::Arm> Walk::arms_of(const IfStmt* first, const Chain& chain) const {
  std::vector<Arm> arms;
  DtypeSet left = dtypes_.state.dtypes(chain.symbol);
  for (const IfStmt* one = first;;) {
    const Expr* of = nullptr;
    const auto dtype = equals_constant(one->getCond(), context_, of);
    if (!dtype) return {};
    arms.push_back({one->getThen(), left & DtypeSet(*dtype), false});
    left = left - DtypeSet(*dtype);
    if (one->getElse() == nullptr) return arms;
    const auto* next = dyn_cast<IfStmt>(one->getElse());
    if (next == nullptr) {
      arms.push_back({one->getElse(), left, true});
      return arms;
    }
    one = next;
  }
}

}  // namespace dtypecheck::analyzer
