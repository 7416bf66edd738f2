#include "platform/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "platform/printable.h"

namespace dtypecheck {

void say(std::string_view line) {
  const std::string text = fmt::format("dtypecheck: {}\n", printable(line));
  // In one write, so that the lines of several processes do not mix.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

int columns_of(int fd, int otherwise) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

bool wants_colour(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color && *no_color) return false;
  const char* term = std::getenv("TERM");
  return ::isatty(fd) && term && std::string_view(term) != "dumb";
}

std::string wrapped(std::string_view text, size_t indent, size_t width) {
  std::istringstream words{std::string(text)};
  const std::string margin(indent, ' ');
  std::string out, line, word;
  while (words >> word) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
      out += margin + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + margin + line + "\n";
}

}  // namespace dtypecheck
