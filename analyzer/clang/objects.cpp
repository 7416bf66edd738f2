// objects.cpp: the part of the walk that makes objects: a constructor is walked through in the
// state of what makes the object, and its fields hold what it says.
#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// The one constructor that so many arguments fit. Null: there are several, or none.
const CXXConstructorDecl* constructor_for(const CXXRecordDecl* record, size_t arguments) {
  const CXXConstructorDecl* found = nullptr;
  for (const CXXConstructorDecl* one : record->ctors()) {
    const bool fits = !one->isCopyOrMoveConstructor() && !one->isDeleted() &&
                      one->getMinRequiredArguments() <= arguments &&
                      arguments <= one->getNumParams();
    if (!fits) continue;
    if (found != nullptr) return nullptr;
    found = one;
  }
  return found;
}

bool is_or_derives(const CXXRecordDecl* record, const CXXRecordDecl* base) {
  return record == base || (record != nullptr && record->hasDefinition() && base->hasDefinition() &&
                            record->isDerivedFrom(base));
}

}  // namespace

std::optional<Making> making_of(const Expr* expr) {
  expr = made_or_named(expr);
  if (const auto* one = dyn_cast<CXXNewExpr>(expr))
    return one->getConstructExpr() == nullptr ? std::nullopt : making_of(one->getConstructExpr());
  if (const auto* call = dyn_cast<CallExpr>(expr)) {
    if (const Expr* module = registered_module(call)) return making_of(module);
    const CXXRecordDecl* record = held_object(call->getType());
    const llvm::StringRef name = called_name(call);
    if (record == nullptr || (name != "make_shared" && name != "make_unique")) return std::nullopt;
    const llvm::ArrayRef<const Expr*> given(call->getArgs(), call->getNumArgs());
    if (given.size() == 1 && held_object(given[0]->getType()) == record) return making_of(given[0]);
    return Making{record, constructor_for(record, given.size()), given};
  }
  const auto* made = dyn_cast<CXXConstructExpr>(expr);
  if (made == nullptr) return std::nullopt;
  const llvm::ArrayRef<const Expr*> given(made->getArgs(), made->getNumArgs());
  const CXXRecordDecl* record = made->getConstructor()->getParent();
  const CXXRecordDecl* held = held_object(made->getType());
  if (held == nullptr || held == record) return Making{record, made->getConstructor(), given};
  if (given.size() == 1 && stripped(given[0])->getType()->isNullPtrType()) return std::nullopt;
  if (given.size() == 1 && is_or_derives(held_object(given[0]->getType()), held))
    return making_of(given[0]);
  return Making{held, constructor_for(held, given.size()), given};
}

// What a constructor says of its own fields, in the order in which they are initialized.
void Walk::initialize_object(const CXXConstructorDecl* constructor) {
  std::map<const FieldDecl*, const Expr*> written;
  for (const CXXCtorInitializer* init : constructor->inits()) {
    if (!init->isWritten()) continue;
    if (init->isAnyMemberInitializer())
      written[init->getAnyMember()] = init->getInit();
    else
      expr(init->getInit());
  }
  for (const FieldDecl* field : constructor->getParent()->fields()) {
    const auto at = written.find(field);
    const Expr* value = at != written.end() ? at->second : field->getInClassInitializer();
    if (value == nullptr) continue;
    expr(value);
    initialize_field({nullptr, field}, field->getType(), value);
  }
}

void Walk::initialize_field(const Key& key, QualType type, const Expr* value) {
  Key from;
  if (is_module_or_holder(type)) {
    modules_.set(key, value);
  } else if (may_hold_tensor(type)) {
    const int symbol = dtypes_.tensor(value);
    if (is_no_tensor(value)) dtypes_.state.set_absent(symbol);
    dtypes_.state.bind(key, symbol);
  } else if (holds_dtype(type)) {
    const int symbol = dtypes_.dtype(value);
    dtypes_.state.bind(key, symbol >= 0 ? symbol : dtypes_.make(TensorSource::kOther, kAnyDtype));
  } else if (dtypes_.bind_tuple(key, type, value)) {
    return;
  } else if (const CXXRecordDecl* record = held_object(type);
             record != nullptr && at_.is_ours(record->getLocation())) {
    dtypes_.state.forget_object(key);
    if (const auto* list = dyn_cast<InitListExpr>(stripped(value)))
      initialize_listed(key, list);
    else if (construct(key, value))
      return;
    else if (const auto* call = dyn_cast<CallExpr>(made_or_named(value)))
      dtypes_.state.copy_fields({call}, key);
    else if (dtypes_.module_key(made_or_named(value), from))
      dtypes_.state.copy_fields(from, key);
  }
}

// Model& same = model; a parameter that is given one: what is written to it is written to that.
void Walk::name_object(const VarDecl* name, const Expr* value) {
  const QualType type = name->getType();
  const CXXRecordDecl* object = held_object(type);
  if (object == nullptr || is_module_or_holder(type) || !at_.is_ours(object->getLocation())) return;
  const bool is_other_name =
      type->isReferenceType() || type->isPointerType() || type->getAsCXXRecordDecl() != object;
  Key key;
  // In a function of another object *this is that one.
  const bool is_known = is_other_name && dtypes_.module_key(made_or_named(value), key) &&
                        key.front() != nullptr && !making_of(value);
  dtypes_.set_alias(name, is_known ? key : Key());
}

// View view{8, 8, torch::eye(4)};
void Walk::initialize_listed(const Key& object, const InitListExpr* list) {
  const CXXRecordDecl* record = list->getType()->getAsCXXRecordDecl();
  if (record == nullptr || record->getNumBases() > 0 || !record->isAggregate()) return;
  unsigned i = 0;
  for (const FieldDecl* field : record->fields()) {
    if (i >= list->getNumInits()) return;
    const Expr* value = list->getInit(i++);
    if (const auto* left_out = dyn_cast<CXXDefaultInitExpr>(value)) value = left_out->getExpr();
    Key key = object;
    key.push_back(field);
    initialize_field(key, field->getType(), value);
  }
}

// False: the constructor, if there is one, is not seen.
bool Walk::construct(const Key& object, const Expr* value) {
  const auto making = making_of(value);
  if (making) dtypes_.set_class(object, making->record);
  if (!making || making->constructor == nullptr) return false;
  const auto* body = dyn_cast_or_null<CXXConstructorDecl>(making->constructor->getDefinition());
  const CXXConstructorDecl* constructor = body != nullptr ? body : making->constructor;
  const bool is_seen = body != nullptr ? body->hasBody() : !constructor->isUserProvided();
  if (!is_seen) at_.notify(&Watcher::want_body, constructor);
  if (!is_seen || !at_.is_ours(making->record->getLocation()) || at_.is_too_deep(constructor))
    return false;
  for (unsigned i = 0; i < constructor->getNumParams(); ++i) {
    const ParmVarDecl* parameter = constructor->getParamDecl(i);
    const Expr* given = i < making->given.size() ? making->given[i] : parameter->getDefaultArg();
    if (given != nullptr) bind_parameter(parameter, given);
  }
  inside(constructor, {place_of(context_, value->getBeginLoc()), nullptr, 0}, &object, [&] {
    initialize_object(constructor);
    if (body != nullptr) run_body(body->getBody(), nullptr);
  });
  return true;
}

}  // namespace dtypecheck::analyzer
