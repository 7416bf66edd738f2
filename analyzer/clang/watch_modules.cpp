// watch_modules.cpp: what modules are given whose layers another file says: those of a TorchScript
// program, of a class of the program's own, and those of this file where a caller elsewhere has
// what they are given. And what an optimizer will step.
#include "analyzer/clang/functions.h"
#include "analyzer/clang/parts.h"
#include "analyzer/clang/watcher.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

class ModuleCalls : public Watcher {
 public:
  using Watcher::Watcher;
  void call(const CallExpr* call) override {
    add_input(call);
    const Expr* module = module_that_runs(call);
    const unsigned first = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
    const CXXRecordDecl* record = module == nullptr ? nullptr : held_module(module->getType());
    const bool is_program = record != nullptr && is_jit(record) && call->getNumArgs() > first;
    if (is_program && !at_.autocast) run_program(call, module);
  }

  // What the caller in another file gives comes here as it is.
  void layer(const SourceOp& given, int tensor) override {
    const int parameter = at_.parameter_of(tensor);
    if (parameter < 0 || dtypes_.state.dtypes(tensor) != kAnyDtype || at_.autocast) return;
    SourceOp op = given;
    for (SourceOperand& operand : op.operands) {
      if (!operand.is_assumed) operand.parameter = parameter;
    }
    op.assumes = at_.assumption();
    if (is_new(op, op.op + " of a parameter")) facts_.layer_inputs.push_back(std::move(op));
  }

  // model->forward(x), or another function of a model, whose body is in another file.
  void call_unseen(const CallExpr* call) override {
    const Expr* module = module_that_runs(call);
    const auto member = member_call(call);
    if (module == nullptr && member && is_module(member->base->getType())) module = member->base;
    const CXXRecordDecl* record = module == nullptr ? nullptr : held_module(module->getType());
    if (record == nullptr || is_torchs_own(record) || is_jit(record) || at_.autocast) return;
    const FunctionDecl* forward = member ? call->getDirectCallee() : nullptr;
    if (forward == nullptr) forward = forward_of(record);
    if (forward == nullptr || forward->hasBody() || is_libtorchs(forward)) return;
    SourceOp op = at_.op_at(call->getExprLoc(), outside_name(forward));
    const unsigned first = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
    for (unsigned i = first; i < call->getNumArgs(); ++i) {
      const Expr* argument = call->getArg(i);
      if (!is_tensor(stripped(argument)->getType()) && !is_tensor(argument->getType())) continue;
      op.operands.push_back(
          dtypes_.operand("input", dtypes_.text(stripped(argument)), dtypes_.tensor(argument)));
      op.operands.back().parameter = static_cast<int>(i - first);
    }
    Key key;
    const bool is_one = dtypes_.module_key(module, key) && !dtypes_.state.has_cast_part(key);
    const int symbol = is_one ? dtypes_.module(module) : -1;
    SourceOperand weight = {.name = "weight", .dtypes = kAnyDtype};
    if (symbol >= 0) weight = dtypes_.operand("weight", "", symbol);
    weight.text = without_arrow(dtypes_.text(stripped(module)));
    op.operands.push_back(std::move(weight));
    for (SourceOperand& operand : op.operands) {
      if (operand.made.line == op.place.line) operand.made = {};
      if (operand.is_assumed) op.assumes = at_.assumption();
    }
    if (is_new(op, op.op)) facts_.module_calls.push_back(std::move(op));
  }

  // torch::optim::Adam(net->parameters(), …) over a module that was cast: what its step will write.
  void expr(const Expr* one) override {
    const auto* made = dyn_cast<CXXConstructExpr>(one);
    if (made == nullptr) return;
    const std::string type = made->getConstructor()->getParent()->getQualifiedNameAsString();
    if (!llvm::StringRef(type).starts_with("torch::optim::") || made->getNumArgs() == 0) return;
    const auto* call = dyn_cast<CallExpr>(stripped(made->getArg(0)));
    const auto member = call == nullptr ? std::nullopt : member_call(call);
    if (!member || member->name != "parameters" || !is_module(member->base->getType())) return;
    const int symbol = dtypes_.module(member->base);
    if (symbol < 0 || dtypes_.state.dtypes(symbol) != DtypeSet(Dtype::kHalf)) return;
    SourceOp op = at_.op_at(made->getBeginLoc(), "addcdiv_");
    op.operands = {{"self", dtypes_.text(call), Dtype::kHalf, true, dtypes_.origin(symbol)}};
    if (op.operands.front().made.line == op.place.line) op.operands.front().made = {};
    if (is_new(op, op.op)) facts_.ops.push_back(std::move(op));
  }

 private:
  bool is_new(const SourceOp& op, const std::string& name) {
    return op.place.line > 0 && seen_.insert({op.place, name}).second;
  }

  // module.forward({x}) of a TorchScript program that was cast: its layers have that dtype, and are
  // given x, where that is of floating numbers.
  void run_program(const CallExpr* call, const Expr* module) {
    const int symbol = dtypes_.module(module);
    if (symbol < 0 || call->getNumArgs() == 0) return;
    const auto* name = dyn_cast<DeclRefExpr>(stripped(call->getArg(0)));
    std::vector<const Expr*> inputs;
    if (const auto given = program_inputs_.find(name == nullptr ? nullptr : name->getDecl());
        given != program_inputs_.end()) {
      inputs = given->second;
    } else if (name == nullptr) {
      for_each_expr(call->getArg(0), [&](const Expr* one) {
        const auto* made = dyn_cast<CXXConstructExpr>(one);
        if (made != nullptr && made->getNumArgs() == 1 && is_tensor(made->getArg(0)->getType()) &&
            !is_tensor(made->getType()))
          inputs.push_back(made->getArg(0));
      });
    }
    // One of them fits, perhaps that of another branch.
    if (llvm::any_of(inputs, [&](const Expr* input) {
          return dtypes_.state.dtypes(dtypes_.tensor(input))
              .intersects(dtypes_.state.dtypes(symbol));
        }))
      return;
    for (const Expr* input : inputs) {
      const int tensor = dtypes_.tensor(input);
      if (!dtypes_.state.dtypes(tensor).within(kFloating)) continue;
      SourceOp op = at_.op_at(call->getExprLoc(), "linear");
      op.operands = {dtypes_.operand("input", dtypes_.text(stripped(input)), tensor),
                     dtypes_.operand("weight", dtypes_.text(stripped(module)), symbol)};
      return at_.notify(&Watcher::op, op);
    }
  }

  // inputs.push_back(x) of a list that a program is given.
  void add_input(const CallExpr* call) {
    const auto member = member_call(call);
    if (!member) return;
    const auto* list = dyn_cast<DeclRefExpr>(stripped(member->base));
    if (list == nullptr || is_tensor_list(list->getType())) return;
    const bool adds = member->name == "push_back" || member->name == "emplace_back";
    const Expr* input = call->getNumArgs() == 1 ? stripped(call->getArg(0)) : nullptr;
    if (adds && input != nullptr && is_tensor(input->getType()))
      program_inputs_[list->getDecl()].push_back(input);
    if (member->name == "clear") program_inputs_.erase(list->getDecl());
  }

  std::map<const Decl*, std::vector<const Expr*>> program_inputs_;  // by their list
  std::set<std::pair<Place, std::string>> seen_;
};

}  // namespace

std::unique_ptr<Watcher> watch_modules(Whereabouts& at) {
  return std::make_unique<ModuleCalls>(at);
}

}  // namespace dtypecheck::analyzer
