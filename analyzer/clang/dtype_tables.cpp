// dtype_tables.cpp: a dtype beside a name of one, in what maps one to the other: a case of a
// switch, a pair of a map, a comparison with a text.
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SaveAndRestore.h>

#include "analyzer/clang/exprs.h"
#include "analyzer/clang/file_facts.h"
#include "analyzer/clang/functions.h"
#include "analyzer/clang/visitor.h"
#include "core/dtype_names.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// The dtype of which a name tells kind and size at its end: ncclBfloat16, DType::kFP32, "uint8".
// What is called int, long or float has other sizes elsewhere.
std::optional<Dtype> dtype_of_name(llvm::StringRef name) {
  static constexpr std::pair<llvm::StringLiteral, Dtype> kAbbreviations[] = {
      {"bf16", Dtype::kBFloat16}, {"fp16", Dtype::kHalf},   {"half", Dtype::kHalf},
      {"fp32", Dtype::kFloat},    {"fp64", Dtype::kDouble}, {"double", Dtype::kDouble}};
  const std::string lower = name.lower();
  llvm::StringRef whole = lower;
  whole.consume_back("_t");
  for (const auto& [spelling, dtype] : kAbbreviations) {
    if (whole.ends_with(spelling)) return dtype;
  }
  const DtypeNames* longest = nullptr;  // uint8, and not int8
  for (const DtypeNames& names : kDtypeNames) {
    const llvm::StringRef spelling = names.torch;
    if (!whole.ends_with(spelling)) continue;
    if (longest == nullptr || spelling.size() > llvm::StringRef(longest->torch).size())
      longest = &names;
  }
  return longest == nullptr ? std::nullopt : std::optional(longest->dtype);
}

struct Named {
  std::string name;
  Dtype dtype = Dtype::kFloat;
  bool is_text = false;
};

// "float32" or "torch.float32", ncclFloat32; a message of several words is none.
std::optional<Named> named_in(const Expr* expr) {
  std::optional<Named> found;
  for_each_expr(expr, [&](const Expr* one) {
    if (const auto* text = dyn_cast<StringLiteral>(one); text != nullptr && text->isOrdinary()) {
      llvm::StringRef word = text->getString();
      word.consume_front("torch.");
      const auto dtype = llvm::all_of(word, llvm::isAlnum) ? dtype_of_name(word) : std::nullopt;
      if (dtype) found = {text->getString().str(), *dtype, true};
    } else if (const auto* reference = dyn_cast<DeclRefExpr>(one)) {
      const auto* constant = dyn_cast<EnumConstantDecl>(reference->getDecl());
      const auto dtype = constant == nullptr ? std::nullopt : dtype_of_name(constant->getName());
      if (dtype && !holds_dtype(constant->getType())) found = {constant->getName().str(), *dtype};
    }
  });
  return found;
}

std::optional<Dtype> constant_in(const Expr* expr, const ASTContext& context) {
  return dtype_constant(stripped(expr), context);
}

// A text is the dtype that it says. An enumerator of another library may stand for what that one
// lacks, as a wider or a shorter type, or bytes for a Bool; one of the same size is a slip.
bool contradicts(Dtype dtype, const Named& named) {
  if (dtype == named.dtype || dtype == Dtype::kBool) return false;
  const DtypeNames* one = names_of(dtype);
  const DtypeNames* other = names_of(named.dtype);
  const auto is_plain = [](const DtypeNames* names) {
    return names != nullptr &&
           (names->kind == DtypeKind::kIntegral || names->kind == DtypeKind::kFloating);
  };
  if (!is_plain(one) || !is_plain(other)) return false;
  return named.is_text || one->size_bytes == other->size_bytes;
}

// The value that a branch gives: return kHalf; or dtype = kHalf;
const Expr* value_of(const Stmt* stmt) {
  if (const auto* block = dyn_cast_or_null<CompoundStmt>(stmt))
    return block->body_empty() ? nullptr : value_of(block->body_front());
  if (const auto* end = dyn_cast_or_null<ReturnStmt>(stmt)) return end->getRetValue();
  const auto* expr = dyn_cast_or_null<Expr>(stmt);
  const auto* assignment = expr == nullptr ? nullptr : dyn_cast<BinaryOperator>(stripped(expr));
  return assignment != nullptr && assignment->isAssignmentOp() ? assignment->getRHS() : nullptr;
}

class Tables : public Visitor {
 public:
  Tables(const ASTContext& context, SourceFacts& facts) : Visitor(context), facts_(facts) {}

  bool TraverseDecl(Decl* decl) override {
    const auto* function = dyn_cast_or_null<FunctionDecl>(decl);
    if (function == nullptr) return Visitor::TraverseDecl(decl);
    const llvm::SaveAndRestore inside(function_, function->getNameAsString());
    return Visitor::TraverseDecl(decl);
  }

  bool VisitStmt(Stmt* stmt) override {
    if (const auto* list = dyn_cast<InitListExpr>(stmt)) {
      const bool has_two = list->getNumInits() == 2 && list->getInit(0) && list->getInit(1);
      if (has_two) pair(list->getInit(0), list->getInit(1));
    } else if (const auto* label = dyn_cast<CaseStmt>(stmt)) {
      const Stmt* below = label->getSubStmt();
      if (const Expr* value = isa<SwitchCase>(below) ? nullptr : value_of(below))
        pair(label->getLHS(), value);
    } else if (const auto* choice = dyn_cast<ConditionalOperator>(stmt)) {
      compared(choice->getCond(), choice->getTrueExpr());
    } else if (const auto* branch = dyn_cast<IfStmt>(stmt)) {
      if (const Expr* value = value_of(branch->getThen())) compared(branch->getCond(), value);
    }
    return true;
  }

 private:
  // name == "half" gives a dtype; dtype == kHalf gives a name.
  void compared(const Expr* condition, const Expr* value) {
    if (condition == nullptr) return;  // if consteval
    condition = condition->IgnoreParenImpCasts();
    const Expr* sides[2] = {};
    if (const auto* op = dyn_cast<BinaryOperator>(condition)) {
      if (op->getOpcode() == BO_LOr) {
        compared(op->getLHS(), value);
        return compared(op->getRHS(), value);
      }
      if (op->getOpcode() != BO_EQ) return;
      sides[0] = op->getLHS(), sides[1] = op->getRHS();
    } else if (const auto* call = dyn_cast<CXXOperatorCallExpr>(condition)) {
      if (call->getOperator() != OO_EqualEqual || call->getNumArgs() != 2) return;
      sides[0] = call->getArg(0), sides[1] = call->getArg(1);
    } else {
      return;
    }
    for (const Expr* side : sides) pair(side, value);
  }

  void pair(const Expr* one, const Expr* other) {
    auto dtype = constant_in(one, context_);
    const Expr* named_side = dtype ? other : one;
    if (!dtype) dtype = constant_in(other, context_);
    const auto named = dtype ? named_in(named_side) : std::nullopt;
    if (!named || !contradicts(*dtype, *named)) return;
    const Place place = place_of(context_, named_side->getExprLoc());
    if (place.line > 0)
      facts_.table_entries.push_back({place, function_, *dtype, named->name, named->dtype});
  }

  SourceFacts& facts_;
  std::string function_;  // "" where a table is in none
};

}  // namespace

void find_table_entries(ASTContext& context, SourceFacts& facts) { Tables(context, facts).walk(); }

}  // namespace dtypecheck::analyzer
