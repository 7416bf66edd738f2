#include "analyzer/clang/exprs.h"

#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cmath>

#include "core/dtype_names.h"
#include "core/precision_words.h"

namespace dtypecheck::analyzer {

using namespace clang;

llvm::StringRef name_of(DeclarationName name) {
  const IdentifierInfo* identifier = name.getAsIdentifierInfo();
  return identifier == nullptr ? "" : identifier->getName();
}

std::optional<MemberCall> member_call(const Expr* expr) {
  const auto* call = dyn_cast<CallExpr>(expr);
  if (call == nullptr) return std::nullopt;
  const Expr* callee = call->getCallee()->IgnoreParenImpCasts();
  if (const auto* member = dyn_cast<MemberExpr>(callee)) {
    return MemberCall{member->getBase(), name_of(member->getMemberDecl()->getDeclName()),
                      member->template_arguments(), call};
  }
  if (const auto* member = dyn_cast<UnresolvedMemberExpr>(callee)) {
    if (member->isImplicitAccess()) return std::nullopt;
    return MemberCall{member->getBase(), name_of(member->getMemberName()),
                      member->template_arguments(), call};
  }
  if (const auto* member = dyn_cast<CXXDependentScopeMemberExpr>(callee)) {
    if (member->isImplicitAccess()) return std::nullopt;
    return MemberCall{member->getBase(), name_of(member->getMember()), member->template_arguments(),
                      call};
  }
  return std::nullopt;
}

llvm::StringRef called_name(const CallExpr* call) {
  const Expr* callee = call->getCallee()->IgnoreParenImpCasts();
  if (const auto* reference = dyn_cast<DeclRefExpr>(callee)) {
    return name_of(reference->getDecl()->getDeclName());
  }
  if (const auto* lookup = dyn_cast<UnresolvedLookupExpr>(callee))
    return name_of(lookup->getName());
  return "";
}

static const Expr* one_layer_less(const Expr* expr) {
  expr = expr->IgnoreParenImpCasts();
  if (const auto* cleanups = dyn_cast<ExprWithCleanups>(expr)) return cleanups->getSubExpr();
  if (const auto* bound = dyn_cast<CXXBindTemporaryExpr>(expr)) return bound->getSubExpr();
  if (const auto* temporary = dyn_cast<MaterializeTemporaryExpr>(expr)) {
    return temporary->getSubExpr();
  }
  if (const auto* cast = dyn_cast<CXXStaticCastExpr>(expr)) return cast->getSubExpr();
  if (const auto* cast = dyn_cast<CXXFunctionalCastExpr>(expr)) return cast->getSubExpr();
  if (const auto* constant = dyn_cast<ConstantExpr>(expr)) return constant->getSubExpr();
  if (const auto* made = dyn_cast<CXXConstructExpr>(expr)) {
    const bool takes_one =
        made->getNumArgs() == 1 || (made->getNumArgs() > 1 && made->getArg(1)->isDefaultArgument());
    return takes_one ? made->getArg(0) : expr;
  }
  if (const auto* list = dyn_cast<InitListExpr>(expr)) {
    return list->getNumInits() == 1 ? list->getInit(0) : expr;
  }
  if (const auto* argument = dyn_cast<CXXDefaultArgExpr>(expr)) return argument->getExpr();
  if (const auto* call = dyn_cast<CallExpr>(expr)) {
    const llvm::StringRef name = called_name(call);
    const bool passes_on = name == "move" || name == "forward" || name == "__builtin_expect";
    return passes_on && call->getNumArgs() > 0 ? call->getArg(0) : expr;
  }
  return expr;
}

const Expr* stripped(const Expr* expr) {
  for (;;) {
    const Expr* inner = one_layer_less(expr);
    if (inner == expr) return expr;
    expr = inner;
  }
}

const Expr* made_or_named(const Expr* expr) {
  for (expr = expr->IgnoreImplicit();;) {
    const Expr* inner = nullptr;
    if (const auto* cast = dyn_cast<CXXFunctionalCastExpr>(expr)) inner = cast->getSubExpr();
    if (const auto* paren = dyn_cast<ParenExpr>(expr)) inner = paren->getSubExpr();
    const auto* made = dyn_cast<CXXConstructExpr>(expr);
    if (made != nullptr && made->getConstructor()->isCopyOrMoveConstructor())
      inner = made->getArg(0);
    const auto* call = dyn_cast<CallExpr>(expr);
    if (call != nullptr && (called_name(call) == "move" || called_name(call) == "forward"))
      inner = call->getArg(0);
    if (inner == nullptr) return expr;
    expr = inner->IgnoreImplicit();
  }
}

const Expr* registered_module(const CallExpr* call) {
  const auto member = call == nullptr ? std::nullopt : member_call(call);
  const llvm::StringRef name = member ? member->name : call == nullptr ? "" : called_name(call);
  const bool registers = name == "register_module" || name == "replace_module";
  return registers && call->getNumArgs() == 2 ? call->getArg(1) : nullptr;
}

static const CXXRecordDecl* record_of(QualType type) {
  if (type.isNull()) return nullptr;
  type = type.getNonReferenceType();
  if (type->isPointerType()) type = type->getPointeeType();
  return type->getAsCXXRecordDecl();
}

static std::string qualified_name(const NamedDecl* decl) {
  return decl == nullptr ? "" : decl->getQualifiedNameAsString();
}

bool is_tensor(QualType type) {
  const std::string name = qualified_name(record_of(type));
  return name == "at::Tensor" || name == "at::TensorBase" || name == "torch::stable::Tensor" ||
         name == "torch::autograd::Variable";
}

bool may_hold_tensor(QualType type) {
  if (type.isNull()) return false;
  if (is_tensor(type)) return true;
  const auto* holder = dyn_cast_or_null<ClassTemplateSpecializationDecl>(record_of(type));
  if (holder == nullptr || holder->getIdentifier() == nullptr || holder->getName() != "optional")
    return false;
  // One that no header here declares was made up with any number of arguments.
  llvm::ArrayRef<TemplateArgument> held = holder->getTemplateArgs().asArray();
  if (!held.empty() && held.front().getKind() == TemplateArgument::Pack)
    held = held.front().getPackAsArray();
  return !held.empty() && held.front().getKind() == TemplateArgument::Type &&
         is_tensor(held.front().getAsType());
}

bool is_no_tensor(const Expr* expr) {
  expr = stripped(expr);
  if (const auto* made = dyn_cast<CXXConstructExpr>(expr)) return made->getNumArgs() == 0;
  if (const auto* list = dyn_cast<InitListExpr>(expr)) return list->getNumInits() == 0;
  const CXXRecordDecl* record = record_of(expr->getType());
  return isa<CXXScalarValueInitExpr>(expr) ||
         (record != nullptr && record->getIdentifier() && record->getName() == "nullopt_t");
}

bool is_libtorchs(const FunctionDecl* function) {
  const DeclContext* outermost = nullptr;
  for (const DeclContext* at = function->getDeclContext(); at != nullptr; at = at->getParent()) {
    if (isa<NamespaceDecl>(at)) outermost = at;
  }
  const auto* space = dyn_cast_or_null<NamespaceDecl>(outermost);
  return space != nullptr && (space->getName() == "at" || space->getName() == "torch" ||
                              space->getName() == "c10" || space->getName() == "caffe2");
}

bool says_other_than_dtype(llvm::StringRef function) {
  const std::string lower = function.lower();
  const llvm::StringRef name = lower;
  for (const char* word : {"type", "input", "arg", "param"}) {
    if (name.contains(word)) return false;
  }
  for (const char* word :
       {"contig", "cuda", "gpu", "cpu", "device", "shape", "size", "dim", "numel", "defined",
        "layout", "stride", "rank", "status", "error", "launch", "index", "bound", "align"}) {
    if (name.contains(word)) return true;
  }
  return false;
}

bool is_tensor_list(QualType type) {
  const auto* list = dyn_cast_or_null<ClassTemplateSpecializationDecl>(record_of(type));
  if (list == nullptr || list->getIdentifier() == nullptr) return false;
  const TemplateArgumentList& arguments = list->getTemplateArgs();
  return (list->getName() == "vector" || list->getName() == "ArrayRef") && arguments.size() > 0 &&
         arguments[0].getKind() == TemplateArgument::Type && is_tensor(arguments[0].getAsType());
}

static bool derives_from_module(const CXXRecordDecl* record, int depth) {
  if (record == nullptr || depth > 8) return false;
  const std::string name = qualified_name(record);
  if (name == "torch::nn::Module" || name == "torch::jit::Module") return true;
  if (!record->hasDefinition()) return false;
  for (const CXXBaseSpecifier& base : record->bases()) {
    if (derives_from_module(base.getType()->getAsCXXRecordDecl(), depth + 1)) return true;
  }
  return false;
}

bool is_module(QualType type) { return derives_from_module(record_of(type), 0); }

// Net of ModuleHolder<Net>, of shared_ptr<Net> and of a pointer to Net.
static const CXXRecordDecl* held_record(QualType type, int depth) {
  type = type.getNonReferenceType();
  if (type->isPointerType()) type = type->getPointeeType();
  const CXXRecordDecl* record = type->getAsCXXRecordDecl();
  if (record == nullptr || depth > 4) return nullptr;
  const auto* made = dyn_cast<ClassTemplateSpecializationDecl>(record);
  const bool holds = made != nullptr && made->getIdentifier() != nullptr &&
                     (made->getName() == "ModuleHolder" || made->getName() == "shared_ptr" ||
                      made->getName() == "__shared_ptr_access" || made->getName() == "unique_ptr");
  if (holds) {
    const TemplateArgument& held = made->getTemplateArgs()[0];
    return held.getKind() == TemplateArgument::Type ? held_record(held.getAsType(), depth + 1)
                                                    : nullptr;
  }
  if (record->hasDefinition()) {
    for (const CXXBaseSpecifier& base : record->bases()) {
      const auto* of =
          dyn_cast_or_null<ClassTemplateSpecializationDecl>(base.getType()->getAsCXXRecordDecl());
      if (of != nullptr && of->getName() == "ModuleHolder") {
        return held_record(base.getType(), depth + 1);
      }
    }
  }
  return record;  // itself
}

const CXXRecordDecl* held_object(QualType type) {
  return type.isNull() ? nullptr : held_record(type, 0);
}

const CXXRecordDecl* held_module(QualType type) {
  const CXXRecordDecl* record = type.isNull() ? nullptr : held_record(type, 0);
  return derives_from_module(record, 0) ? record : nullptr;
}

bool is_torchs_own(const CXXRecordDecl* record) {
  const SourceManager& sources = record->getASTContext().getSourceManager();
  return llvm::StringRef(qualified_name(record)).starts_with("torch::nn::") &&
         sources.isInSystemHeader(sources.getFileLoc(record->getLocation()));
}

bool is_any_module(QualType type) {
  const CXXRecordDecl* record = record_of(type);
  return record != nullptr && record->getIdentifier() != nullptr &&
         record->getName() == "AnyModule";
}

bool is_jit(const CXXRecordDecl* record) {
  return record != nullptr && llvm::StringRef(qualified_name(record)).contains("jit::");
}

static bool is_scalar_type(QualType type) {
  const auto* type_of_enum = type.getNonReferenceType()->getAs<EnumType>();
  return type_of_enum != nullptr && type_of_enum->getDecl()->getName() == "ScalarType";
}

bool holds_options(QualType type) {
  return !type.isNull() && qualified_name(record_of(type)) == "c10::TensorOptions";
}

bool holds_dtype(QualType type) {
  if (type.isNull() || type->isDependentType()) return false;
  if (is_scalar_type(type)) return true;
  const std::string name = qualified_name(record_of(type));
  return name == "caffe2::TypeMeta" || name == "c10::TensorOptions" ||
         name == "at::DeprecatedTypeProperties";
}

std::optional<Dtype> dtype_constant(const Expr* expr, const ASTContext& context) {
  if (expr->isValueDependent() || !is_scalar_type(expr->getType())) return std::nullopt;
  Expr::EvalResult result;
  if (!expr->EvaluateAsInt(result, context)) return std::nullopt;
  const int64_t value = result.Val.getInt().getExtValue();
  if (value < 0 || value > 62) return std::nullopt;
  return static_cast<Dtype>(value);
}

DtypeSet default_dtype_of(const CallExpr* call, const ASTContext& context) {
  DtypeSet dtypes;
  std::vector<const Expr*> open;
  if (call->getNumArgs() > 0) open.push_back(call->getArg(0));
  for (int depth = 0; !open.empty() && depth < 4; ++depth) {
    const Expr* expr = open.back();
    open.pop_back();
    for_each_expr(expr, [&](const Expr* one) {
      if (const auto constant = dtype_constant(one, context)) dtypes |= *constant;
      const auto* name = dyn_cast<DeclRefExpr>(one);
      const auto* variable = name == nullptr ? nullptr : dyn_cast<VarDecl>(name->getDecl());
      if (variable != nullptr && variable->hasInit()) open.push_back(variable->getInit());
      const auto* makes = name == nullptr ? nullptr : dyn_cast<FunctionDecl>(name->getDecl());
      const TemplateArgumentList* types =
          makes == nullptr ? nullptr : makes->getTemplateSpecializationArgs();
      if (types != nullptr && types->size() > 0 &&
          types->get(0).getKind() == TemplateArgument::Type)
        dtypes |= element_dtypes(types->get(0).getAsType());
    });
  }
  return dtypes.single() ? dtypes : DtypeSet();
}

std::optional<Dtype> dtype_of_name(llvm::StringRef name, bool is_text) {
  std::string whole = name.lower();
  if (llvm::StringRef(whole).contains("compute") || llvm::StringRef(whole).contains("_c_"))
    return std::nullopt;
  if (llvm::StringRef(whole).ends_with("_t")) whole.resize(whole.size() - 2);
  // CUDA_R_16BF, whose letters stand behind the number.
  const size_t letters = llvm::StringRef(whole).rtrim("bf").size();
  const size_t digits = llvm::StringRef(whole).take_front(letters).rtrim("0123456789").size();
  if (digits < letters && letters < whole.size())
    std::rotate(whole.begin() + digits, whole.begin() + letters, whole.end());
  std::optional<Dtype> found;
  size_t longest = 0;  // uint8, and not int8
  const auto try_word = [&](llvm::StringRef word, Dtype dtype) {
    if (word.size() <= longest || !llvm::StringRef(whole).ends_with(word)) return;
    longest = word.size();
    found = dtype;
  };
  for (const DtypeNames& names : kDtypeNames) try_word(names.torch, names.dtype);
  for (const PrecisionWord& one : kPrecisionWords) {
    const bool has_size = llvm::isAlpha(one.word.front()) && !(is_text && one.word == "float");
    if (one.use == PrecisionUse::kAny && has_size)
      try_word({one.word.data(), one.word.size()}, one.dtype);
  }
  try_word("double", Dtype::kDouble);
  try_word("f64", Dtype::kDouble);
  try_word("e4m3", Dtype::kFloat8_e4m3fn);
  try_word("e5m2", Dtype::kFloat8_e5m2);
  return found;
}

std::optional<Dtype> told_dtype(const Expr* expr) {
  const auto* reference = dyn_cast<DeclRefExpr>(expr);
  if (reference == nullptr || holds_dtype(expr->getType())) return std::nullopt;
  const ValueDecl* named = reference->getDecl();
  const CXXRecordDecl* record = record_of(named->getType());
  const bool stands_in = record != nullptr && record->getIdentifier() && record->getName() == "Any";
  const bool is_constant = isa<EnumConstantDecl>(named) || (stands_in && isa<VarDecl>(named));
  return is_constant ? dtype_of_name(name_of(named->getDeclName()), false) : std::nullopt;
}

DtypeSet without_fnuz(DtypeSet dtypes) {
  const auto add = [&](Dtype fnuz, Dtype plain) {
    if (dtypes.contains(fnuz)) dtypes = (dtypes - DtypeSet(fnuz)) | plain;
  };
  add(Dtype::kFloat8_e4m3fnuz, Dtype::kFloat8_e4m3fn);
  add(Dtype::kFloat8_e5m2fnuz, Dtype::kFloat8_e5m2);
  return dtypes;
}

std::optional<double> number_of(const Expr* expr, const ASTContext& context) {
  expr = stripped(expr);
  Expr::EvalResult result;
  if (expr->isValueDependent() || expr->containsErrors() || !expr->getType()->isArithmeticType() ||
      !expr->EvaluateAsRValue(result, context)) {
    return std::nullopt;
  }
  if (result.Val.isFloat()) {
    llvm::APFloat value = result.Val.getFloat();
    bool loses = false;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return value.convertToDouble();
  }
  if (result.Val.isInt()) return static_cast<double>(result.Val.getInt().getExtValue());
  return std::nullopt;
}

bool is_beyond_half(double number) { return std::abs(number) > 65504 && !std::isinf(number); }

Place place_of(const ASTContext& context, SourceLocation begin) {
  const SourceManager& sources = context.getSourceManager();
  const SourceLocation at = sources.getFileLoc(begin);
  const PresumedLoc presumed = sources.getPresumedLoc(at, false);
  if (presumed.isInvalid()) return {};
  const unsigned length = Lexer::MeasureTokenLength(at, sources, context.getLangOpts());
  const int column = static_cast<int>(presumed.getColumn());
  return {presumed.getFilename(), static_cast<int>(presumed.getLine()), column,
          column + std::max(1, static_cast<int>(length))};
}

Place written_place(const ASTContext& context, SourceLocation begin) {
  const SourceManager& sources = context.getSourceManager();
  // An argument of a macro stands in the source as it is; the macro's own text stands elsewhere.
  while (begin.isMacroID() && sources.isMacroArgExpansion(begin)) {
    begin = sources.getImmediateSpellingLoc(begin);
  }
  return begin.isMacroID() ? Place() : place_of(context, begin);
}

Place place_in_macro(const ASTContext& context, SourceLocation begin) {
  const SourceManager& sources = context.getSourceManager();
  if (!begin.isMacroID() || written_place(context, begin).line > 0) return {};
  const SourceLocation at = sources.getSpellingLoc(begin);
  const bool is_in_file = !sources.isWrittenInScratchSpace(at) && !sources.isInSystemHeader(at);
  return is_in_file ? place_of(context, at) : Place();
}

std::string text_of(const Expr* expr, const ASTContext& context) {
  const SourceManager& sources = context.getSourceManager();
  const CharSourceRange range = Lexer::makeFileCharRange(
      CharSourceRange::getTokenRange(expr->getSourceRange()), sources, context.getLangOpts());
  std::string text = Lexer::getSourceText(range, sources, context.getLangOpts()).str();
  std::erase_if(text, [](char c) { return isWhitespace(c); });
  return text;
}

static DtypeSet builtin_dtypes(const BuiltinType* type) {
  switch (type->getKind()) {
    case BuiltinType::Float:
      return Dtype::kFloat;
    case BuiltinType::Double:
      return Dtype::kDouble;
    case BuiltinType::Half:
    case BuiltinType::Float16:
      return Dtype::kHalf;
    case BuiltinType::BFloat16:
      return Dtype::kBFloat16;
    case BuiltinType::Short:
      return Dtype::kShort;
    case BuiltinType::Int:
      return Dtype::kInt;
    case BuiltinType::Long:
    case BuiltinType::LongLong:
      return Dtype::kLong;
    case BuiltinType::UShort:
      return Dtype::kUInt16;
    case BuiltinType::UInt:
      return DtypeSet(Dtype::kUInt32) | Dtype::kInt;
    case BuiltinType::ULong:
    case BuiltinType::ULongLong:
      return DtypeSet(Dtype::kUInt64) | Dtype::kLong;
    case BuiltinType::Bool:
      return Dtype::kBool;
    default:
      return {};  // bytes and characters are storage, not a claim about the dtype
  }
}

static DtypeSet record_dtypes(llvm::StringRef name) {
  if (name == "Half" || name == "__half" || name == "__half2" || name == "half_t") {
    return Dtype::kHalf;
  }
  if (name == "BFloat16" || name == "__nv_bfloat16" || name == "__nv_bfloat162") {
    return Dtype::kBFloat16;
  }
  if (name == "float2" || name == "float3") return Dtype::kFloat;
  if (name == "double2" || name == "double3") return Dtype::kDouble;
  return {};  // int4 and float4 are also how sixteen bytes of anything are copied
}

DtypeSet element_dtypes(QualType type) {
  if (type.isNull() || type->isDependentType()) return {};
  const QualType canonical = type.getCanonicalType().getUnqualifiedType();
  if (const auto* builtin = canonical->getAs<BuiltinType>()) return builtin_dtypes(builtin);
  if (const CXXRecordDecl* record = canonical->getAsCXXRecordDecl()) {
    return record->getIdentifier() == nullptr ? DtypeSet() : record_dtypes(record->getName());
  }
  return {};
}

bool is_written_long_long(QualType type) {
  const auto* builtin = dyn_cast<BuiltinType>(type.getLocalUnqualifiedType().getTypePtr());
  return builtin != nullptr && (builtin->getKind() == BuiltinType::LongLong ||
                                builtin->getKind() == BuiltinType::ULongLong);
}

bool is_written_long(QualType type) {
  const auto* builtin = dyn_cast<BuiltinType>(type.getLocalUnqualifiedType().getTypePtr());
  return builtin != nullptr &&
         (builtin->getKind() == BuiltinType::Long || builtin->getKind() == BuiltinType::ULong);
}

}  // namespace dtypecheck::analyzer
