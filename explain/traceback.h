// traceback.h: the frames of a Python traceback, in the order printed: the innermost is the last.
// As Python prints them, IPython and notebooks, rich and pytest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::explain {

// The line above one.
constexpr std::string_view kTraceback = "Traceback (most recent call last)";

struct TracebackFrame {
  std::string file;
  int line = 0;
  std::string function;
  std::string code;  // the source line, where printed
};

// At most the last 64 frames of the last traceback in `text`.
std::vector<TracebackFrame> frames_of(std::string_view text);

// Tells the lines of tracebacks from others, line by line.
class TracebackLines {
 public:
  bool takes(std::string_view line);

 private:
  bool is_open_ = false;  // a line of source may follow
};

// The line without what launchers and loggers put before each: "[rank3]:", "[default0]:",
// "(RayWorker pid=12)", "2024-05-01 12:00:00,123 - INFO - ", "> " of a quotation.
std::string_view without_prefix(std::string_view line);

// Of a library (site-packages, dist-packages, the standard library), as opposed to the user's own.
bool is_library(const TracebackFrame& frame);

}  // namespace dtypecheck::explain
