// outside.cpp: the part of the walk that says what other files are to know of this one: which
// tensors it gives to functions whose bodies lie there, and which of its own parameters these are.
#include "analyzer/clang/functions.h"
#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

// The parameter of the function that the walk came from whose dtype this is.
int Walk::parameter_of(int symbol) const {
  if (!dtypes_.state.knows(symbol)) return -1;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (!dtypes_.state.knows(parameters_[i])) continue;
    if (dtypes_.state.same(symbol, parameters_[i])) return static_cast<int>(i);
  }
  return -1;
}

// The body, in another file, says what becomes of a module, or of tensors.
void Walk::want_body(const FunctionDecl* function) {
  if (function == nullptr || function->hasBody() || !is_ours(function->getLocation())) return;
  const std::string name = outside_name(function);
  const auto* method = dyn_cast<CXXMethodDecl>(function);
  std::vector<QualType> types = {function->getReturnType()};
  for (const ParmVarDecl* parameter : function->parameters()) types.push_back(parameter->getType());
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

// The calls on the way that go from one file to another.
std::vector<Place> Walk::led_here(const Place& place) const {
  std::vector<Place> calls;
  for (size_t i = 0; i < call_sites_.size(); ++i) {
    const Place& to = i + 1 < call_sites_.size() ? call_sites_[i + 1].place : place;
    if (call_sites_[i].place.line > 0 && call_sites_[i].place.file != to.file)
      calls.push_back(call_sites_[i].place);
  }
  return calls;
}

void Walk::call_outside(const CallExpr* call) {
  const FunctionDecl* callee = call->getDirectCallee();
  if (callee == nullptr || callee->hasBody() || !is_ours(callee->getLocation())) return;
  OutsideCall found = {outside_name(callee), entry_, callers_, {}};
  if (found.function.empty()) return;
  std::vector<int> symbols;
  for (unsigned i = 0; i < call->getNumArgs(); ++i) {
    const Expr* argument = call->getArg(i);
    if (!is_tensor(stripped(argument)->getType())) continue;
    const int symbol = dtypes_.tensor(argument);
    TensorArgument tensor = {static_cast<int>(i), dtypes_.fact(argument), parameter_of(symbol), -1};
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

}  // namespace dtypecheck::analyzer
