#include "trace/writer.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "trace/builder.h"
#include "trace/reader.h"

namespace dtypecheck::trace {
namespace {

using test::TemporaryFolder;
using test::TraceBuilder;

test::OwnedTraceFile new_file(const std::string& folder, int64_t pid = 1, int rank = -1) {
  auto file = test::new_trace_file();
  REQUIRE(file->create(folder.c_str(), "host", pid, rank) == 0);
  return file;
}

Run read(const std::string& path) {
  Run run;
  read_trace_file(path, run);
  return run;
}

std::string folder_of(const TraceFile& file) {
  return std::filesystem::path(file.path()).parent_path();
}
std::string name_of(const TraceFile& file) { return std::filesystem::path(file.path()).filename(); }
off_t size_of(const std::string& path) {
  return static_cast<off_t>(std::filesystem::file_size(path));
}

// Runs `body` in a forked child, whose exit status it returns: 0 when the body returned true.
template <typename Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_CASE("a file is named after host, pid and rank, and its owner's alone") {
  const TemporaryFolder folder;
  const auto first = new_file(folder.path(), 7);
  const auto second = new_file(folder.path(), 7);
  const auto ranked = new_file(folder.path(), 7, 3);
  CHECK(name_of(*first) == "host.7.dtrace");
  CHECK(name_of(*second) == "host.7.1.dtrace");
  CHECK(name_of(*ranked) == "host.7.r3.dtrace");
  struct stat status;
  REQUIRE(stat(first->path(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  const auto odd = test::new_trace_file();
  REQUIRE(odd->create(folder.path().c_str(), "../a b\n", 7, -1) == 0);
  CHECK(name_of(*odd) == ".._a_b_.7.dtrace");
  CHECK(folder_of(*odd) == folder.path());
}

TEST_CASE("a new file is a trace without op calls") {
  const TemporaryFolder folder;
  const auto file = new_file(folder.path(), 7, 2);
  const Run run = read(file->path());
  CHECK(run.calls.empty());
  CHECK(run.processes[0].pid == 7);
  CHECK(run.processes[0].parent_pid == getppid());
  CHECK(run.processes[0].rank == 2);
  CHECK(run.processes[0].host == "host");
  CHECK(run.processes[0].end == EndState::kRunning);
  CHECK(run.processes[0].damaged.empty());
}

TEST_CASE("why a file cannot be made comes back as an errno number") {
  const TemporaryFolder folder;
  TraceFile file;
  CHECK(file.create(folder.file("none").c_str(), "host", 1, -1) == ENOENT);
  CHECK(file.create("/dev/null", "host", 1, -1) == ENOTDIR);
  CHECK(file.create(std::string(5000, 'x').c_str(), "host", 1, -1) == ENAMETOOLONG);
  CHECK(file.header() == nullptr);
  CHECK(file.reserve(RecordKind::kFact, 16) == nullptr);
  CHECK(file.intern("x", 1) == 0);
  file.finish(1);
  file.resume();
  CHECK(file.reopen_in_child() == EBADF);
}

TEST_CASE("equal strings have one id") {
  const TemporaryFolder folder;
  const auto file = new_file(folder.path());
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < 5000; ++i) {
      const std::string text = "string " + std::to_string(i);
      REQUIRE(file->intern(text.data(), text.size()) == i + 1);
    }
  }
  CHECK(file->intern("", 0) == 0);
  CHECK(file->intern("a\0b", 3) != file->intern("a\0c", 3));
}

TEST_CASE("long strings are cut between characters") {
  const TemporaryFolder folder;
  const auto file = new_file(folder.path());
  TraceBuilder build(*file);
  for (size_t ascii = 0; ascii < 4; ++ascii) {
    std::string text(ascii, 'x');
    while (text.size() < 10000) text += "\xf0\x9f\x98\x80";
    build.fact("fact" + std::to_string(ascii), text);
    CHECK(build.string(text) == build.string(text));
  }
  build.fact("whole", std::string(kMaxStringBytes, 'y'));
  const Process process = read(file->path()).processes[0];
  CHECK(process.damaged.empty());
  CHECK(process.facts.at("whole").size() == kMaxStringBytes);
  for (size_t ascii = 0; ascii < 4; ++ascii) {
    const std::string& text = process.facts.at("fact" + std::to_string(ascii));
    CHECK(text.size() <= kMaxStringBytes);
    CHECK(text.size() > kMaxStringBytes - 8);
    CHECK(text.substr(text.size() - 3) == "…");
    CHECK((text.size() - 3 - ascii) % 4 == 0);
  }
}

TEST_CASE("finish gives back what is not used, and nothing comes after it until resume") {
  const TemporaryFolder folder;
  const auto file = new_file(folder.path());
  TraceBuilder build(*file);
  build.signature({.op = "aten::a"});
  CHECK(size_of(file->path()) == kGrowBytes);
  file->finish(2);
  CHECK(size_of(file->path()) == static_cast<off_t>(file->header()->used_bytes));
  CHECK(file->reserve(RecordKind::kFact, 16) == nullptr);
  CHECK(file->last_error() == ESHUTDOWN);
  CHECK(read(file->path()).processes[0].end == EndState::kReplaced);
  file->resume();
  build.signature({.op = "aten::b"});
  const Run run = read(file->path());
  CHECK(run.processes[0].end == EndState::kRunning);
  CHECK(run.calls.size() == 2);
}

TEST_CASE("a file grows as far as its mapping, and then refuses") {
  const TemporaryFolder folder;
  const auto file = new_file(folder.path());
  uint64_t records = 0;
  while (file->reserve(RecordKind::kString, kMaxStringBytes + sizeof(StringRecord)) != nullptr)
    ++records;
  CHECK(file->last_error() == EFBIG);
  CHECK(records == (kMaxFileBytes - kHeaderBytes) / (kMaxStringBytes + sizeof(StringRecord)));
  CHECK(file->reserve(RecordKind::kString, kGrowBytes + 1) == nullptr);
}

TEST_CASE("a limit on file sizes is an error and not a signal") {
  const TemporaryFolder folder;
  const int status = in_child([&] {
    const rlimit limit = {2 * kGrowBytes, 2 * kGrowBytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    TraceFile file;
    if (file.create(folder.path().c_str(), "host", 1, -1) != 0) return false;
    TraceBuilder build(file);
    int written = 0;
    while (build.signature({.op = "aten::a"}) != 0) ++written;
    file.header()->signatures_lost = 1;
    return written > 1000 && file.last_error() == EFBIG;
  });
  CHECK(status == 0);
  const Run run = read(folder.path() + "/host.1.dtrace");
  CHECK(run.calls.size() > 1000);
  CHECK(run.processes[0].damaged.empty());
  CHECK_FALSE(run.processes[0].complete());
}

TEST_CASE("a full disk is an error and not a signal") {
  const TemporaryFolder folder;
  if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    WARN("skipped: mounting a small tmpfs needs root (" << std::strerror(errno) << ")");
    return;
  }
  const auto file = test::new_trace_file();
  const int created = file->create(folder.path().c_str(), "host", 1, -1);
  TraceBuilder build(*file);
  size_t written = 0;
  while (created == 0 && build.signature({.op = "aten::a"}) != 0) ++written;
  TraceFile none;
  const int second = none.create(folder.path().c_str(), "host", 2, -1);
  const size_t was_read = created == 0 ? read(file->path()).calls.size() : 0;
  umount2(folder.path().c_str(), MNT_DETACH);
  CHECK(created == 0);
  CHECK(file->last_error() == ENOSPC);
  CHECK(second == ENOSPC);
  CHECK(written > 1000);
  CHECK(was_read == written);
}

TEST_CASE("a file that was removed or replaced is not grown") {
  const TemporaryFolder folder;
  const auto file = new_file(folder.path());
  std::filesystem::remove(file->path());
  while (file->reserve(RecordKind::kString, 8000) != nullptr) {
  }
  CHECK(file->last_error() == ENOENT);
  test::write_bytes(file->path(), "another program's");
  CHECK(file->reserve(RecordKind::kString, 8000) == nullptr);
  CHECK(file->last_error() == ESTALE);
  file->finish(1);
  CHECK(test::read_bytes(file->path()) == "another program's");
}

TEST_CASE("a program that closes every descriptor keeps its trace and its own files") {
  const TemporaryFolder folder;
  const std::string other = folder.path() + "/other";
  const int status = in_child([&] {
    TraceFile file;
    if (file.create(folder.path().c_str(), "host", 1, -1) != 0) return false;
    for (int fd = 3; fd < 256; ++fd) close(fd);
    const int own = open(other.c_str(), O_RDWR | O_CREAT, 0600);
    TraceBuilder build(file);
    for (int i = 0; i < 5000; ++i) build.signature({.op = "aten::a"});
    file.finish(1);
    return own >= 0 && size_of(other) == 0;
  });
  CHECK(status == 0);
  CHECK(read(folder.path() + "/host.1.dtrace").calls.size() == 5000);
}

TEST_CASE("threads write at once") {
  constexpr int kThreads = 4, kSignatures = 2000;
  const TemporaryFolder folder;
  const auto file = new_file(folder.path());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&file, t] {
      TraceBuilder build(*file);
      for (int i = 0; i < kSignatures; ++i) {
        const std::string op = "aten::op" + std::to_string(i % 97), own = "t" + std::to_string(t);
        build.signature(
            {.op = op.c_str(), .overload = own.c_str(), .operands = {{"self", 5, {i}}}});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Run run = read(file->path());
  CHECK(run.processes[0].damaged.empty());
  REQUIRE(run.calls.size() == size_t{kThreads} * kSignatures);
  int next[kThreads] = {};
  for (const OpCall& call : run.calls) {
    int& expected = next[call.overload.at(1) - '0'];
    REQUIRE(call.op == "aten::op" + std::to_string(expected % 97));
    REQUIRE(call.operands.at(0).shape == std::vector<int64_t>{expected});
    ++expected;
  }
}

TEST_CASE("a forked child goes on in a file of its own") {
  const TemporaryFolder folder;
  const auto file = new_file(folder.path(), getpid(), 5);
  std::strcpy(file->header()->libtorch, "2.11.0");
  file->header()->flags = kFlagValuesChecked;
  TraceBuilder build(*file);
  build.signature({.op = "aten::parent"});
  auto* parents_record = file->reserve<SignatureRecord>(RecordKind::kSignature);
  const int status = in_child([&] {
    if (file->reopen_in_child() != 0) return false;
    parents_record->count = 99;  // a stale pointer: must reach nobody
    if (build.signature({.op = "aten::child"}) != 1) return false;
    file->finish(1);
    return true;
  });
  CHECK(status == 0);
  CHECK(parents_record->count == 0);
  TraceFile::commit(parents_record->header);
  const Run run = read_traces({folder.path()});
  REQUIRE(run.processes.size() == 2);
  std::set<std::string> ops;
  for (const OpCall& call : run.calls) ops.insert(call.op);
  CHECK(ops == std::set<std::string>{"aten::parent", "aten::child"});
  for (const Process& process : run.processes) {
    CHECK(process.rank == 5);
    CHECK(process.libtorch == "2.11.0");
    CHECK(process.end == (process.pid == getpid() ? EndState::kRunning : EndState::kExited));
    CHECK(process.parent_pid == (process.pid == getpid() ? getppid() : getpid()));
  }
}

TEST_CASE("a finished file is left for one in another folder") {
  const TemporaryFolder first, second;
  const auto file = new_file(first.path(), getpid());
  std::strcpy(file->header()->libtorch, "2.11.0");
  TraceBuilder build(*file);
  build.signature({.op = "aten::first"});
  auto* record = file->reserve<SignatureRecord>(RecordKind::kSignature);
  record->count = 7;
  TraceFile::commit(record->header);
  file->finish(1);
  REQUIRE(file->move_to(second.path().c_str()) == 0);
  record->count = 99;  // a stale pointer: must reach nobody
  CHECK(TraceBuilder(*file).signature({.op = "aten::second"}) == 1);
  file->finish(1);
  const auto ops_in = [](const TemporaryFolder& folder) {
    std::vector<std::string> ops;
    const Run run = read_traces({folder.path()});
    REQUIRE(run.processes.size() == 1);
    CHECK((run.processes[0].libtorch == "2.11.0" && run.processes[0].end == EndState::kExited));
    for (const OpCall& call : run.calls) {
      ops.push_back(call.op);
      CHECK(call.count != 99);
    }
    return ops;
  };
  CHECK(ops_in(first).front() == "aten::first");
  CHECK(ops_in(second) == std::vector<std::string>{"aten::second"});
}

TEST_CASE("where no file can be made the finished one stays as it is") {
  const TemporaryFolder folder;
  const auto file = new_file(folder.path(), getpid());
  file->finish(1);
  CHECK(file->move_to(folder.file("none").c_str()) == ENOENT);
  CHECK(file->reserve(RecordKind::kFact, 16) == nullptr);
  CHECK(file->last_error() == ESHUTDOWN);
  CHECK(TraceFile().move_to("/tmp") == EBADF);
}

TEST_CASE("a child that shares the memory does not finish the parent's trace") {
  const TemporaryFolder folder;
  const auto file = new_file(folder.path());
  const int status = in_child([&] {  // as after vfork(): no reopen
    file->finish(2);
    file->resume();
    return true;
  });
  CHECK(status == 0);
  CHECK(file->header()->end_state == 0);
  CHECK(file->reserve(RecordKind::kFact, 16) != nullptr);
}

// Writes signatures until it is killed, and tells after each one how many are committed.
[[noreturn]] void write_until_killed(const std::string& folder, int tell) {
  TraceFile file;
  if (file.create(folder.c_str(), "host", 1, -1) != 0) _exit(1);
  TraceBuilder build(file);
  for (uint32_t committed = 1;; ++committed) {
    const std::string op = "aten::op" + std::to_string(committed);
    if (build.signature({.op = op.c_str(), .operands = {{"self", 5, {committed}}}}) == 0) _exit(1);
    if (write(tell, &committed, sizeof(committed)) != sizeof(committed)) _exit(1);
  }
}

// The last count that was told before the end of the pipe.
uint32_t kill_after(pid_t child, int told, int wait_us) {
  uint32_t last = 0, count = 0;
  while (last == 0 && ::read(told, &count, sizeof(count)) == sizeof(count)) last = count;
  usleep(static_cast<useconds_t>(wait_us));
  kill(child, SIGKILL);
  while (::read(told, &count, sizeof(count)) == sizeof(count)) last = count;
  return last;
}

TEST_CASE("SIGKILL loses no record that was committed") {
  for (int round = 0; round < 50; ++round) {
    const TemporaryFolder folder;
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    if (child == 0) write_until_killed(folder.path(), pipe_ends[1]);
    close(pipe_ends[1]);
    const uint32_t committed = kill_after(child, pipe_ends[0], round * 173 % 5000);
    close(pipe_ends[0]);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    const Run run = read(folder.path() + "/host.1.dtrace");
    INFO("round " << round << ", " << committed << " told, " << run.calls.size() << " read");
    CHECK(committed > 0);
    CHECK(run.calls.size() >= committed);
    CHECK(run.calls.size() <= committed + 1);
    CHECK(run.processes[0].damaged.empty());
    for (size_t i = 0; i < run.calls.size(); ++i) {
      REQUIRE(run.calls[i].op == "aten::op" + std::to_string(i + 1));
    }
  }
}

}  // namespace
}  // namespace dtypecheck::trace
