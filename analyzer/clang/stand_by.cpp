#include "analyzer/clang/stand_by.h"

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

class Loaded : public ASTDeserializationListener {
 public:
  void DeclRead(GlobalDeclID id, const Decl*) override { ids.push_back(id.getRawValue()); }

  std::vector<Id> ids;
  int reader = -1;  // who wants to know of them
};

Loaded& loaded() {
  static Loaded one;
  return one;
}

bool is_asked() {
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

void become_parser(CompilerInstance& compiler, const std::string& file, pid_t waiting,
                   bool is_heard) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(kLongest);
  if (getppid() != waiting) _exit(1);
  if (!is_heard) dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
  compiler.getASTReader()->setDeserializationListener(&loaded());
  SourceManager& sources = compiler.getSourceManager();
  const auto entry = compiler.getFileManager().getOptionalFileRef(file, true);
  if (!entry) _exit(1);
  sources.setMainFileID(sources.createFileID(*entry, SourceLocation(), SrcMgr::C_User));
}

}  // namespace

std::string name_while_waiting(const std::string& file) {
  return file + ".waiting" + llvm::sys::path::extension(file).str();
}

void stand_by(CompilerInstance& compiler, const std::string& file) {
  const pid_t waiting = getpid();
  for (bool is_heard = false; !is_heard || is_asked(); is_heard = true) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) _exit(1);
    const pid_t parser = fork();
    if (parser < 0) _exit(1);
    if (parser == 0) {
      close(ends[0]);
      loaded().reader = ends[1];
      return become_parser(compiler, file, waiting, is_heard);
    }
    close(ends[1]);
    const std::vector<Id> ids = read_ids(ends[0]);
    close(ends[0]);
    if (!succeeds(parser)) _exit(1);
    for (const Id id : ids) compiler.getASTReader()->GetDecl(GlobalDeclID(id));
  }
  _exit(0);
}

void tell_what_was_loaded() {
  const char* at = reinterpret_cast<const char*>(loaded().ids.data());
  for (size_t left = loaded().ids.size() * sizeof(Id); left > 0;) {
    const ssize_t written = write(loaded().reader, at, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);
    at += written;
    left -= static_cast<size_t>(written);
  }
  close(loaded().reader);
}

}  // namespace dtypecheck::analyzer
