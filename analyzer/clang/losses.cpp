#include "analyzer/clang/losses.h"

#include <clang/AST/Attr.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>

#include "analyzer/clang/exprs.h"
#include "analyzer/clang/functions.h"
#include "analyzer/clang/undeclared.h"
#include "analyzer/clang/visitor.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// Members that read a tensor's memory or ask for its dtype. `data` counts as data<T> only: it is a
// name of much else.
constexpr llvm::StringLiteral kWords[] = {"data_ptr",
                                          "const_data_ptr",
                                          "mutable_data_ptr",
                                          "accessor",
                                          "packed_accessor",
                                          "packed_accessor32",
                                          "packed_accessor64",
                                          "generic_packed_accessor",
                                          "item",
                                          "scalar_type",
                                          "dtype",
                                          "data"};

// Members that cast and run modules, in a file that sees tensors: OpenCV's have them too.
constexpr llvm::StringLiteral kModuleWords[] = {"to", "forward", "parameters"};

std::string at(const SourceManager& sources, SourceLocation location, const std::string& text) {
  const PresumedLoc place = sources.getPresumedLoc(sources.getFileLoc(location), false);
  if (place.isInvalid()) return text;
  return std::string(place.getFilename()) + ":" + std::to_string(place.getLine()) + ": " + text;
}

// What is left of the file: the functions, and the words that stand on something understood.
class Understood : public Visitor {
 public:
  explicit Understood(const ASTContext& context)
      : Visitor(context), sources_(context.getSourceManager()) {}

  std::vector<const FunctionDecl*> functions;
  std::set<SourceLocation> words;  // in their files
  std::vector<SourceRange> loops;
  std::vector<SourceLocation> atomics;  // of functions that nothing declares
  std::vector<SourceLocation> methods;  // of classes that nothing declares
  std::vector<SourceRange> idle;  // calls that were not understood, and whose result is not used

  bool VisitFunctionDecl(FunctionDecl* function) override {
    functions.push_back(function);
    if (function->isThisDeclarationADefinition() &&
        is_stand_in(dyn_cast<NamedDecl>(function->getDeclContext())))
      methods.push_back(function->getLocation());
    return true;
  }
  bool VisitStmt(Stmt* stmt) override {
    const bool is_loop = isa<ForStmt>(stmt) || isa<WhileStmt>(stmt) || isa<DoStmt>(stmt) ||
                         isa<CXXForRangeStmt>(stmt);
    if (is_loop) loops.push_back(stmt->getSourceRange());
    return true;
  }
  bool VisitCompoundStmt(CompoundStmt* block) override {
    for (const Stmt* stmt : block->body()) {
      const auto* call = dyn_cast<RecoveryExpr>(stmt);
      if (call != nullptr && !is_atomic(call)) idle.push_back(call->getSourceRange());
    }
    return true;
  }
  // A sum of a vendor's own.
  bool VisitCallExpr(CallExpr* call) override {
    const FunctionDecl* callee = call->getDirectCallee();
    if (callee != nullptr && is_stand_in(callee) && is_named_atomic(callee->getDeclName())) {
      atomics.push_back(call->getBeginLoc());
    }
    return true;
  }
  bool VisitMemberExpr(MemberExpr* member) override {
    return add(member->getBase(), member->getMemberLoc());
  }
  bool VisitUnresolvedMemberExpr(UnresolvedMemberExpr* member) override {
    return add(member->isImplicitAccess() ? nullptr : member->getBase(), member->getMemberLoc());
  }
  bool VisitCXXDependentScopeMemberExpr(CXXDependentScopeMemberExpr* member) override {
    return add(member->isImplicitAccess() ? nullptr : member->getBase(), member->getMemberLoc());
  }

 private:
  // atomicAdd(&sum, x): it is a sum.
  static bool is_atomic(const RecoveryExpr* call) {
    const auto parts = call->subExpressions();
    const auto* callee =
        parts.empty() ? nullptr : dyn_cast<OverloadExpr>(parts.front()->IgnoreParenImpCasts());
    return callee == nullptr || is_named_atomic(callee->getName());
  }
  static bool is_named_atomic(DeclarationName name) {
    return name_of(name).contains_insensitive("atomic");
  }
  bool is_stand_in(const Decl* decl) const {
    return decl != nullptr && sources_.getFilename(decl->getLocation()) == kStandIns;
  }
  bool add(const Expr* base, SourceLocation location) {
    if (base == nullptr) {
      words.insert(sources_.getFileLoc(location));
    } else if (!base->containsErrors()) {
      const QualType type = base->getType();
      const Decl* of =
          (type->isPointerType() ? type->getPointeeType() : type)->getAsCXXRecordDecl();
      if (!is_stand_in(of)) words.insert(sources_.getFileLoc(location));
    }
    return true;
  }

  const SourceManager& sources_;
};

bool stands_in(SourceRange range, SourceLocation location, const SourceManager& sources) {
  const SourceLocation begin = sources.getFileLoc(range.getBegin());
  const SourceLocation end = sources.getFileLoc(range.getEnd());
  return begin.isValid() && end.isValid() && sources.isPointWithin(location, begin, end);
}

bool stands_in_any(const std::vector<SourceRange>& ranges, SourceLocation location,
                   const SourceManager& sources) {
  return llvm::any_of(ranges,
                      [&](SourceRange range) { return stands_in(range, location, sources); });
}

// Half is looked for in kernels, and sums in the loops of templates.
bool may_compute_in_half(const FunctionDecl* function, bool is_in_loop, const ASTContext& context) {
  const bool is_device = function->hasAttr<CUDAGlobalAttr>() || function->hasAttr<CUDADeviceAttr>();
  if (function->isTemplated()) return is_device || is_in_loop;
  if (!is_device) return false;
  const SourceManager& sources = context.getSourceManager();
  const auto range = CharSourceRange::getTokenRange(sources.getFileLoc(function->getBeginLoc()),
                                                    sources.getFileLoc(function->getEndLoc()));
  const StringRef text = Lexer::getSourceText(range, sources, context.getLangOpts());
  return text.contains_insensitive("half") || text.contains_insensitive("bfloat");
}

// Of several functions around a place the innermost, which begins last.
const FunctionDecl* function_at(SourceLocation location, const Understood& understood,
                                const SourceManager& sources) {
  const FunctionDecl* found = nullptr;
  for (const FunctionDecl* function : understood.functions) {
    if (!stands_in(function->getSourceRange(), location, sources)) continue;
    const bool is_inner = found == nullptr || sources.isBeforeInTranslationUnit(
                                                  sources.getFileLoc(found->getBeginLoc()),
                                                  sources.getFileLoc(function->getBeginLoc()));
    if (is_inner) found = function;
  }
  return found;
}

// On this line or the one above: "{at::kHalf, theirs::kFP16}", "if (type == at::kHalf)\n return
// X;".
bool is_beside_dtype(SourceLocation location, const SourceManager& sources) {
  bool is_invalid = false;
  const StringRef text = sources.getBufferData(sources.getFileID(location), &is_invalid);
  const unsigned at = sources.getFileOffset(location);
  if (is_invalid || at > text.size()) return false;
  const size_t line = text.rfind('\n', at);
  const size_t above = line == text.npos ? 0 : text.rfind('\n', line);
  const size_t begin = above == text.npos ? 0 : above;
  const StringRef lines = text.slice(begin, text.find('\n', at));
  return llvm::any_of(
      llvm::ArrayRef<StringRef>({"kHalf", "kFloat", "kBFloat16", "kDouble", "kLong", "ScalarType"}),
      [&](StringRef name) { return lines.contains(name); });
}

// NetImpl::forward(…) { of a class that nothing declares: its body is skipped.
bool skips_body(SourceLocation location, const SourceManager& sources) {
  bool is_invalid = false;
  StringRef text = sources.getBufferData(sources.getFileID(location), &is_invalid);
  if (is_invalid) return false;
  text = text.drop_front(sources.getFileOffset(location));
  const StringRef declaration = text.substr(0, text.find_first_of(";{="));
  return text.drop_front(declaration.size()).starts_with("{") && declaration.contains('(');
}

bool costs(const SourceError& error, const Understood& understood, const ASTContext& context) {
  if (error.is_fatal) return true;
  const SourceManager& sources = context.getSourceManager();
  if (error.location.isInvalid() || !is_of_project(context, error.location)) return false;
  const SourceLocation location = sources.getFileLoc(error.location);
  if (is_beside_dtype(location, sources)) return true;  // perhaps in a table
  const FunctionDecl* function = function_at(location, understood, sources);
  if (function == nullptr) return error.is_syntax || skips_body(location, sources);
  const bool is_in_loop = stands_in_any(understood.loops, location, sources);
  return !stands_in_any(understood.idle, location, sources) &&
         may_compute_in_half(function, is_in_loop, context);
}

}  // namespace

void Losses::watch(Preprocessor& preprocessor) {
  std::set<const IdentifierInfo*> names;
  for (const StringRef word : kWords) names.insert(preprocessor.getIdentifierInfo(word));
  for (const StringRef word : kModuleWords) names.insert(preprocessor.getIdentifierInfo(word));
  const IdentifierInfo* data = preprocessor.getIdentifierInfo("data");
  preprocessor.setTokenWatcher([=, this, names = std::move(names), is_member = false,
                                pending = SourceLocation()](const Token& token) mutable {
    if (pending.isValid() && token.is(tok::less)) words_.push_back({pending, "data"});
    pending = {};
    const IdentifierInfo* name = token.isAnnotation() || token.isLiteral() || token.is(tok::eof)
                                     ? nullptr
                                     : token.getIdentifierInfo();
    if (is_member && name != nullptr && names.contains(name)) {
      if (name == data) {
        pending = token.getLocation();
      } else {
        words_.push_back({token.getLocation(), name->getName().str()});
      }
    }
    is_member = token.isOneOf(tok::period, tok::arrow) || (is_member && token.is(tok::kw_template));
  });
}

void Losses::add_to(SourceFacts& facts, const ASTContext& context, bool has_stand_ins) const {
  std::vector<std::string>& lost = facts.lost;
  const SourceManager& sources = context.getSourceManager();
  std::set<SourceLocation> words;
  for (const Word& word : words_) {
    const SourceLocation location = sources.getFileLoc(word.location);
    const bool counts = facts.sees_tensors || !llvm::is_contained(kModuleWords, word.name);
    if (counts && is_of_project(context, location)) words.insert(location);
  }
  facts.places = words.size();
  if (errors_.empty() && !has_stand_ins) return;
  Understood understood(context);
  understood.walk();
  bool is_cut_short = false;
  for (const SourceError& error : errors_) {
    is_cut_short = is_cut_short || error.is_fatal;
    if (costs(error, understood, context)) lost.push_back(at(sources, error.location, error.text));
  }
  for (const SourceLocation location : understood.atomics) {
    lost.push_back(at(sources, location, "a sum that is not understood"));
  }
  for (const SourceLocation location : understood.methods) {
    if (is_of_project(context, location))
      lost.push_back(at(sources, location, "its class is not declared"));
  }
  facts.places += lost.size();
  for (const Word& word : words_) {
    const SourceLocation location = sources.getFileLoc(word.location);
    const bool is_lost = !understood.words.contains(location) && words.erase(location) > 0;
    if (is_lost) lost.push_back(at(sources, location, word.name + " is not understood here"));
  }
  facts.lost_places = is_cut_short ? facts.places : lost.size();
}

}  // namespace dtypecheck::analyzer
