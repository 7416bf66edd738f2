// terminal.h: what is said to people. Findings go through output.h; everything else is a line on
// stderr.
#pragma once

#include <string>
#include <string_view>

namespace dtypecheck {

// One line on stderr, prefixed "dtypecheck: ".
void print_line(std::string_view line);

bool is_terminal(int fd);

// "always", "never", or "auto": colour where NO_COLOR does not say otherwise and CLICOLOR_FORCE
// does, or a terminal is there that can show it.
bool wants_colour(int fd, std::string_view choice = "auto");

// What COLUMNS says, the terminal's width, or `otherwise` when it is none.
int columns_of(int fd, int otherwise);
// The same of its height, by LINES.
int rows_of(int fd, int otherwise);

// The text broken into lines of at most `width` columns, each after `indent` spaces.
std::string wrapped(std::string_view text, size_t indent, size_t width = 88);

}  // namespace dtypecheck
