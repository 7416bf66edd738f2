// tidy_plugin.cpp: the same checks inside a stock clang-tidy.
//   clang-tidy-19 -load libdtypecheck-tidy.so -checks='-*,dtypecheck-*' file.cpp -- …
// Every check of check_list.inc is one check of clang-tidy; they share one walk through the file.
// A finding that is only a note comes as a remark.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>

#include <memory>
#include <optional>

#include "analyzer/allowed.h"
#include "analyzer/check.h"
#include "analyzer/clang/file_facts.h"
#include "analyzer/project/fields.h"
#include "analyzer/project/tree.h"

namespace dtypecheck::analyzer {
namespace {

using namespace clang;

// What was found in the translation unit that clang-tidy is at, for all checks of it.
class CurrentFacts {
 public:
  void forget() { facts_.reset(); }
  const SourceFacts& of(ASTContext& context) {
    if (!facts_) {
      facts_ = facts_of(context);
      std::vector<SourceFacts> alone = {std::move(*facts_)};
      join_fields(alone);
      facts_ = std::move(alone.front());
      look_around(*facts_);
    }
    return *facts_;
  }

 private:
  std::optional<SourceFacts> facts_;
};

class TidyCheck : public tidy::ClangTidyCheck {
 public:
  TidyCheck(StringRef name, tidy::ClangTidyContext* context, const Check& check,
            std::shared_ptr<CurrentFacts> facts)
      : ClangTidyCheck(name, context), check_(check), facts_(std::move(facts)) {}

  void registerMatchers(ast_matchers::MatchFinder* finder) override {
    finder->addMatcher(ast_matchers::translationUnitDecl().bind("unit"), this);
  }
  void onStartOfTranslationUnit() override { facts_->forget(); }

  void check(const ast_matchers::MatchFinder::MatchResult& result) override {
    CheckFindings found;
    check_.check(facts_->of(*result.Context), found);
    for (const Finding& finding : found.ordered()) report(finding, *result.SourceManager);
  }

 private:
  static SourceLocation location(const SourceLine& line, int column, SourceManager& sources) {
    const auto file = sources.getFileManager().getOptionalFileRef(line.file);
    if (!file) return {};
    return sources.translateFileLineCol(&file->getFileEntry(), line.line, column);
  }

  void report(const Finding& finding, SourceManager& sources) {
    const SourceLocation at = location(finding.site.line, finding.column, sources);
    if (at.isInvalid()) return;
    const Allowances allowed(sources.getBufferData(sources.getFileID(at)));
    if (allowed.allows(finding.rule, finding.site.line.line)) return;
    const bool is_note = finding.severity == Severity::kNote;
    {
      auto said = diag(at, "%0", is_note ? DiagnosticIDs::Remark : DiagnosticIDs::Warning);
      said << finding.message;
      for (const SourceEdit& edit : finding.edits) {
        const SourceLocation begin = location({edit.file, edit.line, ""}, edit.column, sources);
        if (begin.isInvalid()) continue;
        const SourceLocation end = begin.getLocWithOffset(static_cast<int>(edit.old_text.size()));
        const auto range = CharSourceRange::getCharRange(begin, end);
        if (edit.old_text.empty())
          said << FixItHint::CreateInsertion(begin, edit.new_text);
        else
          said << FixItHint::CreateReplacement(range, edit.new_text);
      }
    }
    for (const NotedPlace& place : finding.places) {
      const SourceLocation there = location(place.line, place.column, sources);
      if (there.isValid()) diag(there, "also %0", DiagnosticIDs::Note) << place.note;
    }
  }

  const Check& check_;
  std::shared_ptr<CurrentFacts> facts_;
};

class TidyModule : public tidy::ClangTidyModule {
 public:
  void addCheckFactories(tidy::ClangTidyCheckFactories& factories) override {
    const auto facts = std::make_shared<CurrentFacts>();
    for (const Check* check : all_checks()) {
      factories.registerCheckFactory(
          std::string("dtypecheck-") + check->doc.id,
          [check, facts](StringRef name, tidy::ClangTidyContext* context) {
            return std::make_unique<TidyCheck>(name, context, *check, facts);
          });
    }
  }
};

const tidy::ClangTidyModuleRegistry::Add<TidyModule> kModule("dtypecheck-module",
                                                             "dtype faults in LibTorch code");

}  // namespace
}  // namespace dtypecheck::analyzer
