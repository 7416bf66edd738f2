#include "runtime/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "platform/error.h"

namespace dtypecheck::runtime {

namespace {

// A file that is removed again unless it is moved to where it belongs.
class FileAside {
 public:
  explicit FileAside(const std::string& path) : path_(path), aside_(path + ".part") {
    file_ = open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file_ < 0) fail("cannot be written");
  }
  ~FileAside() {
    if (file_ >= 0) close(file_);
    if (!moved_) unlink(aside_.c_str());
  }
  void write(const void* data, size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t wrote = ::write(file_, at, size);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) fail("cannot be written");
      at += wrote;
      size -= static_cast<size_t>(wrote);
    }
  }
  void move_into_place() {
    if (fsync(file_) != 0) fail("cannot be written");
    const int closed = close(std::exchange(file_, -1));
    if (closed != 0 || rename(aside_.c_str(), path_.c_str()) != 0) fail("cannot be written");
    moved_ = true;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw InputError(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
  }
  std::string path_, aside_;
  int file_ = -1;
  bool moved_ = false;
};

}  // namespace

void replace_file(const std::string& path, const std::vector<std::string_view>& pieces) {
  FileAside file(path);
  for (const std::string_view piece : pieces) file.write(piece.data(), piece.size());
  file.move_into_place();
}

}  // namespace dtypecheck::runtime
