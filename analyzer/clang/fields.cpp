#include "analyzer/clang/fields.h"

#include <set>
#include <utility>

#include "analyzer/clang/file_facts.h"
#include "analyzer/clang/functions.h"
#include "analyzer/clang/visitor.h"
#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

bool is_followed(const FieldDecl* field) {
  const QualType type = field->getType();
  const bool is_value = !type->isReferenceType() && !type->isPointerType();
  const auto* record = dyn_cast<CXXRecordDecl>(field->getParent());
  return is_value && (may_hold_tensor(type) || holds_dtype(type)) && record != nullptr &&
         !record->isUnion() && !record->isLambda() && !record->isDependentContext() &&
         !isa<ClassTemplateSpecializationDecl>(record);
}

const FieldDecl* field_of(const Expr* expr) {
  const auto* member = dyn_cast<MemberExpr>(expr);
  return member == nullptr ? nullptr : dyn_cast<FieldDecl>(member->getMemberDecl());
}

using Sites = std::map<const Expr*, std::string>;  // expressions that write, to the field

// What is done with the value of an expression by that around it.
enum class Use { kRead, kWritten, kOpen };

class FieldUses : public Visitor {
 public:
  FieldUses(const ASTContext& context, SourceFacts& facts) : Visitor(context), facts_(facts) {}

  std::vector<std::pair<const FunctionDecl*, Sites>> writers;
  Sites initializers;  // outside of functions

  bool VisitFunctionDecl(FunctionDecl* function) override {
    add_internal(function);
    const auto* method = dyn_cast<CXXMethodDecl>(function);
    const bool is_lambda = method != nullptr && method->getParent()->isLambda();
    if (!function->doesThisDeclarationHaveABody() || is_lambda) return true;
    if (method != nullptr && method->isOutOfLine()) facts_.methods.push_back(known_as(method));
    Sites sites;
    sites_ = &sites;
    if (const auto* made = dyn_cast<CXXConstructorDecl>(function)) initializers_of(made);
    scan(function->getBody(), Use::kRead);
    if (!sites.empty()) writers.emplace_back(function, std::move(sites));
    return true;
  }
  bool VisitVarDecl(VarDecl* variable) override {
    if (const auto* parts = dyn_cast<DecompositionDecl>(variable)) open_parts(parts);
    add_internal(variable);
    if (variable->isFileVarDecl() && variable->getInit() != nullptr) {
      sites_ = &initializers;
      scan(variable->getInit(), open_if_reference(variable));
    }
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr* reference) override {  // &Params::weight
    if (const auto* field = dyn_cast<FieldDecl>(reference->getDecl())) open(field);
    if (const auto dtype = dtype_constant(reference, context_)) facts_.named_dtypes |= *dtype;
    return true;
  }
  bool VisitCXXDependentScopeMemberExpr(CXXDependentScopeMemberExpr* member) override {
    const llvm::StringRef name = name_of(member->getMember());
    if (!name.empty()) open_.insert("." + name.str());
    return true;
  }
  bool VisitCXXRecordDecl(CXXRecordDecl* record) override {
    if (record->isThisDeclarationADefinition()) add_class(record);
    add_internal(record);
    return true;
  }
  bool VisitCXXMemberCallExpr(CXXMemberCallExpr* call) override {
    const auto member = member_call(call);
    const bool casts =
        member && member->name == "to" && is_module(member->base->getType()) &&
        llvm::any_of(call->arguments(), [](const Expr* argument) {
          return holds_dtype(argument->getType()) || holds_dtype(stripped(argument)->getType());
        });
    facts_.casts_modules = facts_.casts_modules || casts;
    if (casts) facts_.lowers_modules = facts_.lowers_modules || !is_to_float(call);
    return true;
  }
  bool VisitCallExpr(CallExpr* call) override {
    const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
    const bool loads =
        callee != nullptr && name_of(callee->getDeclName()) == "load" && is_libtorchs(callee);
    facts_.casts_modules = facts_.casts_modules || loads;
    if (callee == nullptr || called_name(call) != "set_default_dtype") return true;
    const DtypeSet dtype = default_dtype_of(call, context_);
    facts_.default_dtype |= dtype;
    facts_.lowers_modules = facts_.lowers_modules || dtype.empty();
    return true;
  }

  void finish() { facts_.open_fields.assign(open_.begin(), open_.end()); }

 private:
  bool is_to_float(const CallExpr* cast) const {
    return llvm::any_of(cast->arguments(), [&](const Expr* argument) {
      return dtype_constant(stripped(argument), context_) == Dtype::kFloat;
    });
  }
  // A class, too, which every file may have one of its own of.
  void add_internal(const NamedDecl* decl) {
    const bool is_own = isa<RecordDecl>(decl) || !decl->isExternallyVisible();
    if (is_own && decl->getIdentifier() != nullptr && !decl->getName().empty() &&
        decl->getDeclContext()->getRedeclContext()->isFileContext() &&
        in_main_file(context_, decl->getLocation()))
      facts_.internal.push_back(decl->getName().str());
  }
  static Use open_if_reference(const VarDecl* variable) {
    return variable->getType()->isReferenceType() ? Use::kOpen : Use::kRead;
  }
  static std::string known_as(const CXXMethodDecl* method) {
    return method->getQualifiedNameAsString() + " " +
           method->getType().getCanonicalType().getAsString();
  }

  void open(const FieldDecl* field) {
    const std::string name = field_name(field, context_);
    if (!name.empty()) open_.insert(name);
  }
  void open_all(const CXXRecordDecl* record) {
    for (const FieldDecl* field : record->fields()) open(field);
  }
  void open_parts(const DecompositionDecl* parts) {
    for (const BindingDecl* part : parts->bindings()) {
      const Expr* of = part->getBinding();
      if (of == nullptr || !parts->getType()->isReferenceType()) continue;
      if (const FieldDecl* field = field_of(of->IgnoreParenImpCasts())) open(field);
    }
  }

  void write(const FieldDecl* field, const Expr* site, const Expr* value) {
    const std::string name = is_followed(field) ? field_name(field, context_) : "";
    const bool is_nothing =
        value != nullptr && may_hold_tensor(field->getType()) && is_no_tensor(value);
    if (name.empty() || is_nothing) return;
    site == nullptr ? void(facts_.field_writes.push_back({name, {}}))
                    : void(sites_->try_emplace(site, name));
  }

  void initializers_of(const CXXConstructorDecl* made) {
    for (const CXXCtorInitializer* init : made->inits()) {
      const FieldDecl* field = init->getAnyMember();
      if (field == nullptr) {
        scan(init->getInit(), Use::kRead);
      } else if (init->isWritten()) {
        write(field, init->getInit(), init->getInit());
        scan(init->getInit(), Use::kRead);
      } else if (holds_options(field->getType()) && !field->hasInClassInitializer()) {
        write(field, nullptr, nullptr);  // options without a dtype are those of the default one
      }
    }
  }

  void add_class(const CXXRecordDecl* record) {
    ClassOfFields found;
    const bool is_of_module = is_module(QualType(record->getTypeForDecl(), 0));
    for (const FieldDecl* field : record->fields()) {
      const std::string name = is_followed(field) ? field_name(field, context_) : "";
      if (name.empty()) continue;
      if (record->hasFriends()) open_.insert(name);
      found.fields.push_back({name, field->getAccess() != AS_private, is_of_module});
      sites_ = &initializers;
      const Expr* init = field->getInClassInitializer();
      if (init != nullptr) {
        write(field, init, init);
        scan(init, Use::kRead);
      } else if (holds_options(field->getType()) && !record->hasUserProvidedDefaultConstructor() &&
                 record->hasDefaultConstructor()) {
        write(field, nullptr, nullptr);
      }
    }
    if (found.fields.empty()) return;
    if (!in_main_file(context_, record->getLocation())) {
      found.file = place_of(context_, record->getLocation()).file;
    }
    add_bodies_elsewhere(record, found.bodies_elsewhere);
    facts_.classes.push_back(std::move(found));
  }

  static void add_bodies_elsewhere(const CXXRecordDecl* record, std::vector<std::string>& out) {
    for (const Decl* decl : record->decls()) {
      const auto* method = dyn_cast<CXXMethodDecl>(decl);
      const auto* inner = dyn_cast<CXXRecordDecl>(decl);
      const auto* made = dyn_cast<FunctionTemplateDecl>(decl);
      if (made != nullptr) method = dyn_cast<CXXMethodDecl>(made->getTemplatedDecl());
      if (method != nullptr && !method->isImplicit() && !method->isDefaulted() &&
          !method->isDeleted() && !method->isPureVirtual() && !method->isConst() &&
          !method->isDefined()) {
        out.push_back(known_as(method));
      }
      if (inner != nullptr && inner->isThisDeclarationADefinition() && !inner->isImplicit())
        add_bodies_elsewhere(inner, out);
    }
  }

  void scan_list(const InitListExpr* list) {
    const CXXRecordDecl* record = list->getType()->getAsCXXRecordDecl();
    if (record == nullptr || record->isUnion()) return;
    if (record->getNumBases() > 0) return open_all(record);
    unsigned i = 0;
    for (const FieldDecl* field : record->fields()) {
      if (i >= list->getNumInits()) break;
      const Expr* init = list->getInit(i++);
      if (!isa<CXXDefaultInitExpr>(init)) write(field, init, init);
    }
  }

  static bool passes_on(const Expr* expr, Use use) {
    if (isa<ParenExpr>(expr) || isa<ExprWithCleanups>(expr) || isa<MaterializeTemporaryExpr>(expr))
      return true;
    return use != Use::kWritten && isa<ConditionalOperator>(expr);
  }

  // What happens to child number `i` of an expression that is itself used so.
  Use use_of_child(const Stmt* stmt, unsigned i, Use use) const {
    if (const auto* cast = dyn_cast<ImplicitCastExpr>(stmt)) {
      const bool is_read = !cast->isGLValue() || cast->getType().isConstQualified();
      return is_read ? Use::kRead : use;
    }
    if (const auto* op = dyn_cast<CXXOperatorCallExpr>(stmt)) {
      if (i != 1) return Use::kOpen;  // child 0 is the operator itself
      if (op->getOperator() == OO_Equal) return Use::kWritten;
      if (op->isAssignmentOp()) return Use::kRead;
      const bool derefs = op->getOperator() == OO_Star || op->getOperator() == OO_Arrow;
      return derefs && use != Use::kWritten ? use : Use::kOpen;
    }
    if (const auto* call = dyn_cast<CallExpr>(stmt)) {
      const bool moves = called_name(call) == "move" && call->getNumArgs() == 1;
      return moves ? Use::kRead : i == 0 ? use : Use::kOpen;
    }
    if (const auto* member = dyn_cast<MemberExpr>(stmt)) {
      if (isa<FieldDecl>(member->getMemberDecl())) return Use::kRead;  // of the object around it
      const auto* method = dyn_cast<CXXMethodDecl>(member->getMemberDecl());
      if (name_of(member->getMemberDecl()->getDeclName()) == "set_data") return Use::kOpen;
      if (method != nullptr && method->isConst()) return Use::kRead;
      const bool unwraps = name_of(member->getMemberDecl()->getDeclName()) == "value";
      return unwraps ? use : Use::kOpen;
    }
    if (const auto* set = dyn_cast<BinaryOperator>(stmt); set != nullptr)
      return set->getOpcode() == BO_Assign && i == 0 ? Use::kWritten : Use::kOpen;
    const auto* expr = dyn_cast<Expr>(stmt);
    return expr != nullptr && passes_on(expr, use) ? use : Use::kOpen;
  }

  void use_field(const MemberExpr* member, const FieldDecl* field, Use use) {
    if (!is_followed(field) || use == Use::kRead) return;
    if (use == Use::kOpen && !member->getType().isConstQualified()) open(field);
  }

  // Outer before inner; `use`: what is done with what it yields.
  void scan(const Stmt* stmt, Use use) {
    if (stmt == nullptr || isa<UnaryExprOrTypeTraitExpr>(stmt)) return;
    if (const auto* list = dyn_cast<InitListExpr>(stmt)) scan_list(list);
    if (const auto* list = dyn_cast<CXXParenListInitExpr>(stmt)) {
      if (const CXXRecordDecl* record = list->getType()->getAsCXXRecordDecl()) open_all(record);
    }
    if (const auto* member = dyn_cast<MemberExpr>(stmt)) {
      if (const FieldDecl* field = field_of(member)) use_field(member, field, use);
    }
    note_assignment(stmt);
    if (const auto* declares = dyn_cast<DeclStmt>(stmt)) return scan_variables(declares);
    unsigned i = 0;
    for (const Stmt* child : stmt->children()) scan(child, use_of_child(stmt, i++, use));
  }

  void scan_variables(const DeclStmt* declares) {
    for (const Decl* decl : declares->decls()) {
      const auto* variable = dyn_cast<VarDecl>(decl);
      if (variable != nullptr) scan(variable->getInit(), open_if_reference(variable));
    }
  }

  void note_assignment(const Stmt* stmt) {
    const Expr* to = nullptr;
    const Expr* value = nullptr;
    if (const auto* op = dyn_cast<CXXOperatorCallExpr>(stmt);
        op != nullptr && op->getOperator() == OO_Equal && op->getNumArgs() == 2) {
      to = stripped(op->getArg(0));
      value = op->getArg(1);
    } else if (const auto* set = dyn_cast<BinaryOperator>(stmt);
               set != nullptr && set->getOpcode() == BO_Assign) {
      to = stripped(set->getLHS());
      value = set->getRHS();
    }
    if (to == nullptr) return;
    if (const FieldDecl* field = field_of(to)) return write(field, to, value);
    for_each_expr(to, [&](const Expr* part) {  // *bias_ = x, (a ? w_ : b_) = x
      if (const FieldDecl* field = part == to ? nullptr : field_of(part)) {
        if (is_followed(field)) open(field);
      }
    });
  }

  SourceFacts& facts_;
  Sites* sites_ = nullptr;
  std::set<std::string> open_;
};

}  // namespace

std::string field_name(const FieldDecl* field, const ASTContext& context) {
  if (!is_followed(field) || !is_of_project(context, field->getLocation())) return "";
  const std::string name = field->getQualifiedNameAsString();
  if (!in_main_file(context, field->getLocation())) return name;
  return place_of(context, field->getLocation()).file + ":" + name;
}

namespace {

// What a function writes to fields, by the expressions that do, or initialize them.
class FieldWrites : public Watcher {
 public:
  using Watcher::Watcher;
  void write(const Expr* site, int symbol) override {
    if (!sites_->contains(stripped(site))) return;
    written_.push_back({stripped(site), symbol, dtypes_.fact_of(symbol)});
  }

  void expr(const Expr* one) override {
    const auto* list = dyn_cast<InitListExpr>(one);
    if (list == nullptr) return;
    for (const Expr* init : list->inits()) initialize(init);
  }

  // Of those in `sites`, whoever calls the function.
  void find(Walk& walk, const FunctionDecl* function, const Sites& sites) {
    sites_ = &sites;
    written_.clear();
    walk.enter(function, Callers::kUnseen);
    if (const auto* made = dyn_cast<CXXConstructorDecl>(function)) initialize_fields(walk, made);
    walk.run_body(function->getBody(), nullptr);
    std::set<const Expr*> known;
    for (const Written& written : written_) {
      known.insert(written.site);
      facts_.field_writes.push_back({sites.at(written.site), at_exit(written)});
    }
    for (const auto& [site, field] : sites) {
      if (walk.is_cut() || !known.contains(site)) facts_.field_writes.push_back({field, {}});
    }
  }

 private:
  struct Written {
    const Expr* site;
    int symbol;
    TensorFact fact;
  };
  int initialize(const Expr* init) {
    if (!sites_->contains(init)) return -1;
    const Expr* bare = stripped(init);
    const bool is_dtype = holds_dtype(bare->getType()) || holds_dtype(init->getType());
    int symbol = is_dtype ? dtypes_.dtype(init) : dtypes_.tensor(init);
    if (symbol < 0) symbol = dtypes_.make(TensorSource::kOther, kAnyDtype);
    written_.push_back({init, symbol, dtypes_.fact_of(symbol)});
    return symbol;
  }

  void initialize_fields(Walk& walk, const CXXConstructorDecl* constructor) {
    for (const CXXCtorInitializer* init : constructor->inits()) {
      if (!init->isWritten()) continue;
      walk.expr(init->getInit());
      const int symbol = init->isAnyMemberInitializer() ? initialize(init->getInit()) : -1;
      if (symbol >= 0) dtypes_.state.bind({nullptr, init->getAnyMember()}, symbol);
    }
  }

  // A check that stands behind the write is one of what was written: w_ = w; TORCH_CHECK(…w…).
  TensorFact at_exit(const Written& written) const {
    TensorFact fact = written.fact;
    const DtypeState& exit = dtypes_.state;
    if (exit.dead || !exit.knows(written.symbol)) return fact;
    const DtypeSet both = fact.dtypes & exit.dtypes(written.symbol);
    if (!both.empty()) fact.dtypes = both;
    fact.looked_at = fact.looked_at || exit.looked_at(written.symbol);
    return fact;
  }

  const Sites* sites_ = nullptr;
  std::vector<Written> written_;
};

}  // namespace

static void add_initializers(const ASTContext& context, const Sites& sites,
                             std::vector<FieldWrite>& out) {
  for (const auto& [init, field] : sites) {
    Dtypes dtypes(context);
    const bool is_dtype = holds_dtype(init->getType()) || holds_dtype(stripped(init)->getType());
    const int symbol = is_dtype ? dtypes.dtype(init) : dtypes.tensor(init);
    out.push_back({field, symbol < 0 ? TensorFact() : dtypes.fact_of(symbol)});
  }
}

void find_field_writes(ASTContext& context, SourceFacts& facts) {
  FieldUses uses(context, facts);
  uses.walk();
  uses.finish();
  Walk walk(context, facts, Walk::Rounds::kEach);
  auto owned = std::make_unique<FieldWrites>(walk.at());
  FieldWrites& writes = *owned;
  walk.at().watchers.push_back(std::move(owned));
  for (const auto& [function, sites] : uses.writers) writes.find(walk, function, sites);
  add_initializers(context, uses.initializers, facts.field_writes);
}

}  // namespace dtypecheck::analyzer
