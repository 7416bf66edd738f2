// modules.cpp: the dtype of modules' parameters.
#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

bool is_list(const CXXRecordDecl* record) {
  const llvm::StringRef name = record->getIdentifier() == nullptr ? "" : record->getName();
  return is_torchs_own(record) && (name == "ModuleListImpl" || name == "SequentialImpl");
}

// layers[0], which is known by its list: what casts it makes the others unknown.
bool names_element(const Expr* module) {
  bool found = false;
  for_each_expr(module, [&](const Expr* one) {
    const auto* op = dyn_cast<CXXOperatorCallExpr>(one);
    const auto* name = dyn_cast<DeclRefExpr>(one);
    const auto* variable = name == nullptr ? nullptr : dyn_cast<VarDecl>(name->getDecl());
    const bool has_value = variable != nullptr && variable->isLocalVarDecl() &&
                           variable->hasInit() && is_module_or_holder(variable->getType());
    found = found || (op != nullptr && op->getOperator() == OO_Subscript) ||
            (has_value && names_element(variable->getInit()));
  });
  return found;
}

// Nothing is in it yet.
bool is_empty_holder(const Expr* expr) {
  const auto* made = dyn_cast<CXXConstructExpr>(expr->IgnoreImplicit());
  return made != nullptr && made->getNumArgs() > 0 &&
         stripped(made->getArg(0))->getType()->isNullPtrType();
}

}  // namespace

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

void ModuleDtypes::cast(const Key& module, int symbol) {
  DtypeState& state = dtypes_.state;
  for (const auto& [key, held] : state.fields_of(module)) {
    if (DtypeState::is_element(key.back())) continue;
    const auto* field = static_cast<const FieldDecl*>(static_cast<const Decl*>(key.back()));
    if (!is_tensor(field->getType()) || !state.dtypes(held).intersects(kFloating | kComplex) ||
        dtypes_.registered(field) == Dtypes::Registered::kNot)
      continue;
    const bool is_known = symbol >= 0 && state.dtypes(held).within(kFloating);
    state.bind(key, is_known ? symbol : dtypes_.make(TensorSource::kMember, kAnyDtype));
  }
  state.cast_module(module, symbol);
}

void ModuleDtypes::call(const CallExpr* call) {
  add(call);
  cast(call);
}

// net->to(torch::kHalf)
void ModuleDtypes::cast(const CallExpr* call) {
  const auto member = member_call(call);
  if (!member || member->name != "to" || !is_module(member->base->getType())) return;
  Key key;
  const int symbol = dtypes_.options_among(call, 0);
  if (symbol < 0 || !dtypes_.module_key(member->base, key)) return;
  if (names_element(member->base)) return cast(key, -1);
  const int own = dtypes_.make(TensorSource::kMade, dtypes_.state.dtypes(symbol));
  dtypes_.set_place(own, place_of(at_.context, call->getExprLoc()));
  cast(key, own);
}

// An object that a function takes by reference or pointer, and may change.
static bool may_be_written(const FunctionDecl* callee, unsigned argument, bool has_object) {
  const unsigned at =
      has_object && isa_and_nonnull<CXXMethodDecl>(callee) ? argument - 1 : argument;
  if (callee == nullptr || at >= callee->getNumParams()) return true;
  const QualType type = callee->getParamDecl(at)->getType();
  return (type->isReferenceType() || type->isPointerType()) &&
         !type->getPointeeType().isConstQualified();
}

// torch::load(net, path), cast_all(net): whatever is given a module and is not seen may cast it,
// but for what LibTorch has to register, save and show it.
void ModuleDtypes::cast_by_unseen(const CallExpr* call) {
  const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
  const auto member = member_call(call);
  const llvm::StringRef name = callee != nullptr ? name_of(callee->getDeclName())
                               : member          ? member->name
                                                 : "";
  const bool is_of_library = callee != nullptr &&
                             (is_libtorchs(callee) || callee->isInStdNamespace()) &&
                             name != "load" && name != "apply";
  if (is_of_library) return;
  // What was saved of a module in Float is Float again, and what other files do with it they say.
  const auto given = [&](const Key& key) {
    const int known = dtypes_.state.module_at(key);
    const bool is_float = known >= 0 && dtypes_.state.dtypes(known) == DtypeSet(Dtype::kFloat);
    cast(key, is_float ? dtypes_.state.entry_module() : -1);
  };
  const bool has_object = isa<CXXOperatorCallExpr>(call);
  for (unsigned i = has_object ? 1 : 0; i < call->getNumArgs(); ++i) {
    const Expr* argument = stripped(call->getArg(i));
    Key key;
    if (is_module_or_holder(argument->getType()) && dtypes_.module_key(argument, key))
      given(key);
    else if ((callee == nullptr || at_.is_ours(callee->getLocation())) &&
             may_be_written(callee, i, has_object) && dtypes_.object_key(argument, key))
      dtypes_.state.forget_object(key, true);
  }
  // net.cast_all(), memory.add(x), whose body is elsewhere.
  Key key;
  const auto* method = dyn_cast_or_null<CXXMethodDecl>(callee);
  if (member && method != nullptr && at_.is_ours(method->getLocation()) && !method->isConst() &&
      !method->isStatic() && !is_module(member->base->getType()) &&
      !isa<CXXThisExpr>(stripped(member->base)) && dtypes_.module_key(member->base, key))
    dtypes_.state.forget_object(key, true);
  if (member && is_module(member->base->getType()) && callee != nullptr &&
      name_of(callee->getDeclName()) != "forward" && dtypes_.module_key(member->base, key) &&
      !isa<CXXThisExpr>(stripped(member->base)))
    given(key);
}

// A constructor of it, or of what it is made from, casts.
bool ModuleDtypes::casts_itself(const CXXRecordDecl* record) {
  if (record == nullptr || !record->hasDefinition() || is_torchs_own(record)) return false;
  const auto [known, is_new] = casts_itself_.try_emplace(record, false);
  if (!is_new) return known->second;
  bool casts = false;
  for (const CXXConstructorDecl* made : record->ctors()) {
    const FunctionDecl* body = made->getDefinition();
    if (body == nullptr || !body->hasBody()) continue;
    for_each_expr(body->getBody(), [&](const Expr* one) {
      const auto member = member_call(one);
      casts = casts || (member && member->name == "to" && is_module(member->base->getType()) &&
                        dtypes_.names_dtype(member->call));
    });
  }
  for (const FieldDecl* field : record->fields())
    casts = casts || casts_itself(held_module(field->getType()));
  for (const CXXBaseSpecifier& base : record->bases())
    casts = casts || casts_itself(base.getType()->getAsCXXRecordDecl());
  return casts_itself_[record] = casts;
}

// Linear(register_module(…)), which gives a pointer in LibTorch's own headers: what is in the
// holder.
static const Expr* without_holders(const Expr* expr) {
  const CXXRecordDecl* record = held_module(expr->getType());
  for (expr = expr->IgnoreImplicit();;) {
    if (const auto* cast = dyn_cast<CXXFunctionalCastExpr>(expr)) {
      expr = cast->getSubExpr()->IgnoreImplicit();
      continue;
    }
    const auto* made = dyn_cast<CXXConstructExpr>(expr);
    const bool passes = made != nullptr && made->getNumArgs() == 1 &&
                        is_module_or_holder(made->getArg(0)->getType()) &&
                        held_module(made->getArg(0)->getType()) == record;
    if (!passes) return expr;
    expr = made->getArg(0)->IgnoreImplicit();
  }
}

// The dtype of what an expression makes, whose parameters are Float until it is cast. -1: not
// known, or it makes no module.
int ModuleDtypes::module_of(const Expr* expr) {
  const CXXRecordDecl* record = held_module(expr->getType());
  if (record == nullptr) return -1;
  Key key;
  if (dtypes_.names_module(expr, key)) return dtypes_.state.module_at(key);
  if (const auto* call = dyn_cast<CallExpr>(made_or_named(without_holders(expr)))) {
    if (const Expr* module = registered_module(call)) return module_of(module);
  }
  expr = without_holders(expr);
  if (dtypes_.names_module(expr, key)) return dtypes_.state.module_at(key);
  if (const auto* call = dyn_cast<CallExpr>(expr)) {
    if (!dtypes_.state.is_of_whole({call})) return dtypes_.state.module_at({call});
    const llvm::StringRef name = called_name(call);
    if (name != "make_shared" && name != "make_unique")
      return is_jit(record) ? -1 : dtypes_.state.entry_module();
  } else if (!isa<CXXConstructExpr>(expr) && !isa<CXXNewExpr>(expr) && !isa<InitListExpr>(expr)) {
    return is_jit(record) ? -1 : dtypes_.state.entry_module();  // dynamic_cast<Net*>(…)
  } else if (is_empty_holder(expr)) {
    return -1;
  }
  const DtypeSet dtype = dtypes_.default_dtype();
  if (dtype.empty() || is_jit(record) || casts_itself(record)) return -1;
  return dtypes_.make(TensorSource::kMade, dtype);
}

// Sequential all(*block): a list of one, and no other name of it.
static bool is_list_of(const VarDecl* variable, const Expr* value) {
  const CXXRecordDecl* record = held_module(variable->getType());
  return record != nullptr && record->getIdentifier() != nullptr &&
         record->getName() == "SequentialImpl" && held_module(value->getType()) != record;
}

// Net net; auto net = std::make_shared<Net>(); Net& same = *net;
void ModuleDtypes::make(const VarDecl* variable) {
  const QualType type = variable->getType();
  if (variable->getInit() == nullptr || !is_module_or_holder(type)) return;
  Key from;
  const bool is_other_name = type->isReferenceType() || !is_module(type) || type->isPointerType();
  const Expr* value = stripped(variable->getInit());
  const bool is_of_variable = !is_list_of(variable, value) && dtypes_.names_module(value, from);
  dtypes_.set_alias(variable, is_of_variable && is_other_name ? from : Key());
  const Key key = {variable->getCanonicalDecl()};
  if (is_of_variable)
    dtypes_.state.copy_module(from, key);
  else
    set(key, variable->getInit());
}

void ModuleDtypes::set(const Key& module, const Expr* value) {
  Key from;
  const Expr* given = without_holders(value);
  if (const Expr* named = registered_module(dyn_cast<CallExpr>(made_or_named(given))))
    return set(module, named);
  if (dtypes_.names_module(value, from)) return dtypes_.state.copy_module(from, module);
  if (const auto* call = dyn_cast<CallExpr>(made_or_named(value));
      call != nullptr && !dtypes_.state.is_of_whole({call}))
    return dtypes_.state.copy_module({call}, module);
  const auto making = making_of(value);
  if (making && making->given.empty() && is_list(making->record))
    return dtypes_.state.empty_list(module);
  dtypes_.state.cast_module(module, module_of(value));
  dtypes_.set_class(module, nullptr);
  if (!making || is_torchs_own(making->record) || is_jit(making->record)) return;
  const bool casts = casts_itself(making->record);
  const DtypeSet dtype = dtypes_.default_dtype();
  if (casts && !dtype.empty())
    dtypes_.state.cast_module(module, dtypes_.make(TensorSource::kMade, dtype));
  if (!walk_.construct(module, value) && casts) dtypes_.state.cast_module(module, -1);
}

// layers->push_back(layer): a list of modules has the dtype of all that are in it.
void ModuleDtypes::add(const CallExpr* call) {
  const auto member = member_call(call);
  Key list;
  if (!member || member->name != "push_back" || call->getNumArgs() == 0 ||
      !is_module_or_holder(member->base->getType()) || !dtypes_.module_key(member->base, list))
    return;
  const Expr* value = call->getArg(call->getNumArgs() - 1);
  if (!is_module_or_holder(value->getType())) return;
  const Key added = {call};
  set(added, value);
  DtypeState& state = dtypes_.state;
  const int before = state.module_at(list), after = state.module_at(added);
  if (state.is_of_whole(list)) return state.copy_module(added, list);
  const bool agrees = before >= 0 && after >= 0 && state.dtypes(before) == state.dtypes(after) &&
                      !state.has_cast_part(added);
  if (!agrees) state.cast_module(list, -1);
}

void ModuleDtypes::bind(const ParmVarDecl* parameter, const Expr* argument) {
  if (!is_module_or_holder(parameter->getType())) return;
  Key key;
  const bool is_known = dtypes_.names_module(argument, key);
  // In a function of another object *this is that one.
  const bool is_of_this = is_known && key.front() == nullptr;
  dtypes_.set_alias(parameter, is_known && !is_of_this ? key : Key());
  if (!is_known || is_of_this)
    dtypes_.state.cast_module({parameter}, is_of_this ? -1 : module_of(argument));
}

}  // namespace dtypecheck::analyzer
