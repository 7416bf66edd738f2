// watch_outside.cpp: what other files are to know of this one: which tensors it gives to functions
// whose bodies lie there, and which of its own parameters these are.
#include "analyzer/clang/functions.h"
#include "analyzer/clang/watcher.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

class Outside : public Watcher {
 public:
  using Watcher::Watcher;
  void walk_through(const FunctionDecl* body) override {
    if (!in_main_file(context_, body->getLocation())) facts_.called.push_back(outside_name(body));
  }
  // The body, in another file, says what becomes of a module, or of tensors.
  void want_body(const FunctionDecl* function) override {
    if (function == nullptr || function->hasBody() || !at_.is_ours(function->getLocation())) return;
    const std::string name = outside_name(function);
    const auto* method = dyn_cast<CXXMethodDecl>(function);
    std::vector<QualType> types = {function->getReturnType()};
    for (const ParmVarDecl* parameter : function->parameters())
      types.push_back(parameter->getType());
    const CXXRecordDecl* record = method == nullptr ? nullptr : method->getParent();
    const bool is_of_module =
        (record != nullptr && is_module(QualType(record->getTypeForDecl(), 0))) ||
        (record != nullptr && record->hasDefinition() &&
         llvm::any_of(
             record->fields(),
             [](const FieldDecl* field) { return is_module_or_holder(field->getType()); })) ||
        llvm::any_of(types, is_module_or_holder);
    if (name.empty() || (is_libtorchs(function) && !is_of_module)) return;
    (is_of_module ? facts_.module_functions : facts_.tensor_functions).push_back(name);
  }

  void call_unseen(const CallExpr* call) override {
    const FunctionDecl* callee = call->getDirectCallee();
    if (callee == nullptr || callee->hasBody() || !at_.is_ours(callee->getLocation())) return;
    OutsideCall found = {outside_name(callee), at_.entry, at_.callers, {}};
    if (found.function.empty()) return;
    std::vector<int> symbols;
    for (unsigned i = 0; i < call->getNumArgs(); ++i) {
      const Expr* argument = call->getArg(i);
      if (!is_tensor(stripped(argument)->getType())) continue;
      const int symbol = dtypes_.tensor(argument);
      TensorArgument tensor = {static_cast<int>(i), dtypes_.fact(argument),
                               at_.parameter_of(symbol), -1};
      for (size_t before = 0; before < symbols.size() && tensor.same_as < 0; ++before) {
        const TensorArgument& other = found.arguments[before];
        if (dtypes_.state.same(symbols[before], symbol)) tensor.same_as = other.position;
      }
      if (tensor.same_as < 0) tensor.same_as = tensor.position;
      symbols.push_back(symbol);
      found.arguments.push_back(std::move(tensor));
    }
    if (!found.arguments.empty()) facts_.outside_calls.push_back(std::move(found));
  }
};

}  // namespace

std::unique_ptr<Watcher> watch_outside(Whereabouts& at) { return std::make_unique<Outside>(at); }

}  // namespace dtypecheck::analyzer
