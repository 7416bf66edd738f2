// child.h: runs the traced program so that neither it nor the user notices the process in between.
#pragma once

#include <string>
#include <vector>

namespace dtypecheck {

// How a program that was run ended.
struct ChildEnd {
  int exit_status = 0;
  int signal = 0;  // 0: it exited
  bool core_dumped = false;
};

// From here on a closed pipe is an error code in this process (`| head` ends quietly); programs
// that it runs get what was set before. Call once, first.
void ignore_broken_pipes();

using Environment = std::vector<std::string>;  // "NAME=value"

// The environment of this process.
Environment current_environment();
void set_variable(Environment& environment, const std::string& name, const std::string& value);
void unset_variable(Environment& environment, const std::string& name);

// Runs the program at `path` and waits for its end. Signals that were sent to this process alone
// are passed on to it; the terminal's Ctrl-C goes to both anyway. A text file with no "#!" is run
// by /bin/sh, as a shell would. Throws InputError when it cannot be started.
ChildEnd run_child(const std::string& path, const std::vector<std::string>& arguments,
                   const Environment& environment);

}  // namespace dtypecheck
