#include "platform/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <streambuf>
#include <vector>

namespace dtypecheck {

// Collects 64 kB and writes it. After the first error it swallows the rest, so that no later write
// hides that errno.
class Output::Buffer : public std::streambuf {
 public:
  Buffer(int fd, std::string name, bool owns_fd)
      : fd_(fd), name_(std::move(name)), owns_fd_(owns_fd), bytes_(64 << 10) {
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }
  ~Buffer() override {
    if (owns_fd_ && fd_ >= 0) ::close(fd_);
  }

  bool owns_fd() const { return owns_fd_; }
  const std::string& name() const { return name_; }
  int error() const { return error_; }

  void flush_all() {
    const char* data = pbase();
    while (data < pptr() && error_ == 0) {
      const ssize_t written = ::write(fd_, data, static_cast<size_t>(pptr() - data));
      if (written >= 0) {
        data += written;
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }
  // Some file systems report a full disk only here.
  void close_file() {
    if (owns_fd_ && ::close(fd_) != 0 && error_ == 0) error_ = errno;
    if (owns_fd_) fd_ = -1;
  }

 protected:
  int_type overflow(int_type c) override {
    flush_all();
    if (c != traits_type::eof()) sputc(static_cast<char>(c));
    return 0;
  }
  int sync() override {
    flush_all();
    return 0;
  }

 private:
  int fd_;
  std::string name_;
  bool owns_fd_;
  int error_ = 0;
  std::vector<char> bytes_;
};

Output::Output(std::unique_ptr<Buffer> buffer)
    : buffer_(std::move(buffer)), stream_(std::make_unique<std::ostream>(buffer_.get())) {}
Output::Output(Output&&) noexcept = default;
Output::~Output() = default;

Output Output::to_fd(int fd, std::string name) {
  return Output(std::make_unique<Buffer>(fd, std::move(name), /*owns_fd=*/false));
}

Output Output::to_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const int error = errno;
  if (fd < 0) {
    throw OutputError(fmt::format("{}: cannot be written: {}; name another file with -o", path,
                                  std::strerror(error)),
                      error);
  }
  return Output(std::make_unique<Buffer>(fd, path, /*owns_fd=*/true));
}

std::ostream& Output::stream() { return *stream_; }
bool Output::is_file() const { return buffer_->owns_fd(); }

void Output::finish() {
  buffer_->flush_all();
  buffer_->close_file();
  const int error = buffer_->error();
  if (error == 0 || error == EPIPE) return;
  throw OutputError(
      fmt::format("{}: could not be written in full: {}", buffer_->name(), std::strerror(error)),
      error);
}

Output open_output(const std::string& path) {
  if (path.empty() || path == "-") return Output::to_fd(STDOUT_FILENO, "standard output");
  return Output::to_file(path);
}

int print_text(const std::string& text) {
  Output out = open_output("");
  out.stream() << text;
  out.finish();
  return 0;
}

}  // namespace dtypecheck
