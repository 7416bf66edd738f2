// watch_values.cpp: numbers and memory of the program's own that become a tensor:
//   std::vector<int> board; torch::from_blob(board.data(), {8, 8}, torch::kLong);
#include "analyzer/clang/watcher.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// T of a std::array<T, n> or, where `any_size`, a std::vector<T>; n may be a template's parameter.
// Null where it is neither.
QualType element_of(QualType type, bool any_size) {
  const auto is_known = [&](const NamedDecl* of) {
    return of != nullptr && of->isInStdNamespace() && of->getIdentifier() != nullptr &&
           (of->getName() == "array" || (any_size && of->getName() == "vector"));
  };
  if (const auto* made =
          dyn_cast_or_null<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl()))
    return is_known(made) ? made->getTemplateArgs().get(0).getAsType() : QualType();
  const auto* written = type->getAs<TemplateSpecializationType>();
  if (written == nullptr || !is_known(written->getTemplateName().getAsTemplateDecl())) return {};
  const llvm::ArrayRef<TemplateArgument> arguments = written->template_arguments();
  const bool has_type = !arguments.empty() && arguments.front().getKind() == TemplateArgument::Type;
  return has_type ? arguments.front().getAsType() : QualType();
}

// int of a std::array<int, 4> and of an int[4].
QualType innermost(QualType type) {
  for (;;) {
    if (const auto* array = type->getAsArrayTypeUnsafe()) {
      type = array->getElementType();
      continue;
    }
    const QualType element = element_of(type, /*any_size=*/false);
    if (element.isNull()) return type;
    type = element;
  }
}

// What a pointer points to, before it was cast to void*; null where it is no pointer.
QualType pointed_to(const Expr* data) {
  data = data->IgnoreParenImpCasts();
  const auto* cast = dyn_cast<ExplicitCastExpr>(data);
  while (cast != nullptr && cast->getType()->isVoidPointerType()) {
    data = cast->getSubExpr()->IgnoreParenImpCasts();
    cast = dyn_cast<ExplicitCastExpr>(data);
  }
  const QualType type = data->getType();
  if (type->isDependentType()) {  // state.data() of a std::array<int, n>
    const auto call = member_call(data);
    const bool is_start = call && (call->name == "data" || call->name == "begin");
    const QualType element = !is_start ? QualType()
                                       : element_of(call->base->getType().getNonReferenceType(),
                                                    /*any_size=*/true);
    return element.isNull() ? QualType() : innermost(element);
  }
  if (type->isArrayType()) return innermost(type);
  return type->isPointerType() ? innermost(type->getPointeeType()) : QualType();
}

// Bytes and unsigned integers stand for anything, a bool for a byte, an integer of 16 bits for a
// Half or a BFloat16, and two floats for a complex number.
bool may_stand_for(QualType element, Dtype dtype, const ASTContext& context) {
  if (kComplex.contains(dtype)) return true;
  if (element->isBooleanType()) return dtype == Dtype::kByte || dtype == Dtype::kChar;
  const int64_t size_bytes = context.getTypeSizeInChars(element).getQuantity();
  return size_bytes == 1 || element->isUnsignedIntegerType() ||
         (size_bytes == 2 && kLowPrecision.contains(dtype));
}

class Values : public Watcher {
 public:
  using Watcher::Watcher;
  void call(const CallExpr* call) override {
    fill_of(call);
    buffer_of(call);
    numbers_of(call);
  }

 private:
  void buffer_of(const CallExpr* call) {
    if (called_name(call) != "from_blob" || call->getNumArgs() < 2) return;
    const QualType element = pointed_to(call->getArg(0));
    if (element.isNull() || element->isIncompleteType()) return;
    const DtypeSet stored = element_dtypes(element);
    const DtypeSet dtypes = dtypes_.state.dtypes(dtypes_.tensor(call));
    const auto dtype = dtypes.single();
    if (stored.empty() || !dtype || stored.contains(*dtype)) return;
    if (may_stand_for(element, *dtype, context_)) return;
    const Place place = place_of(context_, call->getExprLoc());
    if (place.line == 0 || !buffers_.insert(place).second) return;
    const QualType named = element.getCanonicalType().getUnqualifiedType();
    const std::string name = named.getAsString(context_.getPrintingPolicy());
    facts_.buffers.push_back(
        {place, at_.function, name, stored, dtypes, !dtypes_.names_dtype(call)});
  }

  // torch::tensor(x), of a double x or a vector of such.
  void numbers_of(const CallExpr* call) {
    if (called_name(call) != "tensor" || call->getNumArgs() == 0) return;
    const Expr* given = stripped(call->getArg(0));
    if (given->getType()->isDependentType() || number_of(given, context_)) return;
    const QualType type = given->getType().getNonReferenceType();
    const QualType of_list = element_of(type, /*any_size=*/true);
    const QualType element = of_list.isNull() ? type : of_list;
    if (!element->isSpecificBuiltinType(BuiltinType::Double) &&
        !element->isSpecificBuiltinType(BuiltinType::Float))
      return;
    const bool names_dtype = dtypes_.names_dtype(call);
    const auto dtype = dtypes_.state.dtypes(dtypes_.tensor(call)).single();
    const bool is_cut = dtype && (kIntegral.contains(*dtype) ||
                                  (!names_dtype && *dtype == Dtype::kFloat &&
                                   element->isSpecificBuiltinType(BuiltinType::Double)));
    const Place place = place_of(context_, call->getExprLoc());
    if (!is_cut || place.line == 0 || !numbers_.insert(place).second) return;
    const QualType named = element.getCanonicalType().getUnqualifiedType();
    facts_.cut_numbers.push_back({place, at_.function, dtypes_.text(given),
                                  named.getAsString(context_.getPrintingPolicy()), *dtype,
                                  !names_dtype});
  }

  // torch::full(sizes, 1e38, x.options()), x.fill_(1e38): a number that a tensor may not hold.
  void fill_of(const CallExpr* call) {
    const auto member = member_call(call);
    const llvm::StringRef name = member ? member->name : called_name(call);
    const bool has_sizes = name == "full" || name == "full_like" || name == "new_full" ||
                           name == "masked_fill" || name == "masked_fill_";
    const unsigned at = has_sizes ? 1 : 0;
    if ((!has_sizes && name != "fill_") || call->getNumArgs() <= at) return;
    const Expr* value = call->getArg(at);
    const auto number = number_of(value, context_);
    if (!number || !is_beyond_half(*number)) return;
    int like = member ? dtypes_.tensor(member->base) : dtypes_.options_among(call, 2);
    if (like < 0 && name == "full_like") like = dtypes_.tensor(call->getArg(0));
    if (like < 0) return;
    const DtypeSet dtypes = dtypes_.state.dtypes(like);
    if (!dtypes.contains(Dtype::kHalf)) return;
    const Place place = place_of(context_, value->getBeginLoc());
    if (place.line == 0 || !fills_.insert(place).second) return;
    const std::string of = member ? dtypes_.text(stripped(member->base)) : dtypes_.name(like);
    facts_.large_numbers.push_back({place, at_.function, of.empty() ? "the tensor" : of,
                                    dtypes_.text(value), dtypes == DtypeSet(Dtype::kHalf)});
  }

  std::set<Place> buffers_, numbers_, fills_;
};

}  // namespace

std::unique_ptr<Watcher> watch_values(Whereabouts& at) { return std::make_unique<Values>(at); }

}  // namespace dtypecheck::analyzer
