// exprs.h: how C++ source says tensor and dtype, without any state.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/ExprCXX.h>

#include <optional>
#include <string>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// x.name<types>(arguments), also where x or a type is not known before instantiation.
struct MemberCall {
  const clang::Expr* base = nullptr;
  llvm::StringRef name;
  llvm::ArrayRef<clang::TemplateArgumentLoc> types;
  const clang::CallExpr* call = nullptr;
};
std::optional<MemberCall> member_call(const clang::Expr* expr);

// "" where it is none, as that of an operator or a constructor: NamedDecl::getName() asserts there.
llvm::StringRef name_of(clang::DeclarationName name);

// The expression without parentheses, casts, copies, moves and temporaries around it.
const clang::Expr* stripped(const clang::Expr* expr);

// Without casts, copies and moves; unlike stripped() it stops at what is made of one argument.
const clang::Expr* made_or_named(const clang::Expr* expr);
// register_module("fc", module), which gives back the module. Null: the call does something else.
const clang::Expr* registered_module(const clang::CallExpr* call);

// at::Tensor, what it derives from, and its stable-ABI sibling; seen through references.
bool is_tensor(clang::QualType type);
// at::Tensor, or an optional of one.
bool may_hold_tensor(clang::QualType type);
// at::Tensor(), c10::nullopt, {}: a value without a tensor in it.
bool is_no_tensor(const clang::Expr* expr);
// at::matmul, torch::nn::functional::softmax: inside the namespaces of LibTorch.
bool is_libtorchs(const clang::FunctionDecl* function);
// check_contiguous, CheckCUDA: it looks at something of a tensor that is not its dtype.
bool says_other_than_dtype(llvm::StringRef function);
// std::vector<at::Tensor>, at::TensorList.
bool is_tensor_list(clang::QualType type);
// A torch::nn module, or a pointer to one.
bool is_module(clang::QualType type);
// The same, or what holds one: a ModuleHolder, a shared pointer. Null: it holds none.
const clang::CXXRecordDecl* held_module(clang::QualType type);
// One that LibTorch's headers define, and not a program in its namespace.
bool is_torchs_own(const clang::CXXRecordDecl* module);
// An AnyModule, which holds one module of any class.
bool is_any_module(clang::QualType type);
// A TorchScript program, which has the dtype that its file says.
bool is_jit(const clang::CXXRecordDecl* record);
// The class of an object, through a pointer to it, be it a smart one. Null: it is none of a class.
const clang::CXXRecordDecl* held_object(clang::QualType type);
inline bool is_module_or_holder(clang::QualType type) { return held_module(type) != nullptr; }
// A scalar type, a type meta or tensor options: what stands for a dtype.
bool holds_dtype(clang::QualType type);
bool holds_options(clang::QualType type);

// Each expression below `stmt`, itself included, outer before inner; lambdas that stand in it too.
// Clang's own RecursiveASTVisitor goes through types and declarations as well, and a file takes
// seconds longer to compile for each.
template <class Look>
void for_each_expr(const clang::Stmt* stmt, const Look& look) {
  if (stmt == nullptr) return;
  if (const auto* expr = llvm::dyn_cast<clang::Expr>(stmt)) look(expr);
  for (const clang::Stmt* child : stmt->children()) for_each_expr(child, look);
}

// The name of a free function that is called; "" for anything else.
llvm::StringRef called_name(const clang::CallExpr* call);

// The dtype of which a name tells kind and size at its end: ncclBfloat16, DType::kFP32, CUDA_R_16F,
// "uint8". What is called int or long has other sizes elsewhere, and "float" as a text.
std::optional<Dtype> dtype_of_name(llvm::StringRef name, bool is_text);
// The same of an enumerator of another library, or of what stands in for one.
std::optional<Dtype> told_dtype(const clang::Expr* expr);
// E4M3 and E5M2 are called so whether they have infinities or not.
DtypeSet without_fnuz(DtypeSet dtypes);

// The value of a constant of type ScalarType.
std::optional<Dtype> dtype_constant(const clang::Expr* expr, const clang::ASTContext& context);

// What set_default_dtype() is given: scalarTypeToTypeMeta(torch::kDouble),
// TypeMeta::Make<double>(), or a variable that was made so. Empty: not known.
DtypeSet default_dtype_of(const clang::CallExpr* call, const clang::ASTContext& context);

// The value of an arithmetic constant.
std::optional<double> number_of(const clang::Expr* expr, const clang::ASTContext& context);
// A finite number that Half has no room for.
bool is_beyond_half(double number);

// Where a finding about it stands: an argument of a macro where it is written, the macro's own text
// where the macro is used.
Place place_of(const clang::ASTContext& context, clang::SourceLocation begin);
// The place of something that stands in the source as such, so that a fix can change it there; line
// 0 for what a macro's text or an instantiation says.
Place written_place(const clang::ASTContext& context, clang::SourceLocation begin);

// Where the text of a macro that says it is written; line 0 for what no macro says.
Place place_in_macro(const clang::ASTContext& context, clang::SourceLocation begin);

// As the source writes it, without blanks.
std::string text_of(const clang::Expr* expr, const clang::ASTContext& context);

// The dtype whose elements are stored as this C++ type: float, __half, int64_t, float2. Empty for
// void, bytes, and types that a template has still to name.
DtypeSet element_dtypes(clang::QualType type);

// `long` and `unsigned long` written as such, not int64_t or another name for it.
bool is_written_long(clang::QualType type);
// `long long` and `unsigned long long`, which LibTorch has no data_ptr<T>() for where int64_t is
// long.
bool is_written_long_long(clang::QualType type);

}  // namespace dtypecheck::analyzer
