// modules.cpp: the part of the walk that follows the dtype of modules' parameters: what casts a
// module, what it is called with, and what an optimizer steps.
#include <llvm/ADT/StringSwitch.h>

#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// What a module of torch::nn calls with its input and its weight.
llvm::StringRef op_of_module(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("LinearImpl", "linear")
      .Case("Conv1dImpl", "conv1d")
      .Case("Conv2dImpl", "conv2d")
      .Case("Conv3dImpl", "conv3d")
      .Case("ConvTranspose1dImpl", "conv_transpose1d")
      .Case("LayerNormImpl", "layer_norm")
      .Case("GroupNormImpl", "group_norm")
      .Cases("BatchNorm1dImpl", "BatchNorm2dImpl", "BatchNorm3dImpl", "batch_norm")
      .Default("");
}

bool is_torchs_own(const CXXRecordDecl* record) {
  const std::string name = record->getQualifiedNameAsString();
  return llvm::StringRef(name).starts_with("torch::nn::");
}

// Net of ModuleHolder<Net>, of shared_ptr<Net> and of a pointer to Net.
const CXXRecordDecl* held_module(QualType type, int depth = 0) {
  type = type.getNonReferenceType();
  if (type->isPointerType()) type = type->getPointeeType();
  const CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || depth > 4) return nullptr;
  const auto* made = dyn_cast<ClassTemplateSpecializationDecl>(record);
  const bool holds = made != nullptr && made->getIdentifier() != nullptr &&
                     (made->getName() == "ModuleHolder" || made->getName() == "shared_ptr");
  if (holds) {
    const TemplateArgument& held = made->getTemplateArgs()[0];
    return held.getKind() == TemplateArgument::Type ? held_module(held.getAsType(), depth + 1)
                                                    : nullptr;
  }
  if (record->hasDefinition()) {
    for (const CXXBaseSpecifier& base : record->bases()) {
      const auto* of =
          dyn_cast_or_null<ClassTemplateSpecializationDecl>(base.getType()->getAsCXXRecordDecl());
      if (of != nullptr && of->getName() == "ModuleHolder") {
        return held_module(base.getType(), depth + 1);
      }
    }
  }
  return record;  // itself
}

bool holds_module(QualType type) {
  const CXXRecordDecl* record = held_module(type);
  return record != nullptr && is_module(QualType(record->getTypeForDecl(), 0));
}

// The module that a call runs: net->forward(x), net(x).
const Expr* module_that_runs(const CallExpr* call) {
  const auto* op = dyn_cast<CXXOperatorCallExpr>(call);
  if (op != nullptr && op->getOperator() == OO_Call && holds_module(op->getArg(0)->getType())) {
    return op->getArg(0);
  }
  const auto member = member_call(call);
  const bool runs = member && member->name == "forward" && is_module(member->base->getType());
  return runs ? member->base : nullptr;
}

}  // namespace

// The function that a call ends in, where this file defines it: net(x) on a holder is its
// operator(), a template of LibTorch's, and what runs is forward() of the module that it holds.
const FunctionDecl* Walk::body_of(const CallExpr* call) const {
  const FunctionDecl* callee = call->getDirectCallee();
  const Expr* module = isa<CXXOperatorCallExpr>(call) ? module_that_runs(call) : nullptr;
  const CXXRecordDecl* record = module == nullptr ? nullptr : held_module(module->getType());
  if (record != nullptr && record->hasDefinition()) {
    for (const CXXMethodDecl* method : record->methods()) {
      if (name_of(method->getDeclName()) == "forward") callee = method;
    }
  }
  return callee == nullptr ? nullptr : callee->getDefinition();
}

// A function of a module other than *this; the key is empty where it is not known which.
bool Walk::calls_other_module(const CallExpr* call, Key& module) const {
  const Expr* object = module_that_runs(call);
  const auto member = member_call(call);
  if (object == nullptr && member && is_module(member->base->getType())) object = member->base;
  if (object == nullptr || isa<CXXThisExpr>(stripped(object))) return false;
  if (!dtypes_.module_key(object, module)) module.clear();
  return true;
}

// net->to(torch::kHalf)
void Walk::module_cast(const CallExpr* call) {
  const auto member = member_call(call);
  if (!member || member->name != "to" || !is_module(member->base->getType())) return;
  Key key;
  const int symbol = dtypes_.options_among(call, 0);
  if (symbol >= 0 && dtypes_.module_key(member->base, key)) {
    dtypes_.state.cast_module(key, symbol);
  }
}

// torch::load(net, path), cast_all(net): whatever is given a module may cast it.
void Walk::module_given(const CallExpr* call) {
  const bool has_object = isa<CXXOperatorCallExpr>(call);
  for (unsigned i = has_object ? 1 : 0; i < call->getNumArgs(); ++i) {
    const Expr* argument = stripped(call->getArg(i));
    Key key;
    if (holds_module(argument->getType()) && dtypes_.module_key(argument, key)) {
      dtypes_.state.cast_module(key, -1);
    }
  }
}

// torch::nn::Linear layer(4, 4): Float until it is cast.
void Walk::module_made(const VarDecl* variable) {
  const auto* made = dyn_cast_or_null<CXXConstructExpr>(variable->getInit()->IgnoreImplicit());
  if (made == nullptr || made->getNumArgs() == 0 || !holds_module(variable->getType())) return;
  const Expr* first = made->getArg(0);
  const bool is_empty = first->getType()->isNullPtrType();
  const CXXRecordDecl* record = held_module(variable->getType());
  if (is_empty || holds_module(stripped(first)->getType()) || record == nullptr) return;
  if (!is_torchs_own(record) || op_of_module(record->getName()).empty()) return;
  dtypes_.state.cast_module({variable->getCanonicalDecl()},
                            dtypes_.make(TensorSource::kMade, Dtype::kFloat));
}

void Walk::module_run(const CallExpr* call) {
  const Expr* module = module_that_runs(call);
  const int symbol = module == nullptr ? -1 : dtypes_.module(module);
  const CXXRecordDecl* record = module == nullptr ? nullptr : held_module(module->getType());
  const unsigned first = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
  if (record == nullptr || record->getIdentifier() == nullptr || !is_torchs_own(record) ||
      call->getNumArgs() <= first) {
    return;
  }
  // Of a module that is not known to be cast no more than that its weights are no integers.
  const DtypeSet weight = symbol < 0 ? kFloating | kComplex : dtypes_.state.dtypes(symbol);
  if (record->getName() == "EmbeddingImpl") {
    if (symbol >= 0) dtypes_.remember(call, symbol);
    return;
  }
  const llvm::StringRef name = op_of_module(record->getName());
  if (name.empty()) return;
  SourceOp op = {.place = place_of(context_, call->getExprLoc()), .function = function_};
  op.op = name.str();
  const Expr* input = call->getArg(first);
  if (!is_tensor(stripped(input)->getType()) && !is_tensor(input->getType())) return;
  const int tensor = dtypes_.tensor(input);
  const DtypeSet given = dtypes_.state.dtypes(tensor);
  if (symbol >= 0 && given == weight) dtypes_.remember(call, symbol);
  op.operands.push_back(dtypes_.operand("input", dtypes_.text(stripped(input)), tensor));
  std::string name_of_module = dtypes_.text(stripped(module));
  if (llvm::StringRef(name_of_module).ends_with("->"))
    name_of_module.resize(name_of_module.size() - 2);
  op.operands.push_back({.name = "weight", .text = name_of_module + "->weight", .dtypes = weight});
  add_op(std::move(op));
}

// torch::optim::Adam(net->parameters(), …) over a module that was cast: what its step will write.
void Walk::optimizer_of(const CXXConstructExpr* made) {
  const std::string type = made->getConstructor()->getParent()->getQualifiedNameAsString();
  if (!llvm::StringRef(type).starts_with("torch::optim::") || made->getNumArgs() == 0) return;
  const auto* call = dyn_cast<CallExpr>(stripped(made->getArg(0)));
  const auto member = call == nullptr ? std::nullopt : member_call(call);
  if (!member || member->name != "parameters" || !is_module(member->base->getType())) return;
  const int symbol = dtypes_.module(member->base);
  if (symbol < 0 || dtypes_.state.dtypes(symbol) != DtypeSet(Dtype::kHalf)) return;
  SourceOp op = {.place = place_of(context_, made->getBeginLoc()),
                 .function = function_,
                 .op = "addcdiv_",
                 .operands = {{"self", dtypes_.text(call), Dtype::kHalf, true, {}}}};
  if (op.place.line > 0 && ops_.insert({op.place, op.op}).second)
    facts_.ops.push_back(std::move(op));
}

}  // namespace dtypecheck::analyzer
