// output.h: where findings go: stdout, stderr or a file, with the truth about whether they got
// there.
#pragma once

#include <memory>
#include <ostream>
#include <string>

#include "platform/error.h"

namespace dtypecheck {

// Thrown by all below; `code` is the errno.
struct OutputError : InputError {
  OutputError(const std::string& message, int code) : InputError(message), code(code) {}
  int code;
};

class Output {
 public:
  static Output to_fd(int fd, std::string name);
  // The file is there, or replaced, once finish() has written all of it; without, and on a full
  // disk, it stays as it was. Throws InputError.
  static Output to_file(const std::string& path);
  // Cut to nothing, and readable as it grows.
  static Output to_open_file(const std::string& path);

  Output(Output&&) noexcept;
  ~Output();

  std::ostream& stream();
  bool is_file() const;
  // Writes what is left. A reader that went away (| head) is no error; anything else throws
  // InputError.
  void finish();

 private:
  class Buffer;
  class Direct;
  class Beside;
  explicit Output(std::unique_ptr<Buffer> buffer);
  std::unique_ptr<Buffer> buffer_;
  std::unique_ptr<std::ostream> stream_;
};

// stdout for an empty path or "-".
Output open_output(const std::string& path);
// The same for what is read while it is written.
Output open_growing_output(const std::string& path);

// To stdout; the exit status of a command that did just that.
int print_text(const std::string& text);

}  // namespace dtypecheck
