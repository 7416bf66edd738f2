#include "analyzer/clang/fork_server.h"

#include <clang/Basic/FileManager.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Serialization/ASTDeserializationListener.h>
#include <clang/Serialization/ASTReader.h>
#include <errno.h>
#include <fcntl.h>
#include <llvm/Support/Path.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

using Id = uint64_t;

constexpr unsigned kLongest = 600;  // seconds of one parse, if nobody has ended it before

class LoadedDecls : public ASTDeserializationListener {
 public:
  void DeclRead(GlobalDeclID id, const Decl*) override { ids.push_back(id.getRawValue()); }

  std::vector<Id> ids;
  int to_server = -1;  // a pipe, to which they are reported
};

LoadedDecls& loaded_decls() {
  static LoadedDecls one;
  return one;
}

// False at the end of the input.
bool wait_for_request() {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(STDIN_FILENO, &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

// To the end.
std::vector<Id> read_ids(int from) {
  std::vector<Id> ids(1 << 12);
  size_t size = 0;  // in bytes
  for (;;) {
    if (size == ids.size() * sizeof(Id)) ids.resize(2 * ids.size());
    const ssize_t got =
        read(from, reinterpret_cast<char*>(ids.data()) + size, ids.size() * sizeof(Id) - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  ids.resize(size / sizeof(Id));
  return ids;
}

bool succeeds(pid_t parser) {
  int status = 0;
  while (waitpid(parser, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void begin_parse(CompilerInstance& compiler, const std::string& file, pid_t server,
                 bool is_request) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(kLongest);
  if (getppid() != server) _exit(1);
  if (!is_request) dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
  compiler.getASTReader()->setDeserializationListener(&loaded_decls());
  SourceManager& sources = compiler.getSourceManager();
  const auto entry = compiler.getFileManager().getOptionalFileRef(file, true);
  if (!entry) _exit(1);
  sources.setMainFileID(sources.createFileID(*entry, SourceLocation(), SrcMgr::C_User));
}

}  // namespace

std::string placeholder_of(const std::string& file) {
  return file + ".waiting" + llvm::sys::path::extension(file).str();
}

void serve_parses(CompilerInstance& compiler, const std::string& file) {
  const pid_t server = getpid();
  for (bool is_request = false; !is_request || wait_for_request(); is_request = true) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) _exit(1);
    const pid_t parser = fork();
    if (parser < 0) _exit(1);
    if (parser == 0) {
      close(ends[0]);
      loaded_decls().to_server = ends[1];
      return begin_parse(compiler, file, server, is_request);
    }
    close(ends[1]);
    const std::vector<Id> ids = read_ids(ends[0]);
    close(ends[0]);
    if (!succeeds(parser)) _exit(1);
    for (const Id id : ids) compiler.getASTReader()->GetDecl(GlobalDeclID(id));
  }
  _exit(0);
}

void report_loaded() {
  const char* at = reinterpret_cast<const char*>(loaded_decls().ids.data());
  for (size_t left = loaded_decls().ids.size() * sizeof(Id); left > 0;) {
    const ssize_t written = write(loaded_decls().to_server, at, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);
    at += written;
    left -= static_cast<size_t>(written);
  }
  close(loaded_decls().to_server);
}

}  // namespace dtypecheck::analyzer
