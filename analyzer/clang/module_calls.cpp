#include "analyzer/clang/module_calls.h"

#include <llvm/ADT/StringSwitch.h>

namespace dtypecheck::analyzer {

using namespace clang;

llvm::StringRef op_of_module(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Cases("LinearImpl", "LSTMCellImpl", "GRUCellImpl", "RNNCellImpl", "linear")
      .Cases("MultiheadAttentionImpl", "TransformerEncoderLayerImpl", "TransformerDecoderLayerImpl",
             "linear")
      .Cases("TransformerEncoderImpl", "TransformerDecoderImpl", "TransformerImpl", "linear")
      .Case("Conv1dImpl", "conv1d")
      .Case("Conv2dImpl", "conv2d")
      .Case("Conv3dImpl", "conv3d")
      .Case("ConvTranspose1dImpl", "conv_transpose1d")
      .Case("ConvTranspose2dImpl", "conv_transpose2d")
      .Case("ConvTranspose3dImpl", "conv_transpose3d")
      .Case("LayerNormImpl", "layer_norm")
      .Case("GroupNormImpl", "group_norm")
      .Cases("BatchNorm1dImpl", "BatchNorm2dImpl", "BatchNorm3dImpl", "batch_norm")
      .Case("EmbeddingImpl", "embedding")
      .Case("BilinearImpl", "bilinear")
      .Default("");
}

unsigned inputs_of_module(llvm::StringRef name) {
  return llvm::StringSwitch<unsigned>(name)
      .Case("MultiheadAttentionImpl", 3)
      .Cases("BilinearImpl", "TransformerDecoderLayerImpl", "TransformerDecoderImpl",
             "TransformerImpl", 2)
      .Default(1);
}

llvm::StringRef op_of_recurrent(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("LSTMImpl", "lstm")
      .Case("GRUImpl", "gru")
      .Case("RNNImpl", "rnn_tanh")
      .Default("");
}

llvm::StringRef op_of_loss(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("BCELossImpl", "binary_cross_entropy")
      .Case("BCEWithLogitsLossImpl", "binary_cross_entropy_with_logits")
      .Case("CrossEntropyLossImpl", "cross_entropy_loss")
      .Case("HuberLossImpl", "huber_loss")
      .Case("KLDivLossImpl", "kl_div")
      .Case("L1LossImpl", "l1_loss")
      .Case("MSELossImpl", "mse_loss")
      .Case("NLLLossImpl", "nll_loss")
      .Case("SmoothL1LossImpl", "smooth_l1_loss")
      .Default("");
}

bool keeps_dtype(llvm::StringRef name) {
  return name.contains("Dropout") || name.contains("Pool") || name.contains("ReLU") ||
         name.contains("Pad") || name.contains("latten") || name.contains("Shuffle") ||
         name.contains("Softmax") || name.contains("Sigmoid") || name.contains("Tanh") ||
         name == "IdentityImpl" || name == "ELUImpl" || name == "SELUImpl" || name == "GELUImpl" ||
         name == "SiLUImpl" || name == "UpsampleImpl" || name == "SoftplusImpl";
}

const Expr* module_that_runs(const CallExpr* call) {
  const auto* op = dyn_cast<CXXOperatorCallExpr>(call);
  if (op != nullptr && op->getOperator() == OO_Call &&
      is_module_or_holder(op->getArg(0)->getType())) {
    return op->getArg(0);
  }
  const auto member = member_call(call);
  const bool runs = member && member->name == "forward" &&
                    (is_module(member->base->getType()) || is_any_module(member->base->getType()));
  return runs ? member->base : nullptr;
}

const CXXMethodDecl* forward_of(const CXXRecordDecl* record) {
  const CXXMethodDecl* forward = nullptr;
  for (const CXXMethodDecl* method : record->methods()) {
    if (forward == nullptr && name_of(method->getDeclName()) == "forward") forward = method;
  }
  return forward;
}

// Square::apply(x, w) of a custom autograd function, whose forward() is given a context before
// these.
static const FunctionDecl* forward_of_apply(const FunctionDecl* callee) {
  const auto* method = dyn_cast_or_null<CXXMethodDecl>(callee);
  const auto* base =
      method == nullptr ? nullptr : dyn_cast<ClassTemplateSpecializationDecl>(method->getParent());
  if (base == nullptr || name_of(callee->getDeclName()) != "apply" || !is_libtorchs(callee) ||
      base->getTemplateArgs().size() == 0 || base->getName() != "Function" ||
      base->getTemplateArgs()[0].getKind() != TemplateArgument::Type)
    return nullptr;
  const CXXRecordDecl* own = base->getTemplateArgs()[0].getAsType()->getAsCXXRecordDecl();
  if (own == nullptr || !own->hasDefinition()) return nullptr;
  return forward_of(own);
}

// net(x) on a holder is its operator(), a template of LibTorch's,
// and what runs is forward() of the module that it holds.
const FunctionDecl* called_by(const CallExpr* call) {
  const FunctionDecl* callee = call->getDirectCallee();
  const Expr* module = isa<CXXOperatorCallExpr>(call) ? module_that_runs(call) : nullptr;
  const CXXRecordDecl* record = module == nullptr ? nullptr : held_module(module->getType());
  const CXXMethodDecl* run =
      record == nullptr || !record->hasDefinition() ? nullptr : forward_of(record);
  if (run != nullptr) callee = run;
  if (const FunctionDecl* forward = forward_of_apply(callee)) callee = forward;
  return callee;
}

std::string without_arrow(std::string name) {
  while (llvm::StringRef(name).ends_with("->")) name.resize(name.size() - 2);
  return name;
}

}  // namespace dtypecheck::analyzer
