// running_process.h: what has to be known of a process that runs already before anything is put
// into it, from /proc and its files alone. Nothing here touches it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dtypecheck::attaching {

struct Mapped {
  std::string path;
  uint64_t base = 0;  // where the file is loaded
};

struct RunningProcess {
  pid_t pid = 0;
  std::vector<std::string> command;
  std::string folder;           // its working folder
  Mapped libtorch;              // libtorch_cpu.so, or an old libtorch.so
  uint64_t slot = 0;            // through which LibTorch calls at::getStepCallbacksUnlessEmpty …
  uint64_t real = 0;            // … and where that is
  bool slot_is_sealed = false;  // its page is read-only since the program began
  uint64_t dlopen = 0;
  uint64_t system_call = 0;  // an instruction of the C library
};

// Throws InputError where it cannot be attached to, with the reason and the way out: no such
// process, another user's, one that `dtypecheck trace` started or a debugger holds, static, of
// another C library, without a LibTorch, in another container, behind a seccomp filter of its own,
// or on a system whose settings forbid it.
RunningProcess inspect_process(pid_t pid);

// A function of a library that it has loaded, by the name of its file; 0 where it has none such.
uint64_t function_in(pid_t pid, const std::string& library, const char* name);
// When it began.
std::filesystem::file_time_type started_at(pid_t pid);

// Its threads, the ones first that wait in futex(): these can be stopped without a trace.
std::vector<pid_t> threads_to_stop(pid_t pid);

// Of its memory, as it is now; false where the process is gone or does not let us.
bool read_memory(pid_t pid, uint64_t address, void* into, size_t bytes);
bool is_alive(pid_t pid);

// Why ptrace is refused, by the system's settings.
std::string why_not_allowed();

}  // namespace dtypecheck::attaching
