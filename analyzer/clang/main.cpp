// dtypecheck-analyzer: parses one source file and prints its facts as JSON. A process of its own
// for each file: what crashes Clang or takes all memory costs that file.
//   dtypecheck-analyzer FILE CLANG_ARGUMENT…
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Tooling/Tooling.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "analyzer/clang/file_facts.h"
#include "analyzer/clang/hidden_headers.h"

namespace dtypecheck::analyzer {
namespace {

using namespace clang;

constexpr size_t kMaxProblems = 5;

class Problems : public DiagnosticConsumer {
 public:
  explicit Problems(SourceFacts& facts) : facts_(facts) {}

  void HandleDiagnostic(DiagnosticsEngine::Level level, const Diagnostic& info) override {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < DiagnosticsEngine::Error) return;
    ++facts_.error_count;
    if (facts_.problems.size() >= kMaxProblems) return;
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    std::string where;
    if (info.hasSourceManager() && info.getLocation().isValid()) {
      const PresumedLoc at = info.getSourceManager().getPresumedLoc(
          info.getSourceManager().getFileLoc(info.getLocation()), false);
      if (at.isValid()) {
        where = std::string(at.getFilename()) + ":" + std::to_string(at.getLine()) + ": ";
      }
    }
    facts_.problems.push_back(where + text.str().str());
  }

 private:
  SourceFacts& facts_;
};

class Includes : public PPCallbacks {
 public:
  explicit Includes(SourceFacts& facts) : facts_(facts) {}

  bool FileNotFound(StringRef name) override {
    auto& missing = facts_.missing_headers;
    if (std::find(missing.begin(), missing.end(), name) == missing.end()) {
      missing.push_back(name.str());
    }
    return false;
  }

 private:
  SourceFacts& facts_;
};

class Consumer : public ASTConsumer {
 public:
  Consumer(CompilerInstance& compiler, SourceFacts& facts) : compiler_(compiler), facts_(facts) {}

  // Bodies in headers of others hold nothing that a user can mend, and most of the parse is theirs.
  bool shouldSkipFunctionBody(Decl* decl) override {
    const SourceManager& sources = compiler_.getSourceManager();
    return sources.isInSystemHeader(sources.getExpansionLoc(decl->getLocation()));
  }

  void HandleTranslationUnit(ASTContext& context) override {
    add_facts(context, facts_);
    add_files(context.getSourceManager());
  }

 private:
  // What the facts depend on, for those who keep them.
  void add_files(const SourceManager& sources) {
    for (auto entry = sources.fileinfo_begin(); entry != sources.fileinfo_end(); ++entry) {
      llvm::SmallString<256> path = entry->first.getName();
      sources.getFileManager().makeAbsolutePath(path);
      const FileID file = sources.translateFile(entry->first);
      const bool is_system =
          file.isValid() && sources.isInSystemHeader(sources.getLocForStartOfFile(file));
      (is_system ? facts_.system_files : facts_.files).push_back(path.str().str());
    }
    std::sort(facts_.files.begin(), facts_.files.end());
    std::sort(facts_.system_files.begin(), facts_.system_files.end());
  }

  CompilerInstance& compiler_;
  SourceFacts& facts_;
};

class Action : public ASTFrontendAction {
 public:
  explicit Action(SourceFacts& facts) : facts_(facts) {}

 protected:
  bool BeginInvocation(CompilerInstance& compiler) override {
    compiler.getFrontendOpts().SkipFunctionBodies = true;  // the consumer is asked for each
    return true;
  }
  bool BeginSourceFileAction(CompilerInstance& compiler) override {
    // A header that is missing costs what needs it, not the file.
    compiler.getPreprocessor().SetSuppressIncludeNotFoundError(true);
    compiler.getPreprocessor().addPPCallbacks(std::make_unique<Includes>(facts_));
    return true;
  }
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance& compiler, StringRef) override {
    return std::make_unique<Consumer>(compiler, facts_);
  }

 private:
  SourceFacts& facts_;
};

SourceFacts analyze(const std::string& file, const std::vector<std::string>& arguments) {
  SourceFacts facts{.file = file};
  std::vector<std::string> command = {
      "clang++",         "-fsyntax-only", "-w",
      "-ferror-limit=0", "-resource-dir", DTYPECHECK_CLANG_RESOURCES};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.push_back(file);
  Problems problems(facts);
  llvm::IntrusiveRefCntPtr<FileManager> files(
      new FileManager(FileSystemOptions(), without_colliding_headers(arguments)));
  tooling::ToolInvocation invocation(command, std::make_unique<Action>(facts), files.get());
  invocation.setDiagnosticConsumer(&problems);
  invocation.run();
  return facts;
}

// A file that wants more than this is given up, rather than the machine.
void limit_memory() {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
#ifndef __SANITIZE_ADDRESS__  // its shadow is address space, too
  const rlimit memory = {6UL << 30, 6UL << 30};
  setrlimit(RLIMIT_AS, &memory);
#endif
}

}  // namespace
}  // namespace dtypecheck::analyzer

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: dtypecheck-analyzer FILE CLANG_ARGUMENT...\n", stderr);
    return 2;
  }
  dtypecheck::analyzer::limit_memory();
  const auto facts = dtypecheck::analyzer::analyze(argv[1], {argv + 2, argv + argc});
  const std::string text = dtypecheck::analyzer::facts_to_json(facts);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 2;
}
