// files.h: whole files, read and written. Their names come from users, from folders of anything and
// from files of others: what is no regular file, or larger than was expected, is refused with its
// reason, and nothing here waits for a pipe that nobody writes to.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtypecheck {

inline constexpr size_t kUsualLimitBytes = 64 << 20;

bool is_file(const std::filesystem::path& path);  // a regular one
bool is_folder(const std::filesystem::path& path);
bool is_there(const std::filesystem::path& path);  // whatever it is

// An open file, closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  operator int() const { return fd_; }
  bool close();

 private:
  int fd_;
};

// A regular file for who reads or maps it himself. Throws InputError as read_file() does.
struct OpenFile {
  Descriptor fd;
  size_t size_bytes = 0;
};
OpenFile open_file(const std::string& path);

// All of a regular file. Throws InputError: "PATH: No such file or directory".
std::string read_file(const std::string& path, size_t limit_bytes = kUsualLimitBytes);
// The same; nothing where it cannot be had, for whatever reason.
std::optional<std::string> read_file_if_any(const std::string& path,
                                            size_t limit_bytes = kUsualLimitBytes);
// A file that the user has named: a pipe is read to its end too, since `<(command)` is one. What to
// do otherwise ends the message.
std::string read_given_file(const std::string& path, const std::string& way_out,
                            size_t limit_bytes = kUsualLimitBytes);

struct ReplaceOptions {
  mode_t mode = 0666;  // of a new file, less the umask; one that is there keeps its own
  bool syncs = true;   // waits until the disk has it: not for what can be made again
};

// A file beside `target`, removed again unless it is moved into its place. All throw OutputError.
class Draft {
 public:
  explicit Draft(const std::string& target, ReplaceOptions options = {});
  ~Draft();
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  void write(std::string_view bytes);
  void move_into_place();

 private:
  int open();
  void keep_mode();
  [[noreturn]] void fail(int error) const;

  const std::string target_;
  const ReplaceOptions options_;
  std::string path_;
  Descriptor file_;
  bool moved_ = false;
};

// Writes a file beside `path` and moves it there, so that whoever reads sees the old or the new
// one, and a full disk or a kill leaves the old. A link is replaced, not what it points to; a
// device is not. Throws OutputError.
void replace_file(const std::string& path, const std::vector<std::string_view>& pieces,
                  ReplaceOptions options = {});

}  // namespace dtypecheck
