// layers.cpp: what LibTorch's own modules are given, and make of it.
#include <llvm/ADT/StringSwitch.h>

#include "analyzer/clang/functions.h"
#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// What a module of torch::nn calls with its input and its weight; "": it is none of these.
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

// So many tensors at its front meet its weights.
unsigned inputs_of_module(llvm::StringRef name) {
  return llvm::StringSwitch<unsigned>(name)
      .Case("MultiheadAttentionImpl", 3)
      .Cases("BilinearImpl", "TransformerDecoderLayerImpl", "TransformerDecoderImpl",
             "TransformerImpl", 2)
      .Default(1);
}

// What it calls with its input, a hidden state and weights.
llvm::StringRef op_of_recurrent(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("LSTMImpl", "lstm")
      .Case("GRUImpl", "gru")
      .Case("RNNImpl", "rnn_tanh")
      .Default("");
}

// What it calls with what a model gave and what it should have given.
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

// It has no parameters, and gives back what it is given, as far as the dtype goes.
bool keeps_dtype(llvm::StringRef name) {
  return name.contains("Dropout") || name.contains("Pool") || name.contains("ReLU") ||
         name.contains("Pad") || name.contains("latten") || name.contains("Shuffle") ||
         name.contains("Softmax") || name.contains("Sigmoid") || name.contains("Tanh") ||
         name == "IdentityImpl" || name == "ELUImpl" || name == "SELUImpl" || name == "GELUImpl" ||
         name == "SiLUImpl" || name == "UpsampleImpl" || name == "SoftplusImpl";
}

// Looks for what a Sequential is made of: where it is made, assigned, given layers, or given to a
// function that does, in this order.
class LayerSearch {
 public:
  explicit LayerSearch(Dtypes& dtypes) : dtypes_(dtypes) {}

  // In the order in which they run, without those that keep the dtype. Null: one that is not known.
  std::vector<const CXXRecordDecl*> found;

  // What makes layers.
  void look(const Stmt* made) {
    if (made == nullptr) return;
    const auto* one = dyn_cast<Expr>(made);
    const auto* call = dyn_cast<CallExpr>(made);
    if (call != nullptr && look_in_body(call->getDirectCallee())) return;
    // Made here, or before: Sequential(*blocks), Sequential(first, torch::nn::ReLU()).
    const auto* deref = dyn_cast<UnaryOperator>(made);
    const bool is_named = (deref != nullptr && deref->getOpcode() == UO_Deref) ||
                          (one != nullptr && (isa<DeclRefExpr>(one) || isa<MemberExpr>(one)));
    const bool is_made =
        isa<CXXConstructExpr>(made) || (call != nullptr && called_name(call).starts_with("make_"));
    const CXXRecordDecl* record = is_named || is_made ? held_module(one->getType()) : nullptr;
    const llvm::StringRef name =
        record == nullptr || record->getIdentifier() == nullptr ? "" : record->getName();
    if (!name.empty() && name != "SequentialImpl") return add(record, one);
    for (const Stmt* child : made->children()) look(child);
  }

  // What is done with the variable, field or parameter that holds it.
  void look_at_uses(const Stmt* body, const Decl* holder, int depth = 0) {
    if (depth > kMaxDepth) return;
    for_each_expr(body, [&](const Expr* one) {
      const auto* op = dyn_cast<CXXOperatorCallExpr>(one);
      const auto* call = dyn_cast<CallExpr>(one);
      if (call == nullptr) return;
      if (op != nullptr) {
        if (op->getOperator() != OO_Equal || !names(op->getArg(0), holder)) return;
        look(op->getArg(1));
        look_at_variable(op->getArg(1), body, depth);
        return;
      }
      const auto member = member_call(call);
      const bool adds = member && member->name == "push_back" && names(member->base, holder);
      const FunctionDecl* callee = call->getDirectCallee();
      const FunctionDecl* given_to = callee == nullptr ? nullptr : callee->getDefinition();
      for (unsigned i = 0; i < call->getNumArgs(); ++i) {
        if (adds) look(call->getArg(i));
        if (given_to != nullptr && given_to->hasBody() && i < given_to->getNumParams() &&
            names(call->getArg(i), holder))
          look_at_uses(given_to->getBody(), given_to->getParamDecl(i), depth + 1);
      }
    });
  }

 private:
  static constexpr int kMaxDepth = 3;

  void add(const CXXRecordDecl* record, const Expr* made) {
    if (keeps_dtype(record->getName())) return;
    bool is_of_lambda = false;
    for_each_expr(made, [&](const Expr* one) { is_of_lambda |= isa<LambdaExpr>(one); });
    if (record->getName() == "FunctionalImpl" && !is_of_lambda) return;
    const bool is_known = !is_torchs_own(record) || !op_of_module(record->getName()).empty();
    found.push_back(is_known ? record : nullptr);
  }
  bool names(const Expr* expr, const Decl* holder) const {
    Key key;
    return (is_module_or_holder(expr->getType()) || is_any_module(expr->getType())) &&
           dtypes_.module_key(expr, key) && static_cast<const Decl*>(key.back()) == holder;
  }
  // conv = register_module("conv", block), where the function filled block.
  void look_at_variable(const Expr* value, const Stmt* body, int depth) {
    for_each_expr(value, [&](const Expr* one) {
      const auto* name = dyn_cast<DeclRefExpr>(one);
      const auto* variable = name == nullptr ? nullptr : dyn_cast<VarDecl>(name->getDecl());
      const bool is_list = variable != nullptr && variable->isLocalVarDecl() &&
                           is_module_or_holder(variable->getType());
      if (!is_list) return;
      look(variable->getInit());
      look_at_uses(body, variable, depth + 1);
    });
  }
  // A function that makes and returns one.
  bool look_in_body(const FunctionDecl* function) {
    const FunctionDecl* body = function == nullptr ? nullptr : function->getDefinition();
    if (body == nullptr || !body->hasBody() || body->isInStdNamespace() ||
        !is_of_project(body->getASTContext(), body->getLocation()) || depth_ > kMaxDepth ||
        !is_module_or_holder(body->getReturnType()))
      return false;
    ++depth_;
    for_each_expr(body->getBody(), [&](const Expr* one) {
      const auto* call = dyn_cast<CallExpr>(one);
      const auto member = call == nullptr ? std::nullopt : member_call(call);
      for (unsigned i = 0; member && member->name == "push_back" && i < call->getNumArgs(); ++i)
        look(call->getArg(i));
    });
    look_at_returned(body->getBody());
    --depth_;
    return true;
  }
  void look_at_returned(const Stmt* stmt) {
    if (stmt == nullptr) return;
    if (const auto* returns = dyn_cast<ReturnStmt>(stmt)) return look(returns->getRetValue());
    for (const Stmt* child : stmt->children()) look_at_returned(child);
  }

  Dtypes& dtypes_;
  int depth_ = 0;
};

}  // namespace

std::vector<const CXXRecordDecl*> Layers::layers_of(const Expr* module) {
  Key key;
  LayerSearch layers(dtypes_);
  if (!dtypes_.module_key(module, key)) return {};
  const auto* holder = static_cast<const Decl*>(key.back());
  if (const auto* variable = dyn_cast_or_null<VarDecl>(holder)) {
    layers.look(variable->getInit());
    if (layers.found.empty()) layers.look_at_uses(at_.stack.back()->getBody(), variable);
  } else if (const auto* field = dyn_cast_or_null<FieldDecl>(holder)) {
    layers.look(field->getInClassInitializer());
    for (const CXXConstructorDecl* one : cast<CXXRecordDecl>(field->getParent())->ctors()) {
      const auto* body = dyn_cast_or_null<CXXConstructorDecl>(one->getDefinition());
      if (body == nullptr || !layers.found.empty()) continue;
      for (const CXXCtorInitializer* init : body->inits()) {
        if (init->isWritten() && init->getAnyMember() == field) layers.look(init->getInit());
      }
      if (body->hasBody()) layers.look_at_uses(body->getBody(), field);
    }
  }
  return std::move(layers.found);
}

// What the layers of a Sequential make of its input one after the other; of an AnyModule, what each
// makes of it that it may hold.
void Layers::run_all(const CallExpr* call, const Expr* module, const Input& given) {
  std::vector<const CXXRecordDecl*> layers = layers_of(module);
  Key key;
  const bool is_known = dtypes_.module_key(module, key) && key.back() != nullptr;
  const bool is_one =
      is_known &&
      is_any_module(static_cast<const ValueDecl*>(static_cast<const Decl*>(key.back()))->getType());
  std::vector<Dtypes::Way> results;
  Input input = given;
  if (layers.empty()) layers.push_back(nullptr);
  for (const CXXRecordDecl* layer : layers) {
    const int result = run_one(call, layer, module, input);
    results.push_back({&dtypes_.state, result});
    if (is_one) continue;
    input = {result >= 0 ? result : dtypes_.make(TensorSource::kOther, kAnyDtype),
             "the result of a layer"};
  }
  if (is_one) input.symbol = dtypes_.one_of(results);
  if (input.symbol >= 0) dtypes_.remember(call, input.symbol);
}

// The symbol of its result; -1: not known.
int Layers::run_one(const CallExpr* call, const CXXRecordDecl* layer, const Expr* module,
                    const Input& input) {
  if (layer != nullptr && !is_torchs_own(layer)) {
    if (const auto result = run_block(call, layer, module, input)) return *result;
  } else if (layer != nullptr) {
    return run_layer(call, layer->getName(), module, {input});
  }
  // Whatever its layers are: some have weights, as a rule, and none casts.
  const bool is_floating = dtypes_.state.dtypes(input.symbol).within(kFloating);
  return is_floating && dtypes_.module(module) >= 0 ? run_layer(call, "LinearImpl", module, {input})
                                                    : -1;
}

// forward() of a block of the program's own, in the state of the list that it is in. Empty: it is
// not seen.
std::optional<int> Layers::run_block(const CallExpr* call, const CXXRecordDecl* block,
                                     const Expr* module, const Input& input) {
  const FunctionDecl* forward = forward_of(block);
  at_.notify(&Watcher::want_body, forward);
  forward = forward == nullptr ? nullptr : forward->getDefinition();
  if (forward == nullptr || !forward->hasBody() || forward->getNumParams() == 0 ||
      at_.is_too_deep(forward))
    return std::nullopt;
  for (unsigned i = 1; i < forward->getNumParams(); ++i) {
    if (const Expr* left_out = forward->getParamDecl(i)->getDefaultArg())
      walk_.bind_parameter(forward->getParamDecl(i), left_out);
  }
  dtypes_.bind(forward->getParamDecl(0), input.symbol);
  Key list;
  if (!dtypes_.module_key(module, list)) list.clear();
  std::vector<int> values;
  walk_.inside(forward, {place_of(at_.context, call->getBeginLoc()), nullptr, 0}, &list,
               [&] { values = walk_.run_body(forward->getBody(), nullptr); });
  return values.size() == 1 && dtypes_.state.knows(values[0]) ? values[0] : -1;
}

void Layers::call(const CallExpr* call) {
  const Expr* module = module_that_runs(call);
  const unsigned first = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
  if (module == nullptr || call->getNumArgs() <= first) return;
  const CXXRecordDecl* record = held_module(module->getType());
  const bool is_any = is_any_module(module->getType());
  const bool is_own =
      record != nullptr && record->getIdentifier() != nullptr && is_torchs_own(record);
  const Expr* argument = call->getArg(first);
  const bool is_given_tensor =
      is_tensor(stripped(argument)->getType()) || is_tensor(argument->getType());
  if ((!is_any && !is_own) || !is_given_tensor) return;
  const llvm::StringRef name = is_any ? "" : record->getName();
  std::vector<Input> inputs;
  for (unsigned i = first; i < call->getNumArgs() && i < first + inputs_of_module(name); ++i) {
    const Expr* one = call->getArg(i);
    inputs.push_back({dtypes_.tensor(one), dtypes_.text(stripped(one))});
  }
  if (is_any || name == "SequentialImpl") {
    run_all(call, module, inputs.front());
  } else if (!op_of_module(name).empty()) {
    const int result = run_layer(call, name, module, inputs);
    if (result >= 0) dtypes_.remember(call, result);
  } else if (!op_of_recurrent(name).empty()) {
    run_recurrent(call, op_of_recurrent(name), module);
  } else if (!op_of_loss(name).empty()) {
    run_loss(call, op_of_loss(name));
  } else if (keeps_dtype(name)) {
    dtypes_.remember(call, inputs.front().symbol);
  }
}

// The symbol of its result; -1: not known.
int Layers::run_layer(const CallExpr* call, llvm::StringRef layer, const Expr* module,
                      const std::vector<Input>& given) {
  SourceOp op = at_.op_at(call->getExprLoc(), op_of_module(layer));
  const int symbol = dtypes_.module(module);
  // Of a module that is not known no more than that its weights are no integers.
  SourceOperand weight = {.name = "weight", .dtypes = kFloating | kComplex};
  if (symbol >= 0) weight = dtypes_.operand("weight", "", symbol);
  const CXXRecordDecl* record = held_module(module->getType());
  const bool is_layer = record != nullptr && op_of_module(record->getName()) == op.op;
  weight.text =
      without_arrow(dtypes_.text(stripped(module))) + (is_layer ? "->weight" : "->parameters()[0]");
  std::vector<SourceOperand> inputs;
  for (const Input& one : given) inputs.push_back(dtypes_.operand("input", one.text, one.symbol));
  // Of an input that is not known nothing else would be taken.
  const DtypeSet dtypes = inputs.front().dtypes;
  const bool is_taken = op.op == "embedding" || dtypes == weight.dtypes ||
                        (!dtypes.single() && dtypes.intersects(weight.dtypes));
  const auto add = [&](std::vector<SourceOperand> operands, int tensor) {
    op.operands = std::move(operands);
    if (weight.is_assumed) at_.notify(&Watcher::layer, op, tensor);
    at_.notify(&Watcher::op, op);
  };
  if (op.op == "embedding") {
    inputs.front().name = "indices";
    add({weight, inputs.front()}, given.front().symbol);
  } else if (op.op == "bilinear" && inputs.size() == 2) {
    inputs[0].name = "input1";
    inputs[1].name = "input2";
    add({inputs[0], inputs[1], weight}, given.front().symbol);
  } else {
    for (size_t i = 0; i < inputs.size(); ++i) add({inputs[i], weight}, given[i].symbol);
  }
  const bool is_norm = op.op.ends_with("_norm");  // gives what it is given
  return is_norm && dtypes.single() ? given.front().symbol : is_taken ? symbol : -1;
}

void Layers::run_recurrent(const CallExpr* call, llvm::StringRef name, const Expr* module) {
  const unsigned first = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
  const int symbol = dtypes_.module(module);
  if (symbol < 0) return;
  SourceOp op = at_.op_at(call->getExprLoc(), name);
  const Expr* input = call->getArg(first);
  const int tensor = dtypes_.tensor(input);
  op.operands.push_back(dtypes_.operand("input", dtypes_.text(stripped(input)), tensor));
  const bool has_state =
      call->getNumArgs() > first + 1 && !isa<CXXDefaultArgExpr>(call->getArg(first + 1));
  const std::vector<int> states =
      has_state ? dtypes_.elements(call->getArg(first + 1)) : std::vector<int>();
  const std::string text = states.empty() ? "" : dtypes_.text(stripped(call->getArg(first + 1)));
  int state = tensor;  // without one the layer makes it as the input is
  for (const int one : states) {
    if (state == tensor || dtypes_.state.dtypes(one) != dtypes_.state.dtypes(tensor)) state = one;
  }
  // The tables have one dtype for a list: the odd one's.
  op.operands.push_back(
      dtypes_.operand(name == "lstm" ? "hx[0]" : "hx", text.empty() ? "hx" : text, state));
  SourceOperand weight = dtypes_.operand("params[0]", "", symbol);
  weight.text = without_arrow(dtypes_.text(stripped(module))) + "->all_weights()";
  const DtypeSet given = dtypes_.state.dtypes(tensor);
  const bool agrees =
      given == weight.dtypes || (!given.single() && given.intersects(weight.dtypes));
  op.operands.push_back(std::move(weight));
  if (op.operands.back().is_assumed) at_.notify(&Watcher::layer, op, tensor);
  if (agrees) dtypes_.remember(call, symbol);
  at_.notify(&Watcher::op, op);
}

void Layers::run_loss(const CallExpr* call, llvm::StringRef name) {
  const unsigned first = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
  if (call->getNumArgs() < first + 2) return;
  Dtypes::CalledOp called;
  called.op = at_.op_at(call->getExprLoc(), name);
  for (unsigned i = 0; i < 2; ++i) {
    const Expr* argument = call->getArg(first + i);
    called.symbols.push_back(dtypes_.tensor(argument));
    called.op.operands.push_back(dtypes_.operand(
        i == 0 ? "self" : "target", dtypes_.text(stripped(argument)), called.symbols.back()));
  }
  dtypes_.name_class_loss(called);
  const int answer = dtypes_.answer(called, 0);
  if (answer >= 0) dtypes_.remember(call, answer);
  at_.notify(&Watcher::op, called.op);
}

}  // namespace dtypecheck::analyzer
