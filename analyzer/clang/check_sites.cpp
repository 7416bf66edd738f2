#include "analyzer/clang/check_sites.h"

#include <clang/AST/ExprCXX.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <algorithm>
#include <vector>

#include "analyzer/clang/exprs.h"
#include "platform/text.h"

namespace dtypecheck::analyzer {

using namespace clang;

using Names = std::set<std::string>;

std::string root_of(const std::string& name) {
  return {name.begin(), std::find_if_not(name.begin(), name.end(), is_of_name)};
}

// Whether control may go elsewhere than to the statement behind it. To throw is no other way: what
// is refused is not served.
static bool may_leave(const Stmt* stmt) {
  if (stmt == nullptr || isa<LambdaExpr>(stmt)) return false;
  if (isa<ReturnStmt>(stmt) || isa<GotoStmt>(stmt) || isa<BreakStmt>(stmt) ||
      isa<ContinueStmt>(stmt) || isa<CXXTryStmt>(stmt) || isa<SwitchCase>(stmt) ||
      isa<LabelStmt>(stmt)) {
    return true;
  }
  return std::any_of(stmt->child_begin(), stmt->child_end(), may_leave);
}

static bool names_one_of(const Expr* expr, const Names& names) {
  expr = stripped(expr);
  while (const auto* member = dyn_cast<MemberExpr>(expr)) expr = stripped(member->getBase());
  const auto* reference = dyn_cast<DeclRefExpr>(expr);
  return reference != nullptr && names.contains(name_of(reference->getDecl()->getDeclName()).str());
}

static bool writes_through(const CallExpr* call, const Names& names) {
  const auto* op = dyn_cast<CXXOperatorCallExpr>(call);
  if (op != nullptr && op->isAssignmentOp()) return names_one_of(op->getArg(0), names);
  const auto member = member_call(call);
  if (member && (member->name == "set_data" || member->name == "swap"))
    return names_one_of(member->base, names);
  const FunctionDecl* callee = call->getDirectCallee();
  for (unsigned i = 0; callee != nullptr && op == nullptr && i < call->getNumArgs(); ++i) {
    if (i >= callee->getNumParams()) break;
    const QualType type = callee->getParamDecl(i)->getType();
    const bool is_lent = type->isReferenceType() && !type.getNonReferenceType().isConstQualified();
    if (is_lent && names_one_of(call->getArg(i), names)) return true;
  }
  return false;
}

static bool may_write(const Stmt* stmt, const Names& names) {
  bool writes = false;
  for_each_expr(stmt, [&](const Expr* expr) {
    if (const auto* call = dyn_cast<CallExpr>(expr))
      writes = writes || writes_through(call, names);
    else if (const auto* assignment = dyn_cast<BinaryOperator>(expr))
      writes =
          writes || (assignment->isAssignmentOp() && names_one_of(assignment->getLHS(), names));
    else if (const auto* address = dyn_cast<UnaryOperator>(expr))
      writes = writes ||
               (address->getOpcode() == UO_AddrOf && names_one_of(address->getSubExpr(), names));
  });
  return writes;
}

static bool declares(const Stmt* stmt, const Names& names) {
  const auto* declaration = dyn_cast<DeclStmt>(stmt);
  if (declaration == nullptr) return false;
  return std::any_of(declaration->decl_begin(), declaration->decl_end(), [&](const Decl* decl) {
    if (const auto* several = dyn_cast<DecompositionDecl>(decl)) {  // auto [values, indices] = …
      return llvm::any_of(several->bindings(), [&](const BindingDecl* one) {
        return names.contains(one->getNameAsString());
      });
    }
    const auto* variable = dyn_cast<VarDecl>(decl);
    return variable != nullptr && names.contains(variable->getNameAsString());
  });
}

namespace {

// The text of the file that a block stands in.
class Text {
 public:
  Text(const ASTContext& context, SourceLocation at)
      : sources_(context.getSourceManager()),
        file_(sources_.getFileID(sources_.getFileLoc(at))),
        text_(sources_.getBufferData(file_)) {}

  // Of a macro's text, where the macro is used; npos: in another file.
  size_t begin(const Stmt* stmt) const {
    const auto [file, offset] = sources_.getDecomposedLoc(sources_.getFileLoc(stmt->getBeginLoc()));
    return file == file_ ? offset : std::string::npos;
  }
  llvm::StringRef word(const Stmt* stmt) const {
    const size_t at = begin(stmt);
    if (at == std::string::npos) return "";
    return text_.substr(at).take_while(
        [](char c) { return isAsciiIdentifierContinue(c) || c == ':'; });
  }

  // An #if or its like between the two: in another configuration other code stands there.
  bool has_condition(size_t from, size_t to) const {
    llvm::StringRef rest = text_.slice(from, to);
    while (!rest.empty()) {
      const auto [line, next] = rest.split('\n');
      if (line.ltrim().starts_with("#") && !is_pragma(line)) return true;
      rest = next;
    }
    return false;
  }

  // Above the lines of comments and pragmas that belong to what stands there.
  size_t above_comments(size_t at) const {
    for (;;) {
      const size_t line = line_begin(at);
      if (line == 0 || !text_.slice(line, at).trim().empty()) return at;
      const size_t before = line_begin(line - 1);
      const llvm::StringRef above = text_.slice(before, line).trim();
      if (!above.starts_with("//") && !is_pragma(above)) return at;
      at = before + text_.substr(before).find(above);
    }
  }

  SourceLocation location(size_t at) const {
    return sources_.getComposedLoc(file_, static_cast<unsigned>(at));
  }

 private:
  static bool is_pragma(llvm::StringRef line) {
    llvm::StringRef rest = line.ltrim();
    return rest.consume_front("#") && rest.ltrim().starts_with("pragma");
  }
  size_t line_begin(size_t at) const {
    const size_t line = text_.rfind('\n', at == 0 ? 0 : at - 1);
    return at == 0 || line == llvm::StringRef::npos ? 0 : line + 1;
  }

  const SourceManager& sources_;
  FileID file_;
  llvm::StringRef text_;
};

}  // namespace

// CHECK_INPUT(x); and the guard of a device: what a function begins with as a rule.
static bool is_check(const Stmt* stmt, const Text& text) {
  if (isa<NullStmt>(stmt)) return true;  // its semicolon
  const std::string word = text.word(stmt).lower();
  return llvm::any_of(llvm::ArrayRef<llvm::StringRef>({"check", "assert", "guard"}),
                      [&](llvm::StringRef part) { return llvm::StringRef(word).contains(part); });
}

static bool add_branches(const Stmt* stmt, std::vector<const Stmt*>& branches) {
  const auto* condition = dyn_cast_or_null<IfStmt>(stmt);
  if (condition == nullptr) {
    branches.push_back(stmt);
    return isa_and_nonnull<CompoundStmt>(stmt);
  }
  const bool declares_nothing =
      condition->getInit() == nullptr && condition->getConditionVariable() == nullptr;
  return declares_nothing && !condition->isConstexpr() &&
         add_branches(condition->getThen(), branches) &&
         add_branches(condition->getElse(), branches);
}

// Of a loop; null: it is none.
static const Stmt* body_of(const Stmt* stmt) {
  if (const auto* loop = dyn_cast<ForStmt>(stmt)) return loop->getBody();
  if (const auto* loop = dyn_cast<CXXForRangeStmt>(stmt)) return loop->getBody();
  if (const auto* loop = dyn_cast<WhileStmt>(stmt)) return loop->getBody();
  return nullptr;
}

static bool declares_below(const Stmt* stmt, const Names& names) {
  return stmt != nullptr &&
         (declares(stmt, names) || llvm::any_of(stmt->children(), [&](const Stmt* child) {
            return declares_below(child, names);
          }));
}

std::pair<int, int> branch_of(const Stmt* statement, const CompoundStmt* block,
                              const Names& names) {
  if (body_of(statement) == block) {
    const bool is_same = !may_write(statement, names) && !declares_below(statement, names);
    return {0, is_same ? 1 : 0};
  }
  std::vector<const Stmt*> branches;
  if (!add_branches(statement, branches)) return {0, 0};
  const auto at = std::find(branches.begin(), branches.end(), block);
  if (at == branches.end()) return {0, 0};
  return {static_cast<int>(at - branches.begin()), static_cast<int>(branches.size())};
}

CheckSite check_site(const ASTContext& context, const CompoundStmt* block, const Stmt* statement,
                     const Names& names, Reached& reached) {
  const llvm::ArrayRef<Stmt*> all(block->body_begin(), block->size());
  Reached::Way& known = reached.ways[{block, names}];  // of a read above, as a rule
  auto found = std::find(all.begin() + known.from, all.end(), statement);
  if (found == all.end()) {
    known = {};
    found = std::find(all.begin(), all.end(), statement);
  }
  const auto at = static_cast<size_t>(found - all.begin());
  const Text text(context, block->getLBracLoc());
  const size_t read = at < all.size() ? text.begin(all[at]) : std::string::npos;
  if (read == std::string::npos) return {};
  size_t first = at, below = read;  // where the statement at `first` begins
  while (first > known.from) {
    const Stmt* before = all[first - 1];
    const size_t begin = text.begin(before);
    const bool is_in_order = begin != std::string::npos && begin < read;
    if (!is_in_order || text.has_condition(begin, below)) break;
    if (may_leave(before) || declares(before, names) || may_write(before, names)) break;
    --first;
    below = begin;
  }
  if (first == known.from && known.from > 0) first = known.to;
  known = {at, first};
  const bool is_first = first == 0;
  while (first < at && is_check(all[first], text)) ++first;
  const size_t begin = text.begin(all[first]);
  Place place = place_of(context, text.location(text.above_comments(begin)));
  // #pragma stands further left than what it is about.
  place.end_column = std::max(place.column, place_of(context, text.location(begin)).column);
  return {place, place_of(context, block->getRBracLoc()), is_first, {}};
}

}  // namespace dtypecheck::analyzer
