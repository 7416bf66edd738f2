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
  static const llvm::StringSet<> names = {
      "alias",      "clone",        "contiguous",  "cpu",         "cuda",       "detach",
      "expand",     "expand_as",    "flatten",     "flip",        "index",      "index_select",
      "masked_fill", "masked_select", "narrow",    "new_empty",   "new_zeros",  "new_ones",
      "permute",    "pin_memory",   "repeat",      "reshape",     "resize_",    "roll",
      "select",     "slice",        "squeeze",     "swapaxes",    "t",          "to_dense",
      "transpose",  "transpose_",   "unsqueeze",   "unsqueeze_",  "variable_data", "view",
      "view_as",    "zero_",        "fill_",       "copy_",       "value",      "get",
      "value_or",   "tensor_data",  "data",        "set_requires_grad", "requires_grad_",
      "unflatten",  "gather",       "clamp",       "relu",        "abs",        "neg",
      "squeeze_",
      "as_strided"};
  return names.contains(name);
}

bool casts_by_name(llvm::StringRef name, DtypeSet& dtypes) {
  if (name == "half") dtypes = Dtype::kHalf;
  else if (name == "float") dtypes = Dtype::kFloat;
  else return false;
  return true;
}

bool is_factory(llvm::StringRef name) {
  static const llvm::StringSet<> names = {"empty", "zeros", "ones",   "rand",  "randn",
                                          "full",  "eye",   "arange", "tensor", "from_blob",
                                          "linspace", "empty_strided", "scalar_tensor", "randint"};
  return names.contains(name);
}

// Without options these ask the default dtype; the others look at their values.
bool defaults_to_float(llvm::StringRef name) {
  return name != "full" && name != "arange" && name != "tensor" && name != "scalar_tensor" &&
         name != "randint";
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
  const CharSourceRange range =
      Lexer::makeFileCharRange(CharSourceRange::getTokenRange(expr->getSourceRange()), sources,
                               context_.getLangOpts());
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
    source = isa<ParmVarDecl>(reference->getDecl()) ? TensorSource::kParameter
                                                    : TensorSource::kOther;
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
  if (const auto* element = dyn_cast<ArraySubscriptExpr>(expr)) return tensor_of(element->getBase());
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
    return passes ? tensor_of(op->getArg(0)) : -1;
  }
  if (const auto member = member_call(call)) return method_result(*member);
  return function_result(call);
}

int Dtypes::options_among(const CallExpr* call, unsigned first) {
  for (unsigned i = first; i < call->getNumArgs(); ++i) {
    const Expr* argument = stripped(call->getArg(i));
    if (!holds_dtype(argument->getType()) && !holds_dtype(call->getArg(i)->getType())) continue;
    if (isa<CXXDefaultArgExpr>(call->getArg(i))) continue;
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

int Dtypes::method_result(const MemberCall& call) {
  DtypeSet dtypes;
  if (casts_by_name(call.name, dtypes)) return make(TensorSource::kMade, dtypes);
  if (call.name == "to" || call.name == "toType") return cast_result(call);
  if (call.name == "type_as" && call.call->getNumArgs() == 1) return like(tensor(call.call->getArg(0)));
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
      const bool asks = name == "scalar_type" || name == "dtype" || name == "type" || name == "options";
      return asks ? tensor(member->base) : -1;
    }
    if (name == "dtype" && call->getNumArgs() > 0) return dtype(call->getArg(0));
    return holds_dtype(base) ? dtype(member->base) : -1;  // options().device(…), type().scalarType()
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
