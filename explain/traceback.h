// traceback.h: the frames of a Python traceback, in the order printed: the innermost is the last.
// As Python prints them, IPython and notebooks, rich and pytest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::explain {

// The line above one.
constexpr std::string_view kTraceback = "Traceback (most recent call last)";

struct Frame {
  std::string file;
  int line = 0;
  std::string function;
  std::string code;  // the source line, where printed
};

// At most the last 64 frames of the last traceback in `text`.
std::vector<Frame> frames_of(std::string_view text);

// The text without the lines of tracebacks.
std::string without_frames(std::string_view text);

// Of a library (site-packages, dist-packages, the standard library), as opposed to the user's own.
bool is_library(const Frame& frame);

}  // namespace dtypecheck::explain
