// printable.h: recorded strings made safe to show.
//
// A trace is untrusted: a message may hold escape sequences that repaint a terminal, marks that
// reverse the reading order, bytes that are not UTF-8. What is shown to people goes through
// printable(), which gives valid UTF-8 in one line and leaves such things visible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck {

// Control characters and bytes outside UTF-8 as \x1b, invisible and reordering characters as
// \u202e, tabs as a space, newlines as \n.
std::string printable(std::string_view text);
// The characters that it escapes because they are not seen, or change the order in which others
// are.
bool is_deceptive(uint32_t code_point);

// The same for each line of a text; a last empty line is left out.
std::vector<std::string> printable_lines(std::string_view text);

// What follows takes printable text. Widths are terminal columns: East Asian wide characters
// have 2.
size_t display_width(std::string_view text);
std::string shorten(std::string_view text, size_t columns);  // "unet.down_b…1.to_q.weight"
// "…/cuda/fps_cuda.cu:41": folders go first. A file's name is kept, up to `name_columns`.
std::string shorten_path(std::string_view path, size_t columns, size_t name_columns);
std::string cut(std::string_view text, size_t columns);  // "one of the optimizer's param…"
std::string pad(std::string_view text, size_t columns);  // with spaces on the right
// Breaks long words too, but no path and no name ("unet.down_blocks.0.attentions"), which are of
// use in one piece alone: such a line is longer, up to kLongestName.
std::vector<std::string> wrap(std::string_view text, size_t columns);
inline constexpr size_t kLongestName = 400;

}  // namespace dtypecheck
