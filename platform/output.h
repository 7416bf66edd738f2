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
  // Made anew, or cut to nothing. Throws InputError.
  static Output to_file(const std::string& path);

  Output(Output&&) noexcept;
  ~Output();

  std::ostream& stream();
  bool is_file() const;
  // Writes what is left. A reader that went away (| head) is no error; anything else throws
  // InputError.
  void finish();

 private:
  class Buffer;
  explicit Output(std::unique_ptr<Buffer> buffer);
  std::unique_ptr<Buffer> buffer_;
  std::unique_ptr<std::ostream> stream_;
};

// stdout for an empty path or "-".
Output open_output(const std::string& path);

// To stdout; the exit status of a command that did just that.
int print_text(const std::string& text);

}  // namespace dtypecheck
