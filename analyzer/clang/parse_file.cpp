#include "analyzer/clang/parse_file.h"

#include <clang/Basic/DiagnosticParse.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/MultiplexConsumer.h>
#include <clang/Lex/HeaderSearch.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaConsumer.h>
#include <clang/Serialization/ASTReader.h>
#include <clang/Tooling/Tooling.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "analyzer/clang/bundled_headers.h"
#include "analyzer/clang/file_facts.h"
#include "analyzer/clang/fork_server.h"
#include "analyzer/clang/hidden_headers.h"
#include "analyzer/clang/losses.h"
#include "analyzer/clang/spaced_launches.h"
#include "analyzer/clang/undeclared.h"
#include "analyzer/project/tree.h"
#include "platform/install_paths.h"

namespace dtypecheck::analyzer {
namespace {

using namespace clang;

constexpr size_t kMaxProblems = 5;
constexpr llvm::StringLiteral kJoined = "/dtypecheck/joined.h";

// How often a file is parsed again with stand-ins for what is not declared: what a type has inside
// shows when the type is known.
constexpr int kMaxRounds = 4;

struct Findings {
  SourceFacts& facts;
  Losses losses;
  Undeclared& undeclared;
  const std::string& joined;  // what is read before the file
};

class Problems : public DiagnosticConsumer {
 public:
  explicit Problems(Findings& seen)
      : facts_(seen.facts), losses_(seen.losses), undeclared_(seen.undeclared) {}

  void HandleDiagnostic(DiagnosticsEngine::Level level, const Diagnostic& info) override {
    DiagnosticConsumer::HandleDiagnostic(level, info);
    if (level < DiagnosticsEngine::Error) return;
    const bool of_others = level == DiagnosticsEngine::Error && is_of_others(info);
    undeclared_.note(info, of_others);
    if (of_others) return;
    ++facts_.error_count;
    llvm::SmallString<256> text;
    info.FormatDiagnostic(text);
    const SourceLocation location = info.hasSourceManager() ? info.getLocation() : SourceLocation();
    losses_.add({location, text.str().str(), is_syntax(info), level == DiagnosticsEngine::Fatal});
    if (facts_.problems.size() >= kMaxProblems) return;
    std::string where;
    if (location.isValid()) {
      const PresumedLoc at = info.getSourceManager().getPresumedLoc(
          info.getSourceManager().getFileLoc(location), false);
      if (at.isValid()) {
        where = std::string(at.getFilename()) + ":" + std::to_string(at.getLine()) + ": ";
      }
    }
    facts_.problems.push_back(where + text.str().str());
  }

 private:
  // Headers of others are not what the file is judged by; what it uses of them fails in its turn.
  static bool is_of_others(const Diagnostic& info) {
    if (!info.hasSourceManager() || info.getLocation().isInvalid()) return false;
    const SourceManager& sources = info.getSourceManager();
    return sources.isInSystemHeader(sources.getFileLoc(info.getLocation()));
  }
  // `using namespace` of one that is not known skips nothing else.
  static bool is_syntax(const Diagnostic& info) {
    if (info.getID() == diag::err_expected_namespace_name) return false;
    const unsigned category = DiagnosticIDs::getCategoryNumberForDiag(info.getID());
    return DiagnosticIDs::getCategoryNameFromID(category) == "Parse Issue";
  }

  SourceFacts& facts_;
  Losses& losses_;
  Undeclared& undeclared_;
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

// Absolute, and where one of the bundled headers stands in for it, that one's: what is to be asked
// later whether it has changed has to be on the disk.
std::string path_on_disk(FileManager& files, StringRef name) {
  llvm::SmallString<256> path = name;
  files.makeAbsolutePath(path);
  const auto status = files.getVirtualFileSystem().status(path);
  return status && status->ExposesExternalVFSPath ? status->getName().str() : path.str().str();
}

// Most of a parse goes into functions of LibTorch's headers, in which a user can mend nothing:
// their bodies are skipped.
class Skipping : public ASTConsumer {
 public:
  explicit Skipping(CompilerInstance& compiler) : compiler_(compiler) {}

  bool shouldSkipFunctionBody(Decl* decl) override {
    const SourceManager& sources = compiler_.getSourceManager();
    const SourceLocation at = sources.getExpansionLoc(decl->getLocation());
    if (sources.isInSystemHeader(at)) return true;
    const FileID file = sources.getFileID(at);
    if (file == sources.getMainFileID()) return false;
    const auto [known, is_new] = of_other_things_.try_emplace(file, false);
    if (is_new) known->second = is_large_of_other_things(sources.getBufferData(file));
    return known->second;
  }

 protected:
  CompilerInstance& compiler_;

 private:
  std::map<FileID, bool> of_other_things_;
};

class Consumer : public Skipping {
 public:
  Consumer(CompilerInstance& compiler, SourceFacts& facts, const Losses& losses, bool has_stand_ins,
           bool is_joined)
      : Skipping(compiler),
        facts_(facts),
        losses_(losses),
        has_stand_ins_(has_stand_ins),
        is_joined_(is_joined) {}

  void HandleTranslationUnit(ASTContext& context) override {
    if (compiler_.getASTReader()) leave_out_pch(context);
    is_joined_ ? add_joined_facts(context, facts_) : add_facts(context, facts_);
    losses_.add_to(facts_, context, has_stand_ins_);
    add_files(context.getSourceManager());
    for (std::vector<std::string>* files : {&facts_.files, &facts_.system_files}) {
      std::sort(files->begin(), files->end());
      files->erase(std::unique(files->begin(), files->end()), files->end());
    }
  }

 private:
  // A walk over the whole file would load each declaration of the precompiled headers, which is
  // what they are to save; nothing in them is looked at.
  static void leave_out_pch(ASTContext& context) {
    std::vector<Decl*> own;
    for (Decl* decl : context.getTranslationUnitDecl()->noload_decls()) {
      if (!decl->isFromASTFile()) own.push_back(decl);
    }
    context.setTraversalScope(own);
  }

  // The files that the facts were read from: a cache keeps facts as long as none of them changes.
  // Those of a precompiled header are known to whoever gave it.
  void add_files(const SourceManager& sources) {
    for (unsigned i = 0; i < sources.local_sloc_entry_size(); ++i) {
      const SrcMgr::SLocEntry& entry = sources.getLocalSLocEntry(i);
      const OptionalFileEntryRef file =
          entry.isFile() ? entry.getFile().getContentCache().OrigEntry : std::nullopt;
      if (file) add_file(*file, SrcMgr::isSystem(entry.getFile().getFileCharacteristic()));
    }
  }
  void add_file(FileEntryRef file, bool is_system) {
    const StringRef name = file.getName();
    if (name == kStandIns || name == kJoined || name == placeholder_of(facts_.file)) return;
    (is_system ? facts_.system_files : facts_.files)
        .push_back(path_on_disk(compiler_.getFileManager(), file.getName()));
  }

  SourceFacts& facts_;
  const Losses& losses_;
  const bool has_stand_ins_;
  const bool is_joined_;
};

void prepare(CompilerInstance& compiler) {
  FrontendOptions& options = compiler.getFrontendOpts();
  options.SkipFunctionBodies = true;                      // the consumer is asked for each
  options.DisableFree = true;                             // the process ends with it
  compiler.getLangOpts().PCHInstantiateTemplates = true;  // once, not in each file
  // In headers of others, as in CUDA's beside Clang's own: a parse without the PCH passes over
  // them.
  compiler.getPreprocessorOpts().AllowPCHWithCompilerErrors = true;
}

// A missing header would end the parse. It is noted instead, and only what needs it is not
// understood.
void note_missing_headers(CompilerInstance& compiler, SourceFacts& facts) {
  compiler.getPreprocessor().SetSuppressIncludeNotFoundError(true);
  compiler.getPreprocessor().addPPCallbacks(std::make_unique<Includes>(facts));
}

// Of sources that are read as one, each includes its headers, which may do without a guard.
class OnceEach : public PPCallbacks {
 public:
  explicit OnceEach(Preprocessor& preprocessor) : preprocessor_(preprocessor) {}
  void FileChanged(SourceLocation at, FileChangeReason reason, SrcMgr::CharacteristicKind kind,
                   FileID) override {
    const SourceManager& sources = preprocessor_.getSourceManager();
    const auto file = sources.getFileEntryRefForID(sources.getFileID(at));
    if (reason != EnterFile || kind != SrcMgr::C_User || !file) return;
    const StringRef ending = llvm::sys::path::extension(file->getName());
    if (ending == ".h" || ending == ".hpp" || ending == ".hh" || ending == ".hxx")
      preprocessor_.getHeaderSearchInfo().MarkFileIncludeOnce(*file);
  }

 private:
  Preprocessor& preprocessor_;
};

class ParseAction : public ASTFrontendAction {
 public:
  ParseAction(Findings& seen, std::string pch, bool waits)
      : facts_(seen.facts),
        losses_(seen.losses),
        pch_(std::move(pch)),
        waits_(waits),
        is_joined_(!seen.joined.empty()) {}

 protected:
  bool BeginInvocation(CompilerInstance& compiler) override {
    prepare(compiler);
    PreprocessorOptions& options = compiler.getPreprocessorOpts();
    options.ImplicitPCHInclude = pch_;
    // Whoever gave it has asked about each of its thousands of headers.
    options.DisablePCHOrModuleValidation = DisableValidationForModuleKind::PCH;
    return true;
  }
  bool BeginSourceFileAction(CompilerInstance& compiler) override {
    note_missing_headers(compiler, facts_);
    losses_.watch(compiler.getPreprocessor());
    Preprocessor& preprocessor = compiler.getPreprocessor();
    if (is_joined_) preprocessor.addPPCallbacks(std::make_unique<OnceEach>(preprocessor));
    return true;
  }
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance& compiler, StringRef) override {
    const auto& included = compiler.getPreprocessorOpts().Includes;
    const bool has_stand_ins = llvm::is_contained(included, kStandIns.str());
    return std::make_unique<Consumer>(compiler, facts_, losses_, has_stand_ins, is_joined_);
  }
  void ExecuteAction() override {
    CompilerInstance& compiler = getCompilerInstance();
    if (!waits_) return ASTFrontendAction::ExecuteAction();
    if (!compiler.hasPreprocessor() || !compiler.getASTReader()) return;
    compiler.createSema(getTranslationUnitKind(), nullptr);
    serve_parses(compiler, facts_.file);
    ASTFrontendAction::ExecuteAction();
    report_loaded();
  }

 private:
  SourceFacts& facts_;
  Losses& losses_;
  const std::string pch_;
  const bool waits_;  // for when it is asked
  const bool is_joined_;
};

// Virtual functions of classes that the headers make objects of, and bodies of templates that they
// call: each parse with the precompiled headers would instantiate them anew, a third of its time,
// and nobody looks at them. What a type or a constant asks for was instantiated at once.
class WithoutPending : public SemaConsumer {
 public:
  void InitializeSema(Sema& sema) override { sema_ = &sema; }
  void ForgetSema() override { sema_ = nullptr; }
  void HandleTranslationUnit(ASTContext&) override {
    sema_->PendingInstantiations.clear();
    sema_->VTableUses.clear();
    sema_->VTablesUsed.clear();
  }

 private:
  Sema* sema_ = nullptr;
};

class PchAction : public GeneratePCHAction {
 public:
  PchAction(SourceFacts& seen, PchParts& parts, const std::string& pch)
      : seen_(seen), parts_(parts), pch_(pch) {}

 protected:
  bool BeginInvocation(CompilerInstance& compiler) override {
    prepare(compiler);
    compiler.getFrontendOpts().OutputFile = pch_;
    compiler.getFrontendOpts().ProgramAction = frontend::GeneratePCH;
    compiler.getFrontendOpts().IncludeTimestamps = false;  // it is known by the headers' content
    return GeneratePCHAction::BeginInvocation(compiler);
  }
  bool BeginSourceFileAction(CompilerInstance& compiler) override {
    note_missing_headers(compiler, seen_);
    return GeneratePCHAction::BeginSourceFileAction(compiler);
  }
  std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance& compiler,
                                                 StringRef file) override {
    std::vector<std::unique_ptr<ASTConsumer>> consumers;
    consumers.push_back(std::make_unique<WithoutPending>());
    consumers.push_back(GeneratePCHAction::CreateASTConsumer(compiler, file));
    if (consumers.back() == nullptr) return nullptr;
    consumers.push_back(std::make_unique<Skipping>(compiler));
    return std::make_unique<MultiplexConsumer>(std::move(consumers));
  }
  void EndSourceFileAction() override {
    CompilerInstance& compiler = getCompilerInstance();
    const SourceManager& sources = compiler.getSourceManager();
    for (auto file = sources.fileinfo_begin(); file != sources.fileinfo_end(); ++file) {
      parts_.files.push_back(path_on_disk(compiler.getFileManager(), file->first.getName()));
    }
    for (const DirectoryLookup& at :
         compiler.getPreprocessor().getHeaderSearchInfo().search_dir_range()) {
      parts_.folders.push_back(at.getName().str());
    }
    GeneratePCHAction::EndSourceFileAction();
  }

 private:
  SourceFacts& seen_;
  PchParts& parts_;
  const std::string& pch_;
};

// Clang's own headers: of the wheel that this came in, or of the Clang that it was built with.
std::string clang_resources() {
  const auto prefix = std::filesystem::path(own_executable()).parent_path().parent_path();
  const auto beside = prefix / "lib/clang/19";
  return std::filesystem::exists(beside) ? beside.string() : DTYPECHECK_CLANG_RESOURCES;
}

// False when Clang gave the file up. `waiting`: the name it has until it is asked for.
bool run(std::unique_ptr<FrontendAction> action, Findings& seen,
         const std::vector<std::string>& arguments, const std::string& stand_ins,
         const std::string& waiting = "") {
  // Clang corrects misspelt names by those that it has seen. Such a guess is no fact, and it
  // differs with what a precompiled header has loaded.
  std::vector<std::string> command = {"clang++",         "-fsyntax-only",       "-w",
                                      "-ferror-limit=0", "-fno-spell-checking", "-Wno-narrowing",
                                      "-resource-dir",   clang_resources()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (!stand_ins.empty()) command.insert(command.end(), {"-include", kStandIns.str()});
  if (!seen.joined.empty()) command.insert(command.end(), {"-include", kJoined.str()});
  command.push_back(waiting.empty() ? seen.facts.file : waiting);
  Problems problems(seen);
  auto below = with_bundled_headers(without_colliding_headers(arguments), arguments);
  if (llvm::is_contained(arguments, "cuda")) below = with_joined_launches(below);
  llvm::IntrusiveRefCntPtr<llvm::vfs::OverlayFileSystem> sources(
      new llvm::vfs::OverlayFileSystem(below));
  llvm::IntrusiveRefCntPtr<llvm::vfs::InMemoryFileSystem> own(new llvm::vfs::InMemoryFileSystem);
  own->addFile(kStandIns, 0, llvm::MemoryBuffer::getMemBuffer(stand_ins));
  own->addFile(kJoined, 0, llvm::MemoryBuffer::getMemBuffer(seen.joined));
  if (!waiting.empty()) own->addFile(waiting, 0, llvm::MemoryBuffer::getMemBuffer(""));
  sources->pushOverlay(own);
  llvm::IntrusiveRefCntPtr<FileManager> files(new FileManager(FileSystemOptions(), sources));
  tooling::ToolInvocation invocation(command, std::move(action), files.get());
  invocation.setDiagnosticConsumer(&problems);
  return invocation.run();
}

std::string hash_of(const std::string& file) {
  const auto bytes = llvm::MemoryBuffer::getFile(file, false, false);
  if (!bytes) return "";
  return llvm::utohexstr(llvm::xxh3_64bits((*bytes)->getBuffer()), true, 16);
}

bool is_whole(const std::string& pch) {
  const StringRef name = llvm::sys::path::stem(pch);
  return name.rsplit('-').second == hash_of(pch);
}

}  // namespace

namespace {

SourceFacts parse_once(const std::string& file, const std::vector<std::string>& arguments,
                       const std::string& pch, Undeclared& undeclared, const std::string& stand_ins,
                       const std::string& joined) {
  SourceFacts facts{.file = file};
  Findings seen{facts, {}, undeclared, joined};
  run(std::make_unique<ParseAction>(seen, pch, false), seen, arguments, stand_ins);
  return facts;
}

SourceFacts parse_when_asked(const std::string& file, const std::vector<std::string>& arguments,
                             const std::string& pch, Undeclared& undeclared) {
  SourceFacts facts{.file = file};
  const std::string none;
  Findings seen{facts, {}, undeclared, none};
  run(std::make_unique<ParseAction>(seen, pch, true), seen, arguments, "", placeholder_of(file));
  return facts;
}

// With the precompiled headers, if they are whole and fit; a file that is not is thrown away.
SourceFacts parse_first(const std::string& file, const std::vector<std::string>& arguments,
                        std::string& pch, bool waits, Undeclared& undeclared,
                        const std::string& joined) {
  if (!pch.empty() && is_whole(pch)) {
    SourceFacts facts = waits ? parse_when_asked(file, arguments, pch, undeclared)
                              : parse_once(file, arguments, pch, undeclared, "", joined);
    if (facts.parsed) return facts;
    undeclared = {};
  }
  if (waits) return {.file = file};
  if (!pch.empty()) llvm::sys::fs::remove(pch);
  pch.clear();
  return parse_once(file, arguments, pch, undeclared, "", joined);
}

}  // namespace

SourceFacts parse_file(const std::string& file, const std::vector<std::string>& arguments,
                       const std::string& given_pch, bool waits, const std::string& joined) {
  std::string pch = given_pch;
  Undeclared undeclared;
  SourceFacts facts = parse_first(file, arguments, pch, waits, undeclared, joined);
  // An error may also have hidden a constructor, or what calls a model, which is no loss by itself
  // and worth one round; with LibTorch's own headers that costs too much.
  bool is_worth_it = !facts.lost.empty() || (facts.error_count > 0 && has_bundled_torch(arguments));
  uint64_t errors = facts.error_count;
  for (int round = 0; round < kMaxRounds && is_worth_it && undeclared.has_more(); ++round) {
    SourceFacts next = parse_once(file, arguments, pch, undeclared, undeclared.header(), joined);
    if (!next.parsed || next.lost.size() > facts.lost.size()) continue;
    is_worth_it = !next.lost.empty() && (round == 0 || next.error_count < errors);
    errors = next.error_count;
    // What the file lacks is reported as it is.
    next.error_count = facts.error_count;
    next.problems = facts.problems;
    next.missing_headers = facts.missing_headers;
    facts = std::move(next);
  }
  if (facts.lost.size() > kMaxProblems) facts.lost.resize(kMaxProblems);
  return facts;
}

PchParts make_pch(const std::string& source, const std::vector<std::string>& arguments,
                  const std::string& pch) {
  SourceFacts seen{.file = source};
  PchParts parts;
  Undeclared undeclared;
  const std::string none;
  Findings findings{seen, {}, undeclared, none};
  const bool is_made = run(std::make_unique<PchAction>(seen, parts, pch), findings, arguments, "");
  if (is_made && seen.error_count == 0 && seen.missing_headers.empty()) parts.hash = hash_of(pch);
  if (parts.hash.empty()) llvm::sys::fs::remove(pch);
  return parts;
}

}  // namespace dtypecheck::analyzer
