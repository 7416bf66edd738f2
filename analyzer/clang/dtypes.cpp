#include "analyzer/clang/dtypes.h"

#include <llvm/ADT/StringSet.h>

#include <algorithm>
#include <cmath>

#include "analyzer/clang/fields.h"
#include "analyzer/clang/functions.h"
#include "analyzer/clang/visitor.h"
#include "analyzer/op_answers.h"
#include "ops/arguments.h"
#include "ops/ops.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

constexpr size_t kMaxName = 48;
constexpr int kMaxGlobals = 3;  // of which each is made of the next

// These give back the tensor that they are called on, as far as its dtype goes: they belong to what
// C++ wraps around a tensor (optional, pointers), call no op, or one that changes the device only.
bool passes_tensor_on(llvm::StringRef name) {
  static const llvm::StringSet<> names = {"cpu",          "cuda",     "data",
                                          "get",          "to_dense", "tensor_data",
                                          "value",        "value_or", "set_requires_grad",
                                          "variable_data"};
  return names.contains(name);
}

uint64_t op_facts(llvm::StringRef name) { return ops::facts_of({name.data(), name.size()}); }

// torch::tensor and torch::from_blob are functions of the C++ interface, not ops, so ops/ does not
// know them.
bool is_factory(llvm::StringRef name) {
  return (op_facts(name) & ops::kFactory) != 0 || name == "tensor" || name == "from_blob";
}

// Without options these make tensors of the default dtype, and torch::tensor, torch::full or
// torch::arange take that of the values they are given.
bool defaults_to_float(llvm::StringRef name) {
  return (op_facts(name) & ops::kDefaultDtype) != 0 || name == "from_blob";
}

bool writes_in_place(OverloadedOperatorKind kind) {
  return kind == OO_PlusEqual || kind == OO_MinusEqual || kind == OO_StarEqual ||
         kind == OO_SlashEqual;
}

// The first op that ops/python_names.inc has for the sign: C++ has the same signs, but << prints;
// and += calls add_.
std::string op_of_operator(const CXXOperatorCallExpr* call) {
  const OverloadedOperatorKind kind = call->getOperator();
  if (call->getNumArgs() != 2)
    return kind == OO_Minus ? "neg" : kind == OO_Exclaim ? "logical_not" : "";
  if (kind == OO_LessLess || kind == OO_GreaterGreater) return "";
  llvm::StringRef written = getOperatorSpelling(kind);
  const bool in_place = writes_in_place(kind) && written.consume_back("=");
#define PYTHON_NAME(op, name)
#define SIGN(sign, op) \
  if (written == (sign)) return in_place ? #op "_" : #op;
#define DIMENSION_FIRST(op)
#define FIRST_ONLY(op)
#include "ops/python_names.inc"
#undef PYTHON_NAME
#undef SIGN
#undef DIMENSION_FIRST
#undef FIRST_ONLY
  return "";
}

// What the file assigns to, or hands out where it may be assigned to.
class Assigned : public Visitor {
 public:
  Assigned(const ASTContext& context, std::set<const Decl*>& found)
      : Visitor(context), found_(found) {}
  bool VisitCallExpr(CallExpr* call) override {
    const auto* op = dyn_cast<CXXOperatorCallExpr>(call);
    if (op != nullptr && op->getOperator() == OO_Equal) return add(op->getArg(0));
    if (op != nullptr) return true;
    for (const Expr* argument : call->arguments()) add(argument->isLValue() ? argument : nullptr);
    return true;
  }

 private:
  bool add(const Expr* expr) {
    const auto* name = expr == nullptr ? nullptr : dyn_cast<DeclRefExpr>(expr->IgnoreParens());
    if (name != nullptr) found_.insert(name->getDecl()->getCanonicalDecl());
    return true;
  }
  std::set<const Decl*>& found_;
};

// The 1 of std::get<1>(…).
std::optional<size_t> index_of_get(const CallExpr* call) {
  const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
  const TemplateArgumentList* arguments =
      callee == nullptr ? nullptr : callee->getTemplateSpecializationArgs();
  const bool is_index = called_name(call) == "get" && call->getNumArgs() == 1 &&
                        arguments != nullptr && arguments->size() > 0 &&
                        arguments->get(0).getKind() == TemplateArgument::Integral;
  if (!is_index) return std::nullopt;
  return static_cast<size_t>(arguments->get(0).getAsIntegral().getZExtValue());
}

bool is_device(QualType type) {
  type = type.getNonReferenceType();
  if (const auto* device = type->getAs<EnumType>()) {
    return device->getDecl()->getName() == "DeviceType";
  }
  const CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return type->isBooleanType() ||
         (record != nullptr && record->getIdentifier() != nullptr && record->getName() == "Device");
}

// torch::kCUDA, x.device(), torch::device(…), TensorOptions().device(…): options that leave the
// dtype as it would be without them.
bool names_no_dtype(const Expr* expr) {
  expr = stripped(expr);
  if (is_device(expr->getType())) return true;
  if (const auto* made = dyn_cast<CXXConstructExpr>(expr)) return made->getNumArgs() == 0;
  const auto* call = dyn_cast<CallExpr>(expr);
  if (call == nullptr) return false;
  const auto member = member_call(call);
  const llvm::StringRef name = member ? member->name : called_name(call);
  const bool is_other = name == "device" || name == "layout" || name == "requires_grad" ||
                        name == "pinned_memory" || name == "memory_format";
  return is_other && (!member || names_no_dtype(member->base));
}

}  // namespace

int Dtypes::make(TensorSource source, DtypeSet dtypes, std::string name) {
  made_.push_back({source, std::move(name)});
  const int symbol = static_cast<int>(made_.size()) - 1;
  state.add(symbol, dtypes);
  return symbol;
}

int Dtypes::like(int symbol) {
  const int made = make(TensorSource::kMade, kAnyDtype);
  state.unify(symbol, made);
  return made;
}

std::string Dtypes::text(const Expr* expr) const {
  const std::string text = text_of(expr, context_);
  return text.size() > kMaxName ? text.substr(0, kMaxName - 3) + "..." : text;
}

// An object that is reached through -> or * of a pointer or a holder is known by the variable that
// holds the pointer; a module of a list by the list.
static const Expr* pointer_variable(const Expr* expr, bool is_module) {
  for (expr = stripped(expr);;) {
    const auto* op = dyn_cast<CXXOperatorCallExpr>(expr);
    const bool passes =
        op != nullptr && (op->getOperator() == OO_Arrow || op->getOperator() == OO_Star ||
                          (is_module && op->getOperator() == OO_Subscript));
    if (const auto* unary = dyn_cast<UnaryOperator>(expr);
        unary != nullptr && (unary->getOpcode() == UO_Deref || unary->getOpcode() == UO_AddrOf)) {
      expr = stripped(unary->getSubExpr());
      continue;
    }
    if (const auto got = member_call(expr);
        got && got->call->getNumArgs() == 0 &&
        (got->name == "get" || got->name == "ptr" ||
         (is_module && (got->name == "as" || got->name == "back")))) {
      expr = stripped(got->base);
      continue;
    }
    if (!passes) return expr;
    expr = stripped(op->getArg(0));
  }
}

// The variable or field that an expression names.
bool Dtypes::key_of(const Expr* expr, Key& key, TensorSource& source) const {
  if (const auto* reference = dyn_cast<DeclRefExpr>(expr)) {
    const auto alias = aliases_.find(reference->getDecl());
    key = {reference->getDecl()->getCanonicalDecl()};
    if (isa<ParmVarDecl>(reference->getDecl())) key = {reference->getDecl()};
    if (alias != aliases_.end()) key = alias->second;
    source =
        isa<ParmVarDecl>(reference->getDecl()) ? TensorSource::kParameter : TensorSource::kOther;
    return true;
  }
  if (isa<CXXThisExpr>(expr)) {
    key = {nullptr};
    source = TensorSource::kMember;
    return true;
  }
  const auto* member = dyn_cast<MemberExpr>(expr);
  if (member == nullptr || !isa<FieldDecl>(member->getMemberDecl())) return false;
  if (!key_of(pointer_variable(member->getBase(), false), key, source)) return false;
  key.push_back(member->getMemberDecl());
  return true;
}

int Dtypes::variable(const Expr* expr) {
  Key key;
  TensorSource source;
  if (!key_of(expr, key, source)) return layer_parameter(expr);
  const int known = state.symbol_at(key);
  if (known >= 0) return known;
  if (const int parameter = layer_parameter(expr); parameter >= 0) return parameter;
  if (const int global = global_tensor(expr, key); global >= 0) return global;
  const int symbol = make(source, kAnyDtype, text(expr));
  if (const auto* member = dyn_cast<MemberExpr>(expr)) return field_at_entry(member, key, symbol);
  state.bind(key, symbol);
  return symbol;
}

// pos = register_parameter("pos", torch::randn({64})) in a constructor, or w = torch::ones({64});
// register_parameter("w", w): of the module's dtype, where nothing names another.
Dtypes::Registered Dtypes::registered(const FieldDecl* field) const {
  const auto [known, is_new] = registered_.try_emplace(field, Registered::kNot);
  const auto* record = dyn_cast<CXXRecordDecl>(field->getParent());
  if (!is_new || record == nullptr) return known->second;
  bool is_parameter = false, is_buffer = false, names_dtype = false;
  const auto is_field = [&](const Expr* one) {
    const auto* member = dyn_cast<MemberExpr>(stripped(one));
    return member != nullptr && member->getMemberDecl() == field;
  };
  const auto look_at_call = [&](const Expr* one) {
    const auto member = member_call(one);
    is_parameter = is_parameter || (member && member->name == "register_parameter");
    is_buffer = is_buffer || (member && member->name == "register_buffer");
  };
  const auto look_at_value = [&](const Expr* value) {
    look_at_call(stripped(value));
    for_each_expr(value, [&](const Expr* one) {
      const bool is_named =
          (isa<DeclRefExpr>(one) || isa<MemberExpr>(one)) && holds_dtype(one->getType());
      names_dtype = names_dtype || is_named || dtype_constant(one, context_);
    });
  };
  for (const CXXConstructorDecl* made : record->ctors()) {
    const auto* body = dyn_cast_or_null<CXXConstructorDecl>(made->getDefinition());
    if (body == nullptr) continue;
    for (const CXXCtorInitializer* init : body->inits()) {
      if (init->getAnyMember() == field) look_at_value(init->getInit());
    }
    for_each_expr(body->getBody(), [&](const Expr* one) {
      const auto* call = dyn_cast<CallExpr>(one);
      const auto* set = dyn_cast<CXXOperatorCallExpr>(one);
      const bool is_set = set != nullptr && set->getOperator() == OO_Equal &&
                          set->getNumArgs() == 2 && is_field(set->getArg(0));
      if (is_set) look_at_value(set->getArg(1));
      if (call != nullptr && call->getNumArgs() > 1 && is_field(call->getArg(1)))
        look_at_call(call);
    });
  }
  const bool is_of_module = is_parameter && !is_buffer && !names_dtype;
  return registered_[field] = is_of_module                ? Registered::kAsModule
                              : is_parameter || is_buffer ? Registered::kOther
                                                          : Registered::kNot;
}

// fc->weight: of the layer's dtype.
int Dtypes::layer_parameter(const Expr* expr) const {
  const auto* member = dyn_cast<MemberExpr>(expr);
  if (member == nullptr || !is_tensor(member->getType())) return -1;
  const auto* field = dyn_cast<FieldDecl>(member->getMemberDecl());
  if (field != nullptr && registered(field) == Registered::kAsModule)
    return module(member->getBase());
  const llvm::StringRef name = name_of(member->getMemberDecl()->getDeclName());
  const CXXRecordDecl* layer = held_module(member->getBase()->getType());
  const bool is_parameter = name.starts_with("weight") || name.starts_with("bias");
  const bool is_torchs = layer != nullptr && is_torchs_own(layer);
  return is_parameter && is_torchs ? module(member->getBase()) : -1;
}

// const torch::Tensor mean = torch::zeros(3): what nothing can assign to another function.
int Dtypes::global_tensor(const Expr* expr, const Key& key) {
  const auto* name = dyn_cast<DeclRefExpr>(expr);
  const auto* global = name == nullptr ? nullptr : dyn_cast<VarDecl>(name->getDecl());
  const Depth deeper(*this);
  if (global == nullptr || !global->hasGlobalStorage() || !global->hasInit() ||
      deeper.is_beyond(kMaxGlobals) || is_assigned(global))
    return -1;
  const bool is_dtype = holds_dtype(global->getType());
  if (!is_dtype && !is_tensor(global->getType())) return -1;
  const int symbol = is_dtype ? dtype(global->getInit()) : tensor_of(global->getInit());
  if (symbol >= 0) state.bind(key, symbol);
  return symbol;
}

bool Dtypes::is_assigned(const VarDecl* global) {
  if (global->getType().isConstQualified()) return false;
  if (!in_main_file(context_, global->getLocation())) return true;
  if (!assigned_) {
    assigned_.emplace();
    Assigned(context_, *assigned_).walk();
  }
  return assigned_->contains(global->getCanonicalDecl());
}

int Dtypes::field_at_entry(const MemberExpr* expr, const Key& key, int symbol) {
  const auto* field = cast<FieldDecl>(expr->getMemberDecl());
  const auto [name, is_new] = field_names_.try_emplace(field);
  if (is_new) name->second = field_name(field, context_);
  if (!name->second.empty()) field_symbols_.emplace_back(symbol, name->second);
  state.bind_entry(key, symbol);
  return symbol;
}

void Dtypes::assign(const Expr* to, int symbol) {
  Key key;
  TensorSource source;
  const auto* member = dyn_cast<MemberExpr>(stripped(to));
  const auto* field = member == nullptr ? nullptr : dyn_cast<FieldDecl>(member->getMemberDecl());
  if (field != nullptr && registered(field) == Registered::kAsModule) return;
  const int parameter = layer_parameter(stripped(to));
  if (parameter >= 0 && state.dtypes(parameter) == state.dtypes(symbol)) return;
  // What one parameter of a layer is, the others have to be.
  const auto dtype = state.dtypes(symbol).single();
  if (parameter >= 0 && module_key(cast<MemberExpr>(stripped(to))->getBase(), key))
    state.cast_module(key, dtype && kFloating.contains(*dtype) ? symbol : -1);
  else if (key_of(stripped(to), key, source))
    state.bind(key, symbol);
}

// A field that no source names, so that it goes where the object's fields do.
static Key class_key(Key object) {
  constexpr size_t kClass = 62;  // behind the elements of any tuple
  object.push_back(DtypeState::element(kClass));
  return object;
}

void Dtypes::set_class(const Key& object, const CXXRecordDecl* record) {
  const Key key = class_key(object);
  state.forget_object(key);
  if (record == nullptr || !record->hasDefinition() || !record->isPolymorphic()) return;
  const int symbol = make(TensorSource::kOther, kAnyDtype);
  classes_[symbol] = record;
  state.bind(key, symbol);
}

const CXXRecordDecl* Dtypes::class_of(const Key& object) const {
  const int symbol = state.symbol_at(class_key(object));
  return symbol < 0 || state.is_mixed(symbol) ? nullptr : classes_.at(symbol);
}

bool Dtypes::names_module(const Expr* value, Key& key) const {
  return is_module_or_holder(stripped(value)->getType()) && module_key(value, key);
}

bool Dtypes::module_key(const Expr* expr, Key& key) const {
  expr = pointer_variable(expr,
                          is_module_or_holder(expr->getType()) || is_any_module(expr->getType()));
  TensorSource source;
  const auto* member = dyn_cast<MemberExpr>(expr);
  if (member == nullptr || !isa<FieldDecl>(member->getMemberDecl()))
    return key_of(expr, key, source);
  if (!module_key(member->getBase(), key)) return false;
  key.push_back(member->getMemberDecl());
  return true;
}

int Dtypes::module(const Expr* expr) const {
  Key key;
  const int symbol = module_key(expr, key) ? state.module_at(key) : -1;
  return symbol == state.entry_module() && is_jit(held_module(expr->getType())) ? -1 : symbol;
}

int Dtypes::tensor(const Expr* expr) {
  const int symbol = tensor_of(expr);
  return symbol >= 0 ? symbol : make(TensorSource::kOther, kAnyDtype);
}

int Dtypes::tensor_of(const Expr* expr) {
  expr = stripped(expr);
  const int named = variable(expr);
  if (named >= 0) return named;
  if (const auto* deref = dyn_cast<UnaryOperator>(expr)) {
    const bool passes = deref->getOpcode() == UO_Deref || deref->getOpcode() == UO_AddrOf;
    return passes ? tensor_of(deref->getSubExpr()) : -1;
  }
  if (const auto* element = dyn_cast<ArraySubscriptExpr>(expr))
    return tensor_of(element->getBase());
  if (const auto* choice = dyn_cast<ConditionalOperator>(expr)) {
    // b.has_value() ? *b : at::Tensor()
    if (is_no_tensor(choice->getTrueExpr())) return tensor_of(choice->getFalseExpr());
    if (is_no_tensor(choice->getFalseExpr())) return tensor_of(choice->getTrueExpr());
    const int yes = tensor_of(choice->getTrueExpr()), no = tensor_of(choice->getFalseExpr());
    return one_of({{&state, yes}, {&state, no}});
  }
  const auto* call = dyn_cast<CallExpr>(expr);
  if (call == nullptr) return -1;
  const auto result = results_.find(call);
  if (result != results_.end() && state.knows(result->second)) return result->second;
  const size_t before = made_.size();
  const int symbol = tensor_of_call(call);
  if (symbol >= 0 && static_cast<size_t>(symbol) >= before && made_[symbol].place.line == 0)
    made_[symbol].place = place_of(context_, call->getExprLoc());
  return symbol;
}

int Dtypes::tensor_of_call(const CallExpr* call) {
  if (const auto* op = dyn_cast<CXXOperatorCallExpr>(call)) {
    const OverloadedOperatorKind kind = op->getOperator();
    const bool is_dereference = kind == OO_Star && op->getNumArgs() == 1;
    const bool passes = is_dereference || kind == OO_Arrow || kind == OO_Subscript;
    if (passes || writes_in_place(kind)) return tensor_of(op->getArg(0));
    return is_tensor(op->getType()) ? op_result(op) : -1;
  }
  if (const auto member = member_call(call)) return method_result(*member);
  return function_result(call);
}

int Dtypes::options_among(const CallExpr* call, unsigned first) {
  for (unsigned i = first; i < call->getNumArgs(); ++i) {
    const Expr* argument = stripped(call->getArg(i));
    if (!holds_dtype(argument->getType()) && !holds_dtype(call->getArg(i)->getType())) continue;
    if (isa<CXXDefaultArgExpr>(call->getArg(i)) || names_no_dtype(argument)) continue;
    const int symbol = dtype(argument);
    if (symbol >= 0 && made_[symbol].names_none && !state.is_mixed(symbol)) continue;
    return symbol >= 0 ? symbol : make(TensorSource::kMade, kAnyDtype);
  }
  return -1;
}

bool Dtypes::names_dtype(const CallExpr* factory) { return options_among(factory, 0) >= 0; }

// x.to(dtype), x.to(options), x.to(other), x.to(device)
int Dtypes::cast_result(const MemberCall& call) {
  const int options = options_among(call.call, 0);
  if (options >= 0) {
    const int cast = like(options);
    made_[cast].cast_from = tensor(call.base);
    return cast;
  }
  for (unsigned i = 0; i < call.call->getNumArgs(); ++i) {
    const Expr* argument = call.call->getArg(i);
    if (isa<CXXDefaultArgExpr>(argument)) continue;
    if (is_tensor(argument->getType())) return like(tensor(argument));
    if (stripped(argument)->isTypeDependent()) return -1;
  }
  return tensor(call.base);
}

static bool is_index(QualType type) {
  const CXXRecordDecl* record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record != nullptr && record->getIdentifier() != nullptr &&
         record->getName() == "TensorIndex";
}

static const InitListExpr* list_of(const Expr* argument) {
  const Expr* bare = argument->IgnoreImplicit();
  for (int depth = 0; depth < 8; ++depth) {
    bare = bare->IgnoreImplicit();
    if (const auto* list = dyn_cast<InitListExpr>(bare)) return list;
    if (const auto* made = dyn_cast<CXXConstructExpr>(bare);
        made != nullptr && made->getNumArgs() > 0) {
      bare = made->getArg(0);
    } else if (const auto* elements = dyn_cast<CXXStdInitializerListExpr>(bare)) {
      bare = elements->getSubExpr();
    } else {
      return nullptr;
    }
  }
  return nullptr;
}

// states, torch::TensorList(states): a variable that holds a list of tensors. Null: it is none.
static const Expr* named_list(const Expr* expr) {
  for (expr = stripped(expr); is_tensor_list(expr->getType());) {
    if (isa<DeclRefExpr>(expr) || isa<MemberExpr>(expr)) return expr;
    const auto* cast = dyn_cast<CXXFunctionalCastExpr>(expr);
    const auto* made = dyn_cast<CXXConstructExpr>(expr);
    if (cast != nullptr)
      expr = stripped(cast->getSubExpr());
    else if (made != nullptr && made->getNumArgs() == 1)
      expr = stripped(made->getArg(0));
    else
      return nullptr;
  }
  return nullptr;
}

// std::vector<Tensor> all(n, x); all = {a, b}: of all that are in it. -1: not known, or not of one
// dtype.
int Dtypes::list(const Expr* made) {
  const Expr* bare = stripped(made);
  std::vector<Way> ways;
  const auto add = [&](const Expr* one) {
    if (is_tensor(one->getType()) || is_tensor(stripped(one)->getType()))
      ways.push_back({&state, tensor(one)});
  };
  if (const InitListExpr* list = list_of(made)) {
    for (const Expr* one : list->inits()) add(one);
  } else if (const auto* of = dyn_cast<CXXConstructExpr>(bare)) {
    for (const Expr* one : of->arguments()) add(one);
  }
  return ways.empty() ? -1 : one_of(ways);
}

SourceOperand Dtypes::operand(std::string name, std::string text, int symbol) const {
  return {.name = std::move(name),
          .text = std::move(text),
          .dtypes = state.dtypes(symbol),
          .made = origin(symbol),
          .is_assumed = is_assumed(symbol)};
}

bool Dtypes::is_assumed(int symbol) const {
  for (; symbol >= 0 && assumed_ >= 0; symbol = made_.at(symbol).from) {
    if (state.same(symbol, assumed_)) return true;
  }
  return false;
}

const Dtypes::Factory* Dtypes::factory_at(const Place& place) const {
  const auto found = factories_.find(place);
  return found == factories_.end() ? nullptr : &found->second;
}

int Dtypes::one_of(const std::vector<Way>& ways) {
  DtypeSet all;
  const int first = ways.front().symbol;
  for (const Way& way : ways) {
    if (way.symbol < 0 || !way.end->knows(way.symbol)) return -1;
    all |= way.end->dtypes(way.symbol);
  }
  if (llvm::all_of(ways, [&](const Way& way) { return way.symbol == first; })) return first;
  if (!all.single()) return -1;
  const int symbol = make(TensorSource::kOther, all);
  const auto assumed =
      std::ranges::find_if(ways, [&](const Way& way) { return is_assumed(way.symbol); });
  made_[symbol].from = assumed == ways.end() ? first : assumed->symbol;
  return symbol;
}

Place Dtypes::origin(int symbol) const {
  for (int from = made_.at(symbol).from; from >= 0; from = made_.at(symbol).from) symbol = from;
  return made_.at(symbol).place;
}

void Dtypes::add_operand(CalledOp& called, const std::string& name, const Expr* argument) {
  const Expr* bare = stripped(argument);
  const bool is_one = may_hold_tensor(bare->getType()) || is_tensor(argument->getType());
  const Expr* list_variable = is_one ? nullptr : named_list(bare);
  if (is_one || list_variable != nullptr) {
    const int symbol = tensor(is_one ? argument : list_variable);
    called.op.operands.push_back(operand(is_one ? name : name + "[0]", text(bare), symbol));
    called.symbols.push_back(symbol);
    return;
  }
  if (const InitListExpr* list = list_of(argument)) {
    unsigned i = 0;
    for (const Expr* element : list->inits()) {
      const bool is_one = may_hold_tensor(stripped(element)->getType());
      if (!is_one && is_index(element->getType())) continue;  // {"...", Slice(), index}
      if (!is_one && !is_tensor(element->getType())) return;
      add_operand(called, name + "[" + std::to_string(i++) + "]", element);
    }
    return;
  }
  // JSON has no infinity, which every dtype with a point holds.
  if (const auto number = number_of(argument, context_); number && std::isfinite(*number))
    called.op.scalars.emplace_back(name, *number);
}

// What the schema calls an argument: what the declaration says, or its position where that is one
// of a template's pack. Of a method the tensor itself is at position 0.
static std::string argument_name(const CallExpr* call, unsigned i, const std::string& op,
                                 bool is_method) {
  const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
  const std::string_view known = ops::argument_at(op, is_method ? i + 1 : i);
  if (!known.empty()) return std::string(known);
  const bool is_named = callee != nullptr && i < callee->getNumParams();
  return is_named ? callee->getParamDecl(i)->getNameAsString() : "";
}

// "ij,jk->ik" multiplies matrices, and "i,j->ij" numbers, which promotes.
static bool sums(const CallExpr* einsum) {
  const StringLiteral* equation = nullptr;
  for_each_expr(einsum->getNumArgs() == 0 ? nullptr : einsum->getArg(0), [&](const Expr* one) {
    if (const auto* text = dyn_cast<StringLiteral>(one)) equation = text;
  });
  if (equation == nullptr) return false;
  const auto [given, result] = equation->getString().split("->");
  return llvm::any_of(
      given, [&, answer = result](char c) { return llvm::isAlpha(c) && !answer.contains(c); });
}

static DtypeSet dtype_of_value(QualType type) {
  type = type.getNonReferenceType();
  if (type->isBooleanType()) return Dtype::kBool;
  if (type->isFloatingType()) return Dtype::kFloat;
  const bool is_wide = type->isSpecificBuiltinType(BuiltinType::Int) ||
                       type->isSpecificBuiltinType(BuiltinType::Long) ||
                       type->isSpecificBuiltinType(BuiltinType::LongLong);
  return is_wide ? DtypeSet(Dtype::kLong) : element_dtypes(type);
}

// where(condition, 1.0, 0.0): the tables have tensors there, which the numbers become.
void Dtypes::add_numbers(CalledOp& called, const CallExpr* call) {
  if (call->getNumArgs() != 3) return;
  for (unsigned i = 1; i < 3; ++i) {
    const Expr* number = stripped(call->getArg(i));
    if (!number->getType()->isArithmeticType()) return;
    const int symbol = make(TensorSource::kOther, dtype_of_value(number->getType()));
    called.op.operands.push_back(operand(i == 1 ? "self" : "other", text(number), symbol));
    called.symbols.push_back(symbol);
  }
  called.op.scalars.clear();
}

Dtypes::CalledOp Dtypes::op(const CallExpr* call) {
  CalledOp called;
  if (const auto* overloaded = dyn_cast<CXXOperatorCallExpr>(call)) {
    called.op.op = op_of_operator(overloaded);
    if (called.op.op.empty()) return called;
    for (unsigned i = 0; i < call->getNumArgs(); ++i)
      add_operand(called, i == 0 ? "self" : "other", call->getArg(i));
    return called;
  }
  const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
  if (const auto member = member_call(call)) {
    const QualType type = member->base->getType();
    if (!is_tensor(type) && !type->isDependentType()) return called;
    called.op.op = member->name.str();
    const int symbol = tensor(member->base);
    called.op.operands.push_back(operand("self", text(stripped(member->base)), symbol));
    called.symbols.push_back(symbol);
  } else if (callee == nullptr || is_libtorchs(callee)) {
    called.op.op = called_name(call).str();
    if (called.op.op == "cross_entropy") called.op.op = "cross_entropy_loss";  // functional's name
  }
  if (called.op.op.empty() || (called.op.op == "einsum" && !sums(call))) return {};
  for (unsigned i = 0; i < call->getNumArgs(); ++i) {
    if (isa<CXXDefaultArgExpr>(call->getArg(i))) continue;
    const bool is_method = member_call(call).has_value();
    const std::string name = argument_name(call, i, called.op.op, is_method);
    if (name == "rounding_mode") return {};  // of integers it gives integers
    add_operand(called, name, call->getArg(i));
  }
  // x.index_put_({0, Slice()}, y) copies, and casts y.
  const bool has_index = llvm::any_of(called.op.operands, [](const SourceOperand& operand) {
    return llvm::StringRef(operand.name).starts_with("indices");
  });
  if (llvm::StringRef(called.op.op).starts_with("index_put") && !has_index) return {};
  if (called.op.op == "where" && called.symbols.size() == 1) add_numbers(called, call);
  name_class_loss(called);
  return called;
}

void Dtypes::name_class_loss(CalledOp& called) const {
  if (called.op.op != "cross_entropy_loss" || called.symbols.size() < 2) return;
  int target = called.symbols[1];
  DtypeSet dtypes = state.dtypes(target);
  while (!dtypes.within(kIntegral) && made_.at(target).cast_from >= 0) {
    target = made_.at(target).cast_from;
    dtypes = state.dtypes(target);
  }
  if (dtypes.within(kIntegral) && !made_.at(target).is_one_hot) called.op.op = "nll_loss";
}

// 1.0 - x, x / y: floating or complex, whatever x is.
static DtypeSet dtypes_of_sign(const CallExpr* call) {
  const auto* sign = dyn_cast<CXXOperatorCallExpr>(call);
  if (sign == nullptr || sign->getNumArgs() != 2) return {};
  const OverloadedOperatorKind kind = sign->getOperator();
  bool is_floating = kind == OO_Slash;
  for (const Expr* argument : sign->arguments())
    is_floating = is_floating || stripped(argument)->getType()->isFloatingType();
  const bool computes = kind == OO_Plus || kind == OO_Minus || kind == OO_Star || kind == OO_Slash;
  return computes && is_floating ? kFloating | kComplex : DtypeSet();
}

// x * 2, x.clamp_(0, 255) of integers: a whole number changes no dtype. The tables have numbers
// with a point.
bool Dtypes::keeps_integers(const CallExpr* call, const CalledOp& called) const {
  static const llvm::StringSet<> kOps = {"add",   "sub",       "rsub",         "mul",
                                         "pow",   "remainder", "floor_divide", "fmod",
                                         "clamp", "clamp_min", "clamp_max",    "masked_fill"};
  if (called.symbols.size() != 1 || !state.dtypes(called.symbols.front()).within(kIntegral) ||
      !kOps.contains(llvm::StringRef(called.op.op).rtrim('_')))
    return false;
  bool has_whole = false;
  for (const Expr* argument : call->arguments()) {
    if (isa<CXXDefaultArgExpr>(argument)) continue;
    const QualType type = stripped(argument)->getType();
    if (type->isFloatingType()) return false;
    has_whole = has_whole || type->isIntegerType();
  }
  return has_whole;
}

int Dtypes::op_result(const CallExpr* call, size_t result) {
  const CalledOp called = op(call);
  if (called.op.op.empty()) return -1;
  if (keeps_integers(call, called)) return called.symbols.front();
  // x.sum(torch::kFloat), x.softmax(-1, torch::kFloat), x.view(torch::kHalf)
  const int options = options_among(call, 0);
  if (options >= 0) return result == 0 ? like(options) : -1;
  const int symbol = answer(called, result);
  const DtypeSet dtypes = symbol < 0 ? dtypes_of_sign(call) : DtypeSet();
  return dtypes.empty() ? symbol : make(TensorSource::kOther, dtypes);
}

bool Dtypes::is_whole(int symbol) const {
  for (; symbol >= 0; symbol = made_.at(symbol).from) {
    const Made& made = made_.at(symbol);
    if (made.is_whole) return true;
    if (made.cast_from < 0 || !state.knows(made.cast_from)) continue;
    if (state.dtypes(made.cast_from).within(kIntegral | Dtype::kBool)) return true;
    if (is_whole(made.cast_from)) return true;
  }
  return false;
}

std::optional<Dtypes::Narrowed> Dtypes::narrowed(int symbol) const {
  for (int at = symbol; at >= 0 && state.knows(at); at = made_.at(at).from) {
    const Made& made = made_.at(at);
    if (made.cast_from < 0 || !state.knows(made.cast_from) || state.is_mixed(at)) continue;
    const auto from = state.dtypes(made.cast_from).single(), to = state.dtypes(at).single();
    const bool was_wide = from && (*from == Dtype::kFloat || *from == Dtype::kDouble);
    if (!was_wide || !to) return std::nullopt;
    const bool is_cut = kIntegral.contains(*to) && !is_whole(made.cast_from);
    const bool is_low = kLowPrecision.contains(*to) && !is_assumed(made.cast_from);
    if (!is_cut && !is_low) return std::nullopt;
    return Narrowed{*from, *to, made.place, at == symbol};
  }
  return std::nullopt;
}

int Dtypes::answer(const CalledOp& called, size_t result) {
  const OpAnswer answer = answer_of(called.op, result);
  const bool is_whole = (op_facts(called.op.op) & ops::kWhole) != 0;
  if (answer.is_first) {
    const int first = called.symbols.empty() ? -1 : called.symbols.front();
    if (first < 0 || !is_whole || made_[first].is_whole) return first;
    const int whole = called.op.op.ends_with('_') ? first : like(first);
    made_[whole].is_whole = true;
    if (whole != first) made_[whole].from = first;
    return whole;
  }
  if (answer.dtypes.empty()) return -1;
  const int symbol = make(TensorSource::kOther, answer.dtypes);
  // A sum of Bool counts.
  const bool is_count =
      !called.op.operands.empty() && called.op.operands.front().dtypes == DtypeSet(Dtype::kBool);
  made_[symbol].is_position =
      (answer.is_always || is_count) && answer.dtypes == DtypeSet(Dtype::kLong);
  made_[symbol].is_one_hot = called.op.op == "one_hot";
  made_[symbol].is_whole = is_whole || made_[symbol].is_position;
  for (const int operand : called.symbols) {
    if (!answer.is_always && state.dtypes(operand) == answer.dtypes && made_[symbol].from < 0)
      made_[symbol].from = operand;
  }
  return symbol;
}

std::vector<int> Dtypes::elements(const Expr* tuple) {
  const Expr* bare = stripped(tuple);
  Key key;
  TensorSource source;
  if (is_tensor(bare->getType()) || is_tensor(tuple->getType())) return {tensor(tuple)};
  for (;;) {  // of an optional
    const auto got = member_call(bare);
    const auto* op = dyn_cast<CXXOperatorCallExpr>(bare);
    if (got && got->name == "value" && got->call->getNumArgs() == 0)
      bare = stripped(got->base);
    else if (op != nullptr && op->getOperator() == OO_Star && op->getNumArgs() == 1)
      bare = stripped(op->getArg(0));
    else
      break;
  }
  if (key_of(bare, key, source)) {
    if (std::vector<int> held = state.elements(key); !held.empty()) return held;
    if (state.symbol_at(key) >= 0) return {state.symbol_at(key)};
  }
  llvm::ArrayRef<const Expr*> parts;  // {image, label}
  if (const auto* made = dyn_cast<CXXConstructExpr>(bare))
    parts = {made->getArgs(), made->getNumArgs()};
  if (const auto* list = dyn_cast<InitListExpr>(bare))
    parts = {const_cast<InitListExpr*>(list)->getInits(), list->getNumInits()};
  if (parts.size() > 1 && llvm::all_of(parts, [](const Expr* one) {
        return is_tensor(one->getType()) || is_tensor(stripped(one)->getType());
      })) {
    std::vector<int> all;
    for (const Expr* part : parts) all.push_back(tensor(part));
    return all;
  }
  const auto* call = dyn_cast<CallExpr>(bare);
  if (call == nullptr) return {};
  const auto walked = tuples_.find(call);
  if (walked != tuples_.end()) return walked->second;
  const auto whole = results_.find(call);  // of a layer, all of one dtype
  if (whole != results_.end() && state.knows(whole->second)) return {whole->second};
  const llvm::StringRef name = called_name(call);
  std::vector<int> all;
  if (name != "make_tuple" && name != "tie" && name != "forward_as_tuple" && name != "make_pair")
    return all;
  for (const Expr* argument : call->arguments()) {
    const std::vector<int> inside = elements(argument);
    if (inside.empty()) return {};
    all.insert(all.end(), inside.begin(), inside.end());
  }
  return all;
}

// So many tensors a tuple has, or an optional one.
static size_t tensors_in(QualType type) {
  if (may_hold_tensor(type)) return 1;
  const auto* record = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
      type.getNonReferenceType()->getAsCXXRecordDecl());
  static const llvm::StringSet<> kNames = {"tuple", "pair", "optional"};
  if (record == nullptr || record->getIdentifier() == nullptr ||
      !kNames.contains(record->getName()))
    return 0;
  size_t count = 0;
  for (const TemplateArgument& one : record->getTemplateArgs().asArray()) {
    const auto parts =
        one.getKind() == TemplateArgument::Pack ? one.getPackAsArray() : llvm::ArrayRef(one);
    for (const TemplateArgument& part : parts) {
      const size_t inside =
          part.getKind() == TemplateArgument::Type ? tensors_in(part.getAsType()) : 0;
      if (inside == 0) return 0;
      count += inside;
    }
  }
  return count;
}

bool Dtypes::bind_tuple(const Key& tuple, QualType type, const Expr* value) {
  const size_t count = tensors_in(type);
  if (count == 0 || may_hold_tensor(type)) return false;
  std::vector<int> all = elements(value);
  const bool is_whole = !all.empty();
  for (size_t i = 0; i < count && !is_whole && !is_no_tensor(value); ++i)
    all.push_back(result(value, i));
  state.bind_elements(tuple, all);
  return true;
}

int Dtypes::result(const Expr* expr, size_t number) {
  if (const std::vector<int> all = elements(expr); !all.empty()) {
    const int symbol = all[std::min(number, all.size() - 1)];
    if (state.knows(symbol)) return symbol;
  }
  const auto* call = dyn_cast<CallExpr>(stripped(expr));
  const int symbol = call == nullptr ? -1 : op_result(call, number);
  return symbol >= 0 ? symbol : make(TensorSource::kOther, kAnyDtype);
}

int Dtypes::method_result(const MemberCall& call) {
  if (call.name == "toTensor" || call.name == "toTensorVector" || call.name == "toTensorList")
    return make(TensorSource::kProgram, kAnyDtype, text(call.call));
  if (call.name == "to" || call.name == "toType") return cast_result(call);
  if (call.name == "type_as" && call.call->getNumArgs() == 1)
    return like(tensor(call.call->getArg(0)));
  if (passes_tensor_on(call.name)) return tensor(call.base);
  const bool registers = call.name == "register_buffer" || call.name == "register_parameter";
  if (registers && is_module(call.base->getType()) && call.call->getNumArgs() > 1)
    return tensor(call.call->getArg(1));
  if (call.name.starts_with("new_")) {
    const int options = options_among(call.call, 0);
    return like(options >= 0 ? options : tensor(call.base));
  }
  return op_result(call.call);
}

// What torch::tensor() makes of values, of a list or a vector of them: int becomes Long, and double
// the default dtype. Empty: not known.
static DtypeSet dtypes_of_values(const Expr* values) {
  values = values->IgnoreImplicit();
  const auto* record = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
      values->getType().getNonReferenceType()->getAsCXXRecordDecl());
  const bool is_sequence =
      record != nullptr && (record->getName() == "vector" || record->getName() == "ArrayRef");
  if (is_sequence) return dtype_of_value(record->getTemplateArgs()[0].getAsType());
  if (const InitListExpr* list = list_of(values)) {
    DtypeSet all;
    for (const Expr* value : list->inits()) {
      const DtypeSet one = dtypes_of_values(value);
      if (one.empty()) return {};
      all |= one;
    }
    return all;
  }
  const auto* made = dyn_cast<CXXConstructExpr>(values);
  if (made != nullptr && made->getNumArgs() > 0) return dtypes_of_values(made->getArg(0));
  return values->getType()->isArithmeticType() ? dtype_of_value(values->getType()) : DtypeSet();
}

// Of a factory that is given no dtype. at::arange(10) is Long, at::arange(0, 1, 0.1) Float.
DtypeSet Dtypes::default_dtype(const CallExpr* call, llvm::StringRef name) const {
  if (defaults_to_float(name)) return Dtype::kFloat;
  if ((op_facts(name) & ops::kDtypeOfValues) == 0 && name != "tensor") return kAnyDtype;
  DtypeSet dtypes;
  if (name == "tensor" && call->getNumArgs() > 0) dtypes = dtypes_of_values(call->getArg(0));
  for (const Expr* argument : call->arguments()) {
    if (isa<CXXDefaultArgExpr>(argument)) continue;
    const QualType type = stripped(argument)->getType();
    if (type->isDependentType()) return kAnyDtype;
    if (type->isBooleanType())
      dtypes |= Dtype::kBool;
    else if (type->isIntegerType())
      dtypes |= Dtype::kLong;
    else if (type->isFloatingType())
      dtypes |= Dtype::kFloat;
  }
  if (dtypes.contains(Dtype::kFloat)) return Dtype::kFloat;
  return dtypes.empty() ? kAnyDtype : dtypes;
}

// The declaration of torch::randint() has TensorOptions options = at::kLong; LibTorch's before 1.13
// has none.
static std::optional<Dtype> declared_default(const CallExpr* call, const ASTContext& context) {
  std::optional<Dtype> found;
  for (const Expr* argument : call->arguments()) {
    const auto* left_out = dyn_cast<CXXDefaultArgExpr>(argument);
    if (left_out == nullptr || !holds_dtype(argument->getType())) continue;
    for_each_expr(left_out->getExpr(), [&](const Expr* one) {
      if (!found) found = dtype_constant(one, context);
    });
  }
  return found;
}

int Dtypes::function_result(const CallExpr* call) {
  if (const auto index = index_of_get(call)) return result(call->getArg(0), *index);
  const llvm::StringRef name = called_name(call);
  if (name.ends_with("_like") && call->getNumArgs() > 0) {
    const int options = options_among(call, 1);
    return like(options >= 0 ? options : tensor(call->getArg(0)));
  }
  if (!is_factory(name) || op_facts(name) & ops::kOverwrites) return op_result(call);
  const int options = options_among(call, 0);
  if (options >= 0) return like(options);
  if (const auto dtype = declared_default(call, context_)) return make(TensorSource::kMade, *dtype);
  const bool has_room = llvm::none_of(call->arguments(), [](const Expr* argument) {
    return holds_dtype(argument->getType()) && !isa<CXXDefaultArgExpr>(argument);
  });
  if (has_room && name != "from_blob")
    factories_.try_emplace(place_of(context_, call->getExprLoc()),
                           Factory{call, state.variables()});
  const DtypeSet dtype = default_dtype(call, name);
  const DtypeSet whole = default_.empty() ? kAnyDtype : default_;
  return make(TensorSource::kMade, dtype == DtypeSet(Dtype::kFloat) ? whole : dtype);
}

// What ATen's own kernels are given: the dtype of its operands, common to them where they have one.
static bool is_tensor_iterator(QualType type) {
  type = type.getNonReferenceType();
  if (type->isPointerType()) type = type->getPointeeType();
  const CXXRecordDecl* record = type->getAsCXXRecordDecl();
  return record != nullptr && record->getIdentifier() != nullptr &&
         record->getName().starts_with("TensorIterator");
}

int Dtypes::dtype(const Expr* expr) {
  expr = stripped(expr);
  if (const auto constant = dtype_constant(expr, context_)) {
    return make(TensorSource::kMade, *constant);
  }
  if (holds_options(expr->getType()) && names_no_dtype(expr)) {
    const int none = make(TensorSource::kOther, kAnyDtype);
    made_[none].names_none = true;
    return none;
  }
  // AT_DISPATCH_…(x.type(), …) is an error with newer headers: what it was about still stands in
  // it.
  if (const auto* wrong = dyn_cast<RecoveryExpr>(expr)) {
    for (const Expr* inside : wrong->subExpressions()) {
      if (holds_dtype(inside->getType())) return dtype(inside);
    }
  }
  if (holds_dtype(expr->getType())) {
    const int named = variable(expr);
    if (named >= 0) return named;
  }
  const auto* call = dyn_cast<CallExpr>(expr);
  if (call == nullptr) return -1;
  const auto result = results_.find(call);
  if (result != results_.end() && state.knows(result->second)) return result->second;
  if (const auto member = member_call(call)) {
    const llvm::StringRef name = member->name;
    const QualType base = member->base->getType();
    if (is_tensor(base)) {
      const bool asks =
          name == "scalar_type" || name == "dtype" || name == "type" || name == "options";
      return asks ? tensor(member->base) : -1;
    }
    if (is_tensor_iterator(base) && holds_dtype(expr->getType())) {
      const auto [known, is_new] = iterators_.try_emplace(text(member->base), -1);
      if (!is_new && state.knows(known->second)) return known->second;
      return known->second = make(TensorSource::kOther, kAnyDtype, text(member->base));
    }
    if (name == "dtype" && call->getNumArgs() > 0) return dtype(call->getArg(0));
    return holds_dtype(base) ? dtype(member->base)
                             : -1;  // options().device(…), type().scalarType()
  }
  if (called_name(call) == "device" || call->getNumArgs() == 0) return -1;
  // torch::dtype(k), typeMetaToScalarType(x.dtype()), ::detail::scalar_type(t)
  return holds_dtype(expr->getType()) ? dtype(call->getArg(0)) : -1;
}

// Tensors that are made of others by a view have the symbol of the first, whose name is not theirs.
TensorFact Dtypes::fact(const Expr* expr) {
  const int symbol = tensor(expr);
  TensorFact fact = fact_of(symbol);
  fact.name = text(stripped(expr));
  while (fact.name.ends_with("->")) fact.name.resize(fact.name.size() - 2);
  if (fact.name.empty()) fact.name = name(symbol);
  if (fact.name.empty()) fact.name = "a tensor";
  return fact;
}

// at::zeros(sizes, weight.options()): weight.
std::string Dtypes::outside_tensor_like(int symbol) const {
  for (int other = 0; other < static_cast<int>(made_.size()); ++other) {
    const TensorSource source = made_[static_cast<size_t>(other)].source;
    const bool is_outside = source == TensorSource::kParameter || source == TensorSource::kMember;
    if (is_outside && state.knows(other) && state.same(other, symbol)) return name(other);
  }
  return "";
}

TensorFact Dtypes::fact_of(int symbol) const {
  const Made& made = made_.at(symbol);
  const bool is_cast = made.cast_from >= 0;
  const DtypeSet cast_from = is_cast ? state.dtypes(made.cast_from) : DtypeSet();
  const bool is_position = made.is_position || (is_cast && made_.at(made.cast_from).is_position);
  TensorFact fact = {made.name,   state.dtypes(symbol),
                     made.source, state.looked_at(symbol),
                     made.place,  cast_from,
                     {},          {},
                     is_position};
  if (is_assumed(symbol)) fact.dtypes = kAnyDtype;
  if (state.is_mixed(symbol)) return fact;
  if (made.source == TensorSource::kMade && !is_cast) fact.like = outside_tensor_like(symbol);
  for (const auto& [of_field, name] : field_symbols_) {
    if (state.knows(of_field) && state.same(of_field, symbol)) fact.fields.push_back(name);
  }
  return fact;
}

void Dtypes::bind_argument(const ParmVarDecl* parameter, const Expr* argument) {
  const QualType type = parameter->getType();
  if (may_hold_tensor(argument->getType()) || may_hold_tensor(type)) {
    const int symbol = tensor(argument);
    if (is_no_tensor(argument)) state.set_left_out(symbol);
    bind(parameter, symbol);
  } else if (is_tensor_list(type) && is_tensor_list(stripped(argument)->getType())) {
    bind(parameter, tensor(argument));  // check_all(tensors)
  } else if (holds_dtype(type)) {
    const int symbol = dtype(argument);
    bind(parameter, symbol >= 0 ? symbol : make(TensorSource::kOther, kAnyDtype));
  } else if (type->isBooleanType()) {
    set_named(parameter, argument);
  } else if (const std::vector<int> all = elements(argument); !all.empty()) {
    state.bind_elements({parameter}, all);
  }
  Key from;
  TensorSource source;
  const bool is_struct = type.getNonReferenceType()->isRecordType() && !may_hold_tensor(type) &&
                         !is_tensor_list(type) && !is_module_or_holder(type);
  if (is_struct && key_of(stripped(argument), from, source)) state.copy_fields(from, {parameter});
}

const Expr* Dtypes::named(const Expr* expr) const {
  const auto* reference = dyn_cast<DeclRefExpr>(expr);
  const auto known = reference == nullptr ? named_.end() : named_.find(reference->getDecl());
  return known == named_.end() ? nullptr : known->second;
}

}  // namespace dtypecheck::analyzer
