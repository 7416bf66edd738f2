// buffers.cpp: the part of the walk that sees memory of the program's own become a tensor:
//   std::vector<int> board; torch::from_blob(board.data(), {8, 8}, torch::kLong);
#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// int of a std::array<int, 4> and of an int[4].
QualType innermost(QualType type) {
  for (;;) {
    if (const auto* array = type->getAsArrayTypeUnsafe()) {
      type = array->getElementType();
      continue;
    }
    const auto* made =
        dyn_cast_or_null<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl());
    if (made == nullptr || !made->isInStdNamespace() || made->getName() != "array") return type;
    type = made->getTemplateArgs().get(0).getAsType();
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
  if (type->isDependentType()) return {};
  if (type->isArrayType()) return innermost(type);
  return type->isPointerType() ? innermost(type->getPointeeType()) : QualType();
}

// Bytes stand for anything, an integer of 16 bits for a Half or a BFloat16, and two floats for a
// complex number.
bool may_stand_for(QualType element, Dtype dtype, const ASTContext& context) {
  if (!element->isBooleanType() && context.getTypeSizeInChars(element).getQuantity() == 1)
    return true;
  if (element->isUnsignedIntegerType() && !element->isBooleanType()) return true;
  const bool is_16_bits = context.getTypeSizeInChars(element).getQuantity() == 2;
  return (is_16_bits && kLowPrecision.contains(dtype)) || kComplex.contains(dtype);
}

}  // namespace

void Walk::buffer_of(const CallExpr* call) {
  if (called_name(call) != "from_blob" || call->getNumArgs() < 2) return;
  const QualType element = pointed_to(call->getArg(0));
  const DtypeSet stored = element.isNull() ? DtypeSet() : element_dtypes(element);
  const DtypeSet dtypes = dtypes_.state.dtypes(dtypes_.tensor(call));
  const auto dtype = dtypes.single();
  if (stored.empty() || !dtype || stored.contains(*dtype)) return;
  if (may_stand_for(element, *dtype, context_)) return;
  const bool are_bytes = stored == DtypeSet(Dtype::kBool) &&
                         (*dtype == Dtype::kByte || *dtype == Dtype::kChar);
  const Place place = place_of(context_, call->getExprLoc());
  if (are_bytes || place.line == 0 || !buffers_.insert(place).second) return;
  const QualType named = element.getCanonicalType().getUnqualifiedType();
  const std::string name = named.getAsString(context_.getPrintingPolicy());
  facts_.buffers.push_back({place, function_, name, stored, dtypes, !dtypes_.names_dtype(call)});
}

}  // namespace dtypecheck::analyzer
