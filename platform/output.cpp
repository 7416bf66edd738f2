#include "platform/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <streambuf>
#include <vector>

#include "platform/files.h"

namespace fs = std::filesystem;

namespace dtypecheck {

// Collects 64 kB and writes it. After the first error it swallows the rest, so that no later write
// hides that errno.
class Output::Buffer : public std::streambuf {
 public:
  Buffer(std::string name, bool is_file) : name_(std::move(name)), is_file_(is_file) {
    bytes_.resize(64 << 10);
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }

  bool is_file() const { return is_file_; }
  const std::string& name() const { return name_; }
  int error() const { return error_; }

  void flush_all() {
    const std::string_view bytes(pbase(), static_cast<size_t>(pptr() - pbase()));
    if (error_ == 0) error_ = write(bytes);
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }
  void finish() {
    flush_all();
    const int error = close();
    if (error_ == 0) error_ = error;
  }

 protected:
  virtual int write(std::string_view bytes) = 0;  // an errno, or 0
  // Some file systems report a full disk only here.
  virtual int close() = 0;

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
  std::string name_;
  bool is_file_;
  int error_ = 0;
  std::vector<char> bytes_;
};

// What is written is there at once.
class Output::Direct : public Output::Buffer {
 public:
  Direct(int fd, std::string name, bool owns_fd) : Buffer(std::move(name), owns_fd), fd_(fd) {}
  ~Direct() override { Direct::close(); }

 private:
  int write(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno != EINTR) return errno;
      if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
    }
    return 0;
  }
  int close() override {
    if (!is_file() || fd_ < 0) return 0;
    return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno;
  }

  int fd_;
};

// What is written is there when all of it is.
class Output::Beside : public Output::Buffer {
 public:
  Beside(const std::string& name, const std::string& target)
      : Buffer(name, /*is_file=*/true), draft_(std::in_place, target, kOptions) {}

 private:
  static constexpr ReplaceOptions kOptions = {.syncs = false};

  template <typename Step>
  int done(const Step& step) {
    try {
      step();
      return 0;
    } catch (const OutputError& error) {
      return error.code;
    }
  }
  int write(std::string_view bytes) override {
    return done([&] { draft_->write(bytes); });
  }
  int close() override {
    const int error = this->error() == 0 ? done([&] { draft_->move_into_place(); }) : 0;
    draft_.reset();
    return error;
  }

  std::optional<Draft> draft_;
};

Output::Output(std::unique_ptr<Buffer> buffer)
    : buffer_(std::move(buffer)), stream_(std::make_unique<std::ostream>(buffer_.get())) {}
Output::Output(Output&&) noexcept = default;
Output::~Output() = default;

Output Output::to_fd(int fd, std::string name) {
  return Output(std::make_unique<Direct>(fd, std::move(name), /*owns_fd=*/false));
}

Output Output::to_open_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const int error = errno;
  if (fd < 0) {
    throw OutputError(fmt::format("{}: cannot be written: {}; name another file with -o", path,
                                  std::strerror(error)),
                      error);
  }
  return Output(std::make_unique<Direct>(fd, path, /*owns_fd=*/true));
}

// Devices, pipes and what lies in a folder that takes no file beside it are written as they are.
Output Output::to_file(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(path, error);  // behind links
  const bool is_other = is_there(path) && !dtypecheck::is_file(path);
  if (error || is_other || (is_there(path) && ::access(path.c_str(), W_OK) != 0))
    return to_open_file(path);
  try {
    return Output(std::make_unique<Beside>(path, target.string()));
  } catch (const OutputError&) {
    return to_open_file(path);
  }
}

std::ostream& Output::stream() { return *stream_; }
bool Output::is_file() const { return buffer_->is_file(); }

void Output::finish() {
  buffer_->finish();
  const int error = buffer_->error();
  if (error == 0 || error == EPIPE) return;
  throw OutputError(
      fmt::format("{}: could not be written in full: {}", buffer_->name(), std::strerror(error)),
      error);
}

static bool is_stdout(const std::string& path) { return path.empty() || path == "-"; }

static Output standard_output() { return Output::to_fd(STDOUT_FILENO, "standard output"); }

Output open_output(const std::string& path) {
  return is_stdout(path) ? standard_output() : Output::to_file(path);
}

Output open_growing_output(const std::string& path) {
  return is_stdout(path) ? standard_output() : Output::to_open_file(path);
}

int print_text(const std::string& text) {
  Output out = open_output("");
  out.stream() << text;
  out.finish();
  return 0;
}

}  // namespace dtypecheck
