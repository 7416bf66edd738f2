#include "analyzer/clang/dtypes.h"

#include <clang/Lex/Lexer.h>
#include <llvm/ADT/StringSet.h>

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

constexpr size_t kMaxName = 48;
constexpr unsigned kMaxDepth = 64;  // of one expression

// Methods whose result has the dtype of the tensor.
bool keeps_dtype(llvm::StringRef name) {
  static const llvm::StringSet<> names = {"alias",
                                          "clone",
                                          "contiguous",
                                          "cpu",
                                          "cuda",
                                          "detach",
                                          "expand",
                                          "expand_as",
                                          "flatten",
                                          "flip",
                                          "index",
                                          "index_select",
                                          "masked_fill",
                                          "masked_select",
                                          "narrow",
                                          "new_empty",
                                          "new_zeros",
                                          "new_ones",
                                          "permute",
                                          "pin_memory",
                                          "repeat",
                                          "reshape",
                                          "resize_",
                                          "roll",
                                          "select",
                                          "slice",
                                          "squeeze",
                                          "swapaxes",
                                          "t",
                                          "to_dense",
                                          "transpose",
                                          "transpose_",
                                          "unsqueeze",
                                          "unsqueeze_",
                                          "variable_data",
                                          "view",
                                          "view_as",
                                          "zero_",
                                          "fill_",
                                          "copy_",
                                          "value",
                                          "get",
                                          "value_or",
                                          "tensor_data",
                                          "data",
                                          "set_requires_grad",
                                          "requires_grad_",
                                          "unflatten",
                                          "gather",
                                          "clamp",
                                          "relu",
                                          "abs",
                                          "neg",
                                          "squeeze_",
                                          "as_strided"};
  return names.contains(name);
}

bool casts_by_name(llvm::StringRef name, DtypeSet& dtypes) {
  if (name == "half")
    dtypes = Dtype::kHalf;
  else if (name == "float")
    dtypes = Dtype::kFloat;
  else
    return false;
  return true;
}

bool is_factory(llvm::StringRef name) {
  static const llvm::StringSet<> names = {
      "empty",  "zeros",  "ones",      "rand",     "randn",         "full",          "eye",
      "arange", "tensor", "from_blob", "linspace", "empty_strided", "scalar_tensor", "randint"};
  return names.contains(name);
}

// Without options these ask the default dtype; the others look at their values.
bool defaults_to_float(llvm::StringRef name) {
  return name != "full" && name != "arange" && name != "tensor" && name != "scalar_tensor" &&
         name != "randint";
}

// Ops whose result has the promoted dtype of their tensors.
bool is_arithmetic(llvm::StringRef name) {
  static const llvm::StringSet<> names = {"add",    "sub",    "mul",     "div",      "matmul",
                                          "mm",     "bmm",    "addmm",   "linear",   "conv1d",
                                          "conv2d", "conv3d", "maximum", "minimum",  "where",
                                          "lerp",   "cat",    "stack",   "bilinear", "baddbmm"};
  return names.contains(name);
}

// Functions of floating tensors: the result has their dtype.
bool is_function(llvm::StringRef name) {
  static const llvm::StringSet<> names = {
      "exp",     "log",       "sqrt",       "rsqrt",      "sin",        "cos",         "tanh",
      "sigmoid", "relu",      "gelu",       "silu",       "softmax",    "log_softmax", "sum",
      "mean",    "norm",      "layer_norm", "group_norm", "batch_norm", "dropout",     "pow",
      "square",  "clamp_min", "clamp_max",  "max_pool2d", "avg_pool2d", "erf",         "softplus",
      "amax",    "amin",      "cumsum"};
  return names.contains(name);
}

// A wider floating dtype wins; Half and BFloat16 meet in Float.
DtypeSet promoted(DtypeSet a, DtypeSet b) {
  if (a == b) return a;
  const auto width = [](DtypeSet dtypes) {
    return dtypes == DtypeSet(Dtype::kDouble) ? 3 : dtypes == DtypeSet(Dtype::kFloat) ? 2 : 1;
  };
  if (width(a) == width(b)) return Dtype::kFloat;
  return width(a) > width(b) ? a : b;
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
  const SourceManager& sources = context_.getSourceManager();
  const CharSourceRange range = Lexer::makeFileCharRange(
      CharSourceRange::getTokenRange(expr->getSourceRange()), sources, context_.getLangOpts());
  std::string text;
  for (const char c : Lexer::getSourceText(range, sources, context_.getLangOpts())) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank) text += c;
    if (text.size() > kMaxName) return text.substr(0, kMaxName - 3) + "...";
  }
  return text;
}

// The variable or field that an expression names.
bool Dtypes::key_of(const Expr* expr, Key& key, TensorSource& source) const {
  if (const auto* reference = dyn_cast<DeclRefExpr>(expr)) {
    key = {reference->getDecl()->getCanonicalDecl()};
    if (isa<ParmVarDecl>(reference->getDecl())) key = {reference->getDecl()};
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
  if (!key_of(stripped(member->getBase()), key, source)) return false;
  key.push_back(member->getMemberDecl());
  return true;
}

int Dtypes::variable(const Expr* expr) {
  Key key;
  TensorSource source;
  if (!key_of(expr, key, source)) return -1;
  const int known = state.symbol_at(key);
  if (known >= 0) return known;
  const int symbol = make(source, kAnyDtype, text(expr));
  state.bind(key, symbol);
  return symbol;
}

void Dtypes::assign(const Expr* to, int symbol) {
  Key key;
  TensorSource source;
  if (key_of(stripped(to), key, source)) state.bind(key, symbol);
}

// net-> of a shared pointer or a holder is the variable that holds it.
static const Expr* module_variable(const Expr* expr) {
  for (expr = stripped(expr);;) {
    const auto* op = dyn_cast<CXXOperatorCallExpr>(expr);
    const bool passes =
        op != nullptr && (op->getOperator() == OO_Arrow || op->getOperator() == OO_Star);
    if (!passes) return expr;
    expr = stripped(op->getArg(0));
  }
}

bool Dtypes::module_key(const Expr* expr, Key& key) const {
  expr = module_variable(expr);
  TensorSource source;
  const auto* member = dyn_cast<MemberExpr>(expr);
  if (member == nullptr || !isa<FieldDecl>(member->getMemberDecl())) {
    return key_of(expr, key, source);
  }
  if (!module_key(member->getBase(), key)) return false;
  key.push_back(member->getMemberDecl());
  return true;
}

int Dtypes::module(const Expr* expr) const {
  Key key;
  return module_key(expr, key) ? state.module_at(key) : -1;
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
    const int yes = tensor_of(choice->getTrueExpr()), no = tensor_of(choice->getFalseExpr());
    return yes == no ? yes : -1;
  }
  const auto* call = dyn_cast<CallExpr>(expr);
  if (call == nullptr) return -1;
  const auto result = results_.find(call);
  if (result != results_.end() && state.knows(result->second)) return result->second;
  if (const auto* op = dyn_cast<CXXOperatorCallExpr>(call)) {
    const OverloadedOperatorKind kind = op->getOperator();
    const bool passes = kind == OO_Star || kind == OO_Arrow || kind == OO_Subscript;
    if (passes) return tensor_of(op->getArg(0));
    const bool is_arithmetic =
        kind == OO_Plus || kind == OO_Minus || kind == OO_Star || kind == OO_Slash;
    return is_arithmetic && is_tensor(op->getType()) ? arithmetic_result(nullptr, op, "") : -1;
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
    return symbol >= 0 ? symbol : make(TensorSource::kMade, kAnyDtype);
  }
  return -1;
}

// x.to(dtype), x.to(options), x.to(other), x.to(device)
int Dtypes::cast_result(const MemberCall& call) {
  const int options = options_among(call.call, 0);
  if (options >= 0) return like(options);
  for (unsigned i = 0; i < call.call->getNumArgs(); ++i) {
    const Expr* argument = call.call->getArg(i);
    if (is_tensor(argument->getType())) return like(tensor(argument));
    if (!is_device(stripped(argument)->getType()) && !is_device(argument->getType())) return -1;
  }
  return tensor(call.base);
}

// Only where every tensor is of one known floating dtype: anything else is not known.
int Dtypes::arithmetic_result(const Expr* base, const CallExpr* call, llvm::StringRef name) {
  DtypeSet result;
  const Expr* first = base == nullptr && call->getNumArgs() > 0 ? call->getArg(0) : base;
  const bool adds_up = name == "sum" || name == "cumsum" || name == "prod";
  if (adds_up && first != nullptr) {
    const DtypeSet dtypes = state.dtypes(tensor(first));
    if (dtypes.within(kIntegral | Dtype::kBool)) return make(TensorSource::kOther, Dtype::kLong);
  }
  const auto take = [&](const Expr* tensor) {
    const DtypeSet dtypes = state.dtypes(this->tensor(tensor));
    const bool known =
        dtypes.size() == 1 && dtypes.within(kFloating) && !dtypes.intersects(kFloat8);
    if (known) result = result.empty() ? dtypes : promoted(result, dtypes);
    return known;
  };
  if (base != nullptr && !take(base)) return -1;
  for (const Expr* argument : call->arguments()) {
    const bool is_one = is_tensor(argument->getType()) || is_tensor(stripped(argument)->getType());
    if (is_one && !take(argument)) return -1;
  }
  return result.empty() ? -1 : make(TensorSource::kOther, result);
}

int Dtypes::method_result(const MemberCall& call) {
  DtypeSet dtypes;
  if (casts_by_name(call.name, dtypes)) return make(TensorSource::kMade, dtypes);
  if (call.name == "to" || call.name == "toType") return cast_result(call);
  if (call.name == "type_as" && call.call->getNumArgs() == 1)
    return like(tensor(call.call->getArg(0)));
  if (is_arithmetic(call.name) || is_function(call.name)) {
    return arithmetic_result(call.base, call.call, call.name);
  }
  if (!keeps_dtype(call.name)) return -1;
  if (call.name.starts_with("new_")) {
    const int options = options_among(call.call, 0);
    return like(options >= 0 ? options : tensor(call.base));
  }
  return tensor(call.base);
}

int Dtypes::function_result(const CallExpr* call) {
  const llvm::StringRef name = called_name(call);
  if (name.ends_with("_like") && call->getNumArgs() > 0) {
    const int options = options_among(call, 1);
    return like(options >= 0 ? options : tensor(call->getArg(0)));
  }
  const bool is_op = is_arithmetic(name) || is_function(name);
  if (is_op && is_tensor(call->getType())) return arithmetic_result(nullptr, call, name);
  if (!is_factory(name)) return -1;
  const int options = options_among(call, 0);
  if (options >= 0) return like(options);
  return make(TensorSource::kMade, defaults_to_float(name) ? DtypeSet(Dtype::kFloat) : kAnyDtype);
}

int Dtypes::dtype(const Expr* expr) {
  expr = stripped(expr);
  if (const auto constant = dtype_constant(expr, context_)) {
    return make(TensorSource::kMade, *constant);
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
    if (name == "dtype" && call->getNumArgs() > 0) return dtype(call->getArg(0));
    return holds_dtype(base) ? dtype(member->base)
                             : -1;  // options().device(…), type().scalarType()
  }
  if (called_name(call) == "device" || call->getNumArgs() == 0) return -1;
  // torch::dtype(k), typeMetaToScalarType(x.dtype()), ::detail::scalar_type(t)
  return holds_dtype(expr->getType()) ? dtype(call->getArg(0)) : -1;
}

TensorFact Dtypes::fact(const Expr* expr) {
  const int symbol = tensor(expr);
  return {text(stripped(expr)), state.dtypes(symbol), made_[symbol].source,
          state.looked_at(symbol)};
}

}  // namespace dtypecheck::analyzer
