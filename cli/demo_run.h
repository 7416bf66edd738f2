// demo_run.h: what demos share: a folder to work in, programs that are traced and shown in a line.
#pragma once

#include <string>
#include <vector>

#include "platform/child.h"

namespace dtypecheck::cli {

// A folder of the user's naming stays; else one that goes with the demo. Throws InputError.
class DemoFolder {
 public:
  explicit DemoFolder(const std::string& named);
  ~DemoFolder();
  DemoFolder(const DemoFolder&) = delete;
  DemoFolder& operator=(const DemoFolder&) = delete;
  const std::string& path() const { return path_; }
  void enter() const;  // until it goes

 private:
  std::string path_;
  bool is_ours_;
};

struct Ended {
  int status;
  std::vector<std::string> lines;  // all that it wrote
};

// What the program writes goes to a file; a demo shows a line of it.
Ended run_quietly(const std::vector<std::string>& program, const std::string& log,
                  const Environment& environment = current_environment());

// The same under the tracer, into the run folder and the log beside it; `shown` stands for the
// program in the line that says so.
Ended trace_quietly(const std::string& run_folder, const std::vector<std::string>& program,
                    const std::string& shown);

// Prints what was found, with paths below `base` shortened; gives back the rules, each once,
// sorted. Throws InputError when nothing was recorded.
std::vector<std::string> print_report(const std::string& run_folder, const std::string& base);

[[noreturn]] void fail(const std::string& what, const Ended& ended);

void say_line(const std::string& text);     // to stdout
std::string bold(const std::string& text);  // where stdout shows it

// Trains a few lines of Python with the torch of `python`, broken and cured: first_demo.cpp.
int first_demo(const std::string& python, const std::string& out);

}  // namespace dtypecheck::cli
