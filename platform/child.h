// child.h: programs that this one runs: the traced one, so that neither it nor the user notices the
// process in between, and others beside it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dtypecheck {

// How a program that was run ended.
struct ChildEnd {
  pid_t pid = 0;
  int exit_status = 0;
  int signal = 0;  // 0: it exited
  bool core_dumped = false;

  bool is_success() const { return exit_status == 0 && signal == 0; }
};

// Where its output goes; -1: to where that of this process goes.
struct ChildStreams {
  int out = -1, err = -1;
  int in = -1;  // of start_child(): what it reads; -1: /dev/null
};

// From here on a closed pipe (`| head` ends quietly) and a limit on the size of files are error
// codes in this process; programs that it runs get what was set before. Call once, first.
void ignore_failing_writes();

using Environment = std::vector<std::string>;  // "NAME=value"

// The environment of this process.
Environment current_environment();
void set_variable(Environment& environment, const std::string& name, const std::string& value);
void unset_variable(Environment& environment, const std::string& name);

// Runs the program at `path` and waits for its end. Signals that were sent to this process alone
// are passed on to it; the terminal's Ctrl-C goes to both anyway. A text file with no "#!" is run
// by /bin/sh, as a shell would. Throws InputError when it cannot be started. `prepare` is called in
// the new process before the program, and answers why it should not be run after all, or "".
ChildEnd run_child(const std::string& path, const std::vector<std::string>& arguments,
                   const Environment& environment, ChildStreams streams = {},
                   const std::function<std::string()>& prepare = {});

struct ChildPlace {
  std::string folder;          // where it is run; empty: where this process is
  bool leads_a_group = false;  // so that all that it starts can be signalled with it
};

// Starts a program and does not wait: its path and its arguments. Throws InputError when it
// cannot be started.
pid_t start_child(const std::vector<std::string>& command, const Environment& environment,
                  ChildStreams streams, const ChildPlace& place = {});
ChildEnd wait_for_child(pid_t child);             // -1: for any
std::optional<ChildEnd> poll_child(pid_t child);  // nothing while it runs
// Of the processor, by all processes of the group and those that they have waited for; 0 where
// /proc does not tell.
double processor_seconds(pid_t group);

// Puts a library before those that LD_PRELOAD names.
void add_preload(Environment& environment, const std::string& library);
// The address sanitizer ends a program that loads another library before it; what is preloaded
// calls on to it, so it may be second.
void allow_preload_before_sanitizers(Environment& environment);

}  // namespace dtypecheck
