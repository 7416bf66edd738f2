#include "platform/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "platform/printable.h"

namespace dtypecheck {

void print_line(std::string_view line) {
  const std::string text = fmt::format("dtypecheck: {}\n", printable(line));
  // In one write, so that the lines of several processes do not mix.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

static int wished(const char* variable) {
  const char* text = std::getenv(variable);
  const long size = text ? std::strtol(text, nullptr, 10) : 0;
  return size > 0 && size < 10'000 ? static_cast<int>(size) : 0;
}

static winsize size_of(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size : winsize{};
}

int columns_of(int fd, int otherwise) {
  if (const int columns = wished("COLUMNS")) return columns;
  const winsize size = size_of(fd);
  return size.ws_col > 0 ? size.ws_col : otherwise;
}

int rows_of(int fd, int otherwise) {
  if (const int rows = wished("LINES")) return rows;
  const winsize size = size_of(fd);
  return size.ws_row > 0 ? size.ws_row : otherwise;
}

static std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool wants_colour(int fd, std::string_view choice) {
  if (choice != "auto") return choice == "always";
  if (!variable("NO_COLOR").empty()) return false;
  const std::string_view forced = variable("CLICOLOR_FORCE"), term = variable("TERM");
  if (!forced.empty() && forced != "0") return true;
  return is_terminal(fd) && !term.empty() && term != "dumb";
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
