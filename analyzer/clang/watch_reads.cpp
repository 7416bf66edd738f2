// watch_reads.cpp: a tensor's memory that is read as a C++ type.
#include <clang/AST/DeclTemplate.h>
#include <clang/Basic/SourceManager.h>

#include <tuple>

#include "analyzer/clang/check_sites.h"
#include "analyzer/clang/functions.h"
#include "analyzer/clang/watcher.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

bool read_kind(llvm::StringRef name, ReadAs& how) {
  if (name == "data_ptr" || name == "const_data_ptr" || name == "mutable_data_ptr" ||
      name == "data") {
    how = ReadAs::kPointer;
  } else if (name == "accessor" || name == "packed_accessor" || name == "packed_accessor32" ||
             name == "packed_accessor64" || name == "generic_packed_accessor") {
    how = ReadAs::kAccessor;
  } else if (name == "item") {
    how = ReadAs::kItem;
  } else {
    return false;
  }
  return true;
}

// The type as the source writes it, "scalar_t", and not what it is a name for.
std::string written(QualType type) {
  const bool is_substituted = type->getAs<SubstTemplateTypeParmType>() != nullptr;
  if (is_substituted && type->isSpecificBuiltinType(BuiltinType::Long)) return "int64_t";
  return type.getUnqualifiedType().getAsString(PrintingPolicy(LangOptions()));
}

SourceLocation member_location(const CallExpr* call) {
  const Expr* callee = call->getCallee()->IgnoreParenImpCasts();
  if (const auto* member = dyn_cast<MemberExpr>(callee)) return member->getMemberLoc();
  if (const auto* member = dyn_cast<UnresolvedMemberExpr>(callee)) return member->getMemberLoc();
  if (const auto* member = dyn_cast<CXXDependentScopeMemberExpr>(callee)) {
    return member->getMemberLoc();
  }
  return call->getBeginLoc();
}

// Whether the macro of a dispatch runs what is written there in each of its cases.
bool is_in_all_cases(const SwitchStmt* stmt, SourceLocation written, const SourceManager& sources) {
  for (const SwitchCase* one = stmt->getSwitchCaseList(); one; one = one->getNextSwitchCase()) {
    bool is_there = isa<DefaultStmt>(one);
    for_each_expr(one->getSubStmt(), [&](const Expr* expr) {
      const auto* lambda = dyn_cast<LambdaExpr>(expr);
      is_there = is_there || (lambda != nullptr &&
                              sources.getSpellingLoc(lambda->getBody()->getBeginLoc()) == written);
    });
    if (!is_there) return false;
  }
  return true;
}

void set_site(Read& read, const CheckSite& site) {
  read.check_at = site.begin;
  read.checked_to = site.end;
  read.outer = site.outer;
}

// using scalar_t = …, as each case of a dispatch has one of its own.
bool is_local_name(QualType type) {
  const auto* alias = type->getAs<TypedefType>();
  return alias != nullptr && alias->getDecl()->getDeclContext()->isFunctionOrMethod();
}

// The parameter of the class template that a member function belongs to, not one of its own.
bool is_of_class(QualType type, const FunctionDecl* function) {
  const auto* parameter = type->getAs<TemplateTypeParmType>();
  const auto* method = dyn_cast<CXXMethodDecl>(function);
  const ClassTemplateDecl* made = parameter == nullptr || method == nullptr
                                      ? nullptr
                                      : method->getParent()->getDescribedClassTemplate();
  return made != nullptr && made->getTemplateParameters()->getDepth() == parameter->getDepth();
}

class Reads : public Watcher {
 public:
  using Watcher::Watcher;
  void call(const CallExpr* call) override {
    if (const auto member = member_call(call)) {
      read_of(*member);
      scalar_of(*member);
    }
  }
  void call_unseen(const CallExpr* call) override { hand_on_arguments(call); }
  // The parameters that are pointers without a type.
  void enter() override {
    pointers_.clear();
    for (size_t i = 0; i < at_.parameters.size(); ++i) {
      const ParmVarDecl* parameter = at_.stack.front()->getParamDecl(i);
      if (!parameter->getType()->isVoidPointerType()) continue;
      const int position = static_cast<int>(i);
      pointers_[parameter] = {.symbol = at_.parameters[i], .parameter = position};
      add_use({.function = at_.entry, .parameter = position});
    }
  }

  void expr(const Expr* one) override {
    if (const auto* list = dyn_cast<InitListExpr>(one)) hand_on_fields(list);
    if (const auto* cast = dyn_cast<ExplicitCastExpr>(one)) cast_of(cast);
  }

  void bind(const VarDecl* variable, const Expr* value) override {
    if (!variable->getType()->isPointerType()) return;
    if (const Untyped* pointer = untyped(value)) pointers_.insert_or_assign(variable, *pointer);
  }

  void assign(const BinaryOperator* assignment) override {
    const Untyped* pointer = untyped(assignment->getRHS());
    const Expr* written = stripped(assignment->getLHS());
    const auto* to = dyn_cast<DeclRefExpr>(written);
    if (pointer != nullptr && to != nullptr) pointers_.insert_or_assign(to->getDecl(), *pointer);
    const auto* field = dyn_cast<MemberExpr>(written);
    if (field != nullptr && field->getType()->isVoidPointerType())
      hand_on(assignment->getRHS(), field->getMemberDecl()->getNameAsString(), -1);
  }

 private:
  struct Untyped {
    int symbol;
    TensorFact fact;
    CheckSite site;
    Place place;  // where the pointer was taken
    Place in_macro;
    std::string function;
    int parameter = -1;  // of the entry function, where it is the pointer's own; -1: a tensor's
  };

  // What a name that the project gave to a type stands for: " (float)" behind T, "" behind int64_t,
  // and in a dispatch, where each case may have another.
  std::string meaning(QualType type) const {
    const auto* name = type->getAs<TypedefType>();
    if (name == nullptr || type->isDependentType() || !at_.is_ours(name->getDecl()->getLocation()))
      return "";
    if (llvm::any_of(at_.switches, [](const Switch& over) { return over.symbol >= 0; })) return "";
    const std::string meant = written(type.getCanonicalType());
    return meant == written(type) ? "" : " (" + meant + ")";
  }

  // The level of the statement that dispatches, where this one is the body that each case runs;
  // else the level itself.
  size_t level_around(size_t level) const {
    const OpenBlock& body = at_.levels[level];
    const SourceManager& sources = context_.getSourceManager();
    const SourceLocation written = sources.getSpellingLoc(body.block->getLBracLoc());
    const bool is_body =
        body.is_called_lambda && llvm::any_of(at_.switches, [&](const Switch& over) {
          return over.symbol >= 0 && over.stmt != nullptr &&
                 is_in_all_cases(over.stmt, written, sources);
        });
    if (!is_body) return level;
    const auto is_of_macro = [&](size_t at) {
      return written_place(context_, at_.levels[at].block->getLBracLoc()).line == 0;
    };
    size_t outer = level;
    while (outer > 0 && is_of_macro(outer - 1)) --outer;
    const bool is_dispatch =
        outer > 0 && outer < level && at_.levels[outer - 1].statement != nullptr;
    return is_dispatch ? outer - 1 : level;
  }

  // Where a check of the tensor could be written.
  CheckSite site_of(const MemberCall& call) {
    const bool is_plain = !call.base->getType()->isPointerType() && is_tensor(call.base->getType());
    const Stmt* statement = at_.levels.empty() ? nullptr : at_.levels.back().statement;
    const bool is_written =
        statement != nullptr && written_place(context_, statement->getBeginLoc()).line > 0;
    if (!is_written || !is_plain) return {};
    std::set<std::string> names = {root_of(dtypes_.fact(call.base).name)};
    for (const Switch& over : at_.switches) {
      if (over.symbol >= 0) names.insert(root_of(over.fact.name));
    }
    size_t level = at_.levels.size() - 1;
    CheckSite site = check_site(context_, at_.levels[level].block, statement, names, reached_);
    while (site.is_first) {
      const size_t outer = level_around(level);
      if (outer == level) break;
      level = outer;
      const CheckSite further = check_site(context_, at_.levels[level].block,
                                           at_.levels[level].statement, names, reached_);
      if (further.begin.line == 0) break;
      site = further;
    }
    add_outer_sites(site, level, names);
    return site;
  }

  void add_outer_sites(CheckSite& site, size_t level, const std::set<std::string>& names) {
    bool is_first = site.is_first;
    while (is_first && level > 0 && !at_.levels[level].is_called_lambda) {
      const auto [branch, branches] =
          branch_of(at_.levels[level - 1].whole, at_.levels[level].block, names);
      if (branches == 0) return;
      --level;
      const CheckSite outer =
          check_site(context_, at_.levels[level].block, at_.levels[level].whole, names, reached_);
      if (outer.begin.line == 0) return;
      site.outer.push_back({outer.begin, outer.end, branch, branches});
      is_first = outer.is_first;
    }
  }

  // template <class T> T value_at(const at::Tensor& x, int i) { return x.data_ptr<T>()[i]; }
  // Tensor and type are the caller's, and each of its calls is a read of its own, which it has to
  // check.
  void leave_to_caller(Read& read, const Expr* tensor, QualType type) const {
    const auto* body = dyn_cast_or_null<CompoundStmt>(at_.stack.back()->getBody());
    constexpr unsigned kFewStatements = 3;  // a check of the index, the pointer, the return
    const bool is_short = body != nullptr && !body->body_empty() &&
                          body->size() <= kFewStatements && isa<ReturnStmt>(body->body_back());
    if (at_.call_sites.empty() || !is_short || !type->getAs<SubstTemplateTypeParmType>()) return;
    const auto* reference = dyn_cast<DeclRefExpr>(stripped(tensor));
    const auto* parameter =
        reference == nullptr ? nullptr : dyn_cast<ParmVarDecl>(reference->getDecl());
    if (parameter == nullptr || parameter->getDeclContext() != at_.stack.back()) return;
    const CallSite& site = at_.call_sites.back();
    if (site.call == nullptr) return;
    const int at = static_cast<int>(parameter->getFunctionScopeIndex()) + site.first;
    if (at < 0 || at >= static_cast<int>(site.call->getNumArgs()) || site.place.line == 0) return;
    read.place = site.place;
    read.in_macro = {};
    read.function = at_.stack[at_.stack.size() - 2]->getNameAsString();
    read.tensor.name = dtypes_.text(stripped(site.call->getArg(at)));
    read.check_at = {};  // what a check there would name is the helper's
    read.type_place = {};
  }

  // loss.item().toFloat(), which item<float>() is short for.
  void scalar_of(const MemberCall& call) {
    const bool is_double = call.name == "toDouble";
    const auto item =
        is_double || call.name == "toFloat" ? member_call(stripped(call.base)) : std::nullopt;
    if (!item || item->name != "item" || !item->types.empty() || !is_tensor(item->base->getType()))
      return;
    Read read;
    read.place = place_of(context_, member_location(item->call));
    read.how = ReadAs::kItem;
    read.tensor = dtypes_.fact(item->base);
    add_read(std::move(read), dtypes_.tensor(item->base),
             is_double ? context_.DoubleTy : context_.FloatTy);
  }

  void read_of(const MemberCall& call) {
    ReadAs how;
    if (!read_kind(call.name, how) || !is_tensor(call.base->getType())) return;
    if (call.types.empty()) {
      if (how == ReadAs::kPointer && call.name != "data") {
        const TensorFact fact = dtypes_.fact(call.base);
        // Bytes that the function asks the dtype of may be read as another one further down.
        const CheckSite site = asks_for_dtype_of(fact.name) ? CheckSite() : site_of(call);
        seen_untyped_.insert_or_assign(
            call.call, Untyped{dtypes_.tensor(call.base), fact, site,
                               place_of(context_, member_location(call.call)),
                               place_in_macro(context_, member_location(call.call)), at_.function});
      }
      return;
    }
    const TemplateArgument& argument = call.types.front().getArgument();
    if (argument.getKind() != TemplateArgument::Type) return;
    Read read;
    read.place = place_of(context_, member_location(call.call));
    read.in_macro = place_in_macro(context_, member_location(call.call));
    read.how = how;
    read.type_place = written_place(context_, call.types.front().getSourceRange().getBegin());
    // What a macro of the project names may be another type in another build.
    if (read.type_place.line > 0) set_site(read, site_of(call));
    read.tensor = dtypes_.fact(call.base);
    leave_to_caller(read, call.base, argument.getAsType());
    add_read(std::move(read), dtypes_.tensor(call.base), argument.getAsType());
  }

  const Untyped* untyped(const Expr* expr) {
    for (;;) {
      const Expr* bare = stripped(expr);
      if (const auto* cast = dyn_cast<ExplicitCastExpr>(bare)) {
        if (!cast->getSubExpr()->getType()->isPointerType()) return nullptr;
        expr = cast->getSubExpr();
        continue;
      }
      if (const auto* choice =
              dyn_cast<ConditionalOperator>(bare)) {  // b ? b->data_ptr() : nullptr
        const bool is_first = untyped(choice->getTrueExpr()) != nullptr;
        expr = is_first ? choice->getTrueExpr() : choice->getFalseExpr();
        continue;
      }
      if (const auto* reference = dyn_cast<DeclRefExpr>(bare)) {
        const auto known = pointers_.find(reference->getDecl());
        const bool is_void = reference->getType()->isVoidPointerType();
        return known == pointers_.end() || !is_void ? nullptr : &known->second;
      }
      const auto seen = seen_untyped_.find(bare);
      return seen == seen_untyped_.end() ? nullptr : &seen->second;
    }
  }

  void cast_of(const ExplicitCastExpr* cast) {
    if (!cast->getType()->isPointerType()) return;
    const QualType to = cast->getTypeAsWritten()->getPointeeType();
    if (to.isNull() || to->isVoidType() || !cast->getSubExpr()->getType()->isVoidPointerType())
      return;
    const Untyped* pointer = untyped(cast->getSubExpr());
    if (pointer == nullptr || !dtypes_.state.knows(pointer->symbol)) return;
    if (pointer->parameter >= 0) {
      return add_use({at_.entry, pointer->parameter, written(to), element_dtypes(to),
                      place_of(context_, cast->getBeginLoc())});
    }
    Read read;
    // A check belongs where the pointer is taken, which may be in a caller of what casts it.
    read.place = pointer->place;
    read.in_macro = pointer->in_macro;
    read.function = pointer->function;
    read.cast = place_of(context_, cast->getBeginLoc());
    read.how = ReadAs::kCast;
    set_site(read, pointer->site);
    read.tensor = dtypes_.fact_of(pointer->symbol);
    read.tensor.name = pointer->fact.name;
    if (const auto taken = member_call(stripped(cast->getSubExpr())))
      leave_to_caller(read, taken->base, to);
    add_read(std::move(read), pointer->symbol, to);
  }

  // The names of the tensors whose dtype, or size of an element, the function asks for anywhere:
  // what it does with the answer may not be followed, so what it hands on of them is not reported.
  bool asks_for_dtype_of(const std::string& tensor) {
    const auto [at, is_new] = asked_.try_emplace(at_.stack.back());
    if (is_new) {
      for_each_expr(at_.stack.back()->getBody(), [&](const Expr* expr) {
        const auto member = member_call(expr);
        if (!member || !may_hold_tensor(member->base->getType())) return;
        for (const char* name : {"scalar_type", "dtype", "type", "element_size", "itemsize",
                                 "nbytes", "is_floating_point"}) {
          if (member->name == name) at->second.insert(dtypes_.text(stripped(member->base)));
        }
      });
    }
    return at->second.contains(tensor);
  }

  void add_use(PointerUse use) {
    if (!use.function.empty()) facts_.pointer_uses.push_back(std::move(use));
  }

  // The pointer goes on without a type: what it is read as is decided elsewhere.
  void hand_on(const Expr* expr, std::string to, int position) {
    // A cast said which: run((const float*)x.data_ptr()).
    const bool has_type = !expr->IgnoreParenImpCasts()->getType()->isVoidPointerType() &&
                          !isa<ConditionalOperator>(expr->IgnoreParenImpCasts());
    const Untyped* pointer = has_type ? nullptr : untyped(expr);
    if (pointer == nullptr || !dtypes_.state.knows(pointer->symbol)) return;
    if (pointer->parameter >= 0) {
      return add_use({.function = at_.entry,
                      .parameter = pointer->parameter,
                      .handed_to = std::move(to),
                      .argument = position});
    }
    Read read;
    read.place = pointer->place;
    read.in_macro = pointer->in_macro;
    read.function = pointer->function;
    read.how = ReadAs::kHandedOn;
    set_site(read, pointer->site);
    read.tensor = dtypes_.fact_of(pointer->symbol);
    read.tensor.name = pointer->fact.name;
    read.handed_to = std::move(to);
    read.argument = position;
    if (!read.tensor.is_unchecked() || asks_for_dtype_of(read.tensor.name)) return;
    add_read(std::move(read), pointer->symbol, QualType());
  }

  void hand_on_arguments(const CallExpr* call) {
    const FunctionDecl* callee = call->getDirectCallee();
    if (callee == nullptr || !at_.is_ours(callee->getLocation())) return;
    for (unsigned i = 0; i < call->getNumArgs() && i < callee->getNumParams(); ++i) {
      if (!callee->getParamDecl(i)->getType()->isVoidPointerType()) continue;
      hand_on(call->getArg(i), outside_name(callee), static_cast<int>(i));
    }
  }

  // Params{x.data_ptr(), …}; also run({x.data_ptr(), …}) where no header declares run().
  void hand_on_fields(const InitListExpr* list) {
    const QualType type = list->getType();
    const CXXRecordDecl* record = type.isNull() ? nullptr : type->getAsCXXRecordDecl();
    const bool is_unknown = type.isNull() || type->isVoidType() || type->isDependentType();
    if (record != nullptr ? !at_.is_ours(record->getLocation()) : !is_unknown) return;
    for (const Expr* init : list->inits()) {
      const QualType given = init->getType();
      if (!given.isNull() && given->isVoidPointerType())
        hand_on(init, record == nullptr ? "" : record->getNameAsString(), -1);
    }
  }

  // The innermost dispatch whose type this is: by the alias that its case declares, or, in a
  // function template that a case calls, by the dtype of the case.
  const Switch* dispatch_of(QualType type, DtypeSet accepts) const {
    const auto* alias = type->getAs<TypedefType>();
    const bool is_parameter = type->getAs<SubstTemplateTypeParmType>() != nullptr;
    for (auto over = at_.switches.rbegin(); over != at_.switches.rend(); ++over) {
      if (over->symbol < 0) continue;
      if (alias != nullptr && over->aliases.contains(alias->getDecl())) return &*over;
      const bool is_of_case = is_parameter && dtypes_.state.knows(over->symbol) &&
                              dtypes_.state.dtypes(over->symbol) == accepts;
      if (is_of_case) return &*over;
    }
    return nullptr;
  }

  // In a case of a macro that dispatches on this tensor.
  bool is_in_dispatch_on(int symbol) const {
    return llvm::any_of(at_.switches, [&](const Switch& over) {
      return over.symbol >= 0 && !over.aliases.empty() && dtypes_.state.knows(over.symbol) &&
             dtypes_.state.same(symbol, over.symbol);
    });
  }

  // A line that is walked several times, once for each case of a dispatch and each caller, is one
  // read; the least checked of them counts.
  void add_read(Read read, int symbol, QualType type) {
    if (read.place.line == 0) return;
    if (read.function.empty()) read.function = at_.function;
    read.callers = at_.callers;
    if (!at_.call_sites.empty() && read.how != ReadAs::kCast)
      read.given = at_.call_sites.front().place;
    const bool has_type = !type.isNull();
    if (has_type) {
      read.type = written(type) + meaning(type);
      read.accepts = element_dtypes(type);
      const bool is_of_libtorch = read.how != ReadAs::kCast && read.how != ReadAs::kHandedOn;
      read.is_written_long =
          is_written_long(type) || (is_of_libtorch && is_written_long_long(type));
      read.is_of_class = is_of_class(type, at_.stack.back());
    }
    read.entry = at_.entry;
    read.parameter = at_.parameter_of(symbol);
    // The source says a template's parameter there, which others instantiate for other dtypes.
    const bool is_of_template = has_type && type->getAs<SubstTemplateTypeParmType>() != nullptr;
    if (is_of_template || read.is_of_class) read.check_at = {};
    if (const Switch* over = has_type ? dispatch_of(type, read.accepts) : nullptr) {
      if (over->function != read.function) read.check_at = {};  // its tensor has no name there
      read.in_dispatch = true;
      read.dispatched = over->fact;
      read.dispatched_parameter = at_.parameter_of(over->symbol);
      const bool known = dtypes_.state.knows(over->symbol);
      const DtypeSet dtypes = dtypes_.state.dtypes(symbol);
      read.has_dispatched_dtype = (known && dtypes_.state.same(symbol, over->symbol)) ||
                                  (!read.accepts.empty() && dtypes.within(read.accepts));
    }
    read.ignores_dispatch =
        has_type && !read.in_dispatch && !is_local_name(type) && is_in_dispatch_on(symbol);
    const auto key = std::make_tuple(read.place, read.cast, read.tensor.name, read.how);
    const auto [at, is_new] = reads_.try_emplace(key, facts_.reads.size());
    if (is_new) {
      facts_.reads.push_back(std::move(read));
      return;
    }
    Read& known = facts_.reads[at->second];
    if (known.ignores_dispatch && read.ignores_dispatch) known.tensor.dtypes |= read.tensor.dtypes;
    const bool is_less_checked = read.tensor.is_unchecked() && !known.tensor.is_unchecked();
    const bool is_other_case = known.has_dispatched_dtype && !read.has_dispatched_dtype;
    if (is_less_checked || is_other_case) known = std::move(read);
  }

  std::map<const Decl*, Untyped> pointers_;
  std::map<const Expr*, Untyped> seen_untyped_;
  std::map<const FunctionDecl*, std::set<std::string>> asked_;  // whose dtypes bodies ask for
  Reached reached_;
  std::map<std::tuple<Place, Place, std::string, ReadAs>, size_t> reads_;
};

}  // namespace

std::unique_ptr<Watcher> watch_reads(Whereabouts& at) { return std::make_unique<Reads>(at); }

}  // namespace dtypecheck::analyzer
