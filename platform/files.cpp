#include "platform/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/error.h"
#include "platform/output.h"

namespace fs = std::filesystem;

namespace dtypecheck {

namespace {

struct Contents {
  std::string text;
  std::string problem;  // empty: the text is all of it
};

Contents failed(int error) { return {{}, std::strerror(error)}; }

// Until the end or one byte above the limit. A size is only a hint: files of /proc say 0.
Contents read_all(int fd, size_t expected_bytes, size_t limit_bytes) {
  Contents contents;
  std::string& text = contents.text;
  text.resize(std::min(expected_bytes, limit_bytes) + 1);
  size_t have = 0;
  for (;;) {
    const ssize_t got = ::read(fd, text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno);
    if (got == 0) break;
    have += static_cast<size_t>(got);
    if (have > limit_bytes) {
      return {{}, fmt::format("has more than the {} bytes that are expected at most", limit_bytes)};
    }
    if (have == text.size()) text.resize(std::min(2 * have, limit_bytes + 1));
  }
  text.resize(have);
  return contents;
}

struct Opened {
  OpenFile file;
  std::string problem;  // empty: it can be read
};

Opened open_any(const std::string& path, bool takes_pipes) {
  Opened opened{
      {Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | (takes_pipes ? 0 : O_NONBLOCK)))}};
  struct stat status{};
  if (opened.file.fd < 0 || ::fstat(opened.file.fd, &status) != 0) {
    opened.problem = std::strerror(errno);
  } else if (S_ISREG(status.st_mode)) {
    opened.file.size_bytes = static_cast<size_t>(status.st_size);
  } else if (S_ISDIR(status.st_mode)) {
    opened.problem = "is not a file but a folder";
  } else if (!takes_pipes) {
    opened.problem = "is not a file";
  }
  return opened;
}

Contents read_any(const std::string& path, size_t limit_bytes, bool takes_pipes) {
  const Opened opened = open_any(path, takes_pipes);
  const auto& [fd, size_bytes] = opened.file;
  if (!opened.problem.empty()) return {{}, opened.problem};
  if (size_bytes > limit_bytes) {
    return {{}, fmt::format("has {} bytes, expected at most {}", size_bytes, limit_bytes)};
  }
  return read_all(fd, size_bytes, limit_bytes);
}

}  // namespace

bool is_file(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown);
}

bool is_folder(const fs::path& path) {
  std::error_code unknown;
  return fs::is_directory(path, unknown);
}

bool is_there(const fs::path& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

Descriptor::~Descriptor() { close(); }
bool Descriptor::close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

OpenFile open_file(const std::string& path) {
  Opened opened = open_any(path, /*takes_pipes=*/false);
  if (opened.problem.empty()) return std::move(opened.file);
  throw InputError(fmt::format("{}: {}", path, opened.problem));
}

std::string read_file(const std::string& path, size_t limit_bytes) {
  Contents contents = read_any(path, limit_bytes, /*takes_pipes=*/false);
  if (contents.problem.empty()) return std::move(contents.text);
  throw InputError(fmt::format("{}: {}", path, contents.problem));
}

std::optional<std::string> read_file_if_any(const std::string& path, size_t limit_bytes) {
  Contents contents = read_any(path, limit_bytes, /*takes_pipes=*/false);
  if (!contents.problem.empty()) return std::nullopt;
  return std::move(contents.text);
}

std::string read_given_file(const std::string& path, const std::string& way_out,
                            size_t limit_bytes) {
  Contents contents = read_any(path, limit_bytes, /*takes_pipes=*/true);
  if (contents.problem.empty()) return std::move(contents.text);
  throw InputError(fmt::format("{}: cannot be read: {}; {}", path, contents.problem, way_out));
}

Draft::Draft(const std::string& target, ReplaceOptions options)
    : target_(target), options_(options), file_(open()) {
  if (file_ < 0) fail(errno);
  keep_mode();
}

Draft::~Draft() {
  if (!moved_) ::unlink(path_.c_str());
}

void Draft::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file_, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) fail(errno);
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
}

void Draft::move_into_place() {
  const bool is_written = (!options_.syncs || ::fsync(file_) == 0) && file_.close();
  if (!is_written || ::rename(path_.c_str(), target_.c_str()) != 0) fail(errno);
  moved_ = true;
}

// Under a name of its own, whoever else writes to this target: another process or thread, or one
// of the same number that was killed.
int Draft::open() {
  static std::atomic<unsigned> drafts{0};
  int fd = -1;
  do {
    path_ = fmt::format("{}.{}.{}.part", target_, ::getpid(), drafts++);
    fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, options_.mode);
  } while (fd < 0 && errno == EEXIST);
  return fd;
}

void Draft::keep_mode() {
  struct stat status{};
  if (::lstat(target_.c_str(), &status) != 0 || S_ISLNK(status.st_mode)) return;
  if (S_ISREG(status.st_mode)) {
    ::fchmod(file_, status.st_mode & 07777);
  } else {
    ::unlink(path_.c_str());
    fail(S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  }
}

void Draft::fail(int error) const {
  throw OutputError(fmt::format("{}: cannot be written: {}", target_, std::strerror(error)), error);
}

void replace_file(const std::string& path, const std::vector<std::string_view>& pieces,
                  ReplaceOptions options) {
  Draft draft(path, options);
  for (const std::string_view piece : pieces) draft.write(piece);
  draft.move_into_place();
}

}  // namespace dtypecheck
