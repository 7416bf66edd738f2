// trace_inputs.cpp: trace files and folders of them, for trace_reader.h.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "platform/error.h"
#include "trace/format.h"
#include "trace/reader.h"

namespace dtypecheck {
namespace {

namespace fs = std::filesystem;

std::string reason_of(int error) { return std::generic_category().message(error); }

class File {
 public:
  // Does not wait for the other end of a pipe.
  explicit File(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_;
};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw InputError(fmt::format("{}: {}", path, why));
}

[[noreturn]] void refuse_to_open(const std::string& path, int error) {
  if (error == ENOENT) refuse(path, "no such file or folder, expected a trace");
  refuse(path, fmt::format("cannot be read: {}", reason_of(error)));
}

size_t size_of(const File& file, const std::string& path) {
  struct stat status;
  if (fstat(file.fd(), &status) != 0) refuse_to_open(path, errno);
  if (!S_ISREG(status.st_mode)) refuse(path, "not a regular file, expected a trace");
  // One byte more than a trace may have tells the reader that this one has too many.
  return std::min<uint64_t>(static_cast<uint64_t>(status.st_size),
                            uint64_t{trace::kMaxFileBytes} + 1);
}

size_t read_whole(const File& file, char* to, size_t room, const std::string& path) {
  size_t have = 0;
  while (have < room) {
    const ssize_t got = read(file.fd(), to + have, room - have);
    if (got == 0) break;
    if (got < 0 && errno != EINTR) refuse_to_open(path, errno);
    if (got > 0) have += static_cast<size_t>(got);
  }
  return have;
}

std::vector<std::string> traces_in(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".dtrace") paths.push_back(entry->path().string());
  }
  if (error) refuse(folder, fmt::format("cannot be read: {}", error.message()));
  if (paths.empty()) {
    refuse(folder,
           "a folder without *.dtrace files, expected the folder of a run; "
           "record one with dtypecheck trace -- PROGRAM");
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Collects what can be read, and why the rest cannot.
class Inputs {
 public:
  explicit Inputs(Symbolizer* symbolizer) : symbolizer_(symbolizer) {}

  void read(const std::string& input) {
    try {
      std::error_code ignored;
      if (!fs::is_directory(input, ignored)) return read_file(input);
      for (const std::string& path : traces_in(input)) read_file(path);
    } catch (const InputError& error) {
      unreadable_.push_back(error.what());
    }
  }

  Run take_run() { return std::move(run_); }
  const std::vector<std::string>& unreadable() const { return unreadable_; }

  void require_some() const {
    if (!run_.processes.empty()) return;
    if (unreadable_.empty())
      throw InputError("no trace given, expected *.dtrace files or the folder of a run");
    const size_t more = unreadable_.size() - 1;
    throw InputError(unreadable_.front() +
                     (more == 0 ? "" : fmt::format(" (and {} more that cannot be read)", more)));
  }

 private:
  void read_file(const std::string& path) {
    std::error_code ignored;
    if (!seen_.insert(fs::weakly_canonical(path, ignored).string()).second) return;
    try {
      read_trace_file(path, run_, symbolizer_);
    } catch (const InputError& error) {
      unreadable_.push_back(error.what());
    }
  }

  Symbolizer* symbolizer_;
  Run run_;
  std::vector<std::string> unreadable_;
  std::set<std::string>
      seen_;  // a file that is named, and lies in a folder that is named, is read once
};

}  // namespace

void read_trace_file(const std::string& path, Run& run, Symbolizer* symbolizer) {
  const File file(path);
  if (file.fd() < 0) refuse_to_open(path, errno);
  const size_t room = size_of(file, path);
  const std::unique_ptr<char[]> bytes(new (std::nothrow) char[room + 1]);
  if (bytes == nullptr) refuse(path, fmt::format("{} bytes need more memory than there is", room));
  const size_t size_bytes = read_whole(file, bytes.get(), room, path);
  read_trace_bytes(bytes.get(), size_bytes, path, run, symbolizer);
}

Run read_traces(const std::vector<std::string>& inputs, std::vector<std::string>* unreadable,
                Symbolizer* symbolizer) {
  Inputs all(symbolizer);
  for (const std::string& input : inputs) all.read(input);
  all.require_some();
  if (unreadable != nullptr) *unreadable = all.unreadable();
  return all.take_run();
}

}  // namespace dtypecheck
