#include "platform/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "platform/elf_file.h"
#include "platform/error.h"
#include "platform/files.h"

extern char** environ;

namespace dtypecheck {

// What is passed on: the ways to end a program, and the two that batch systems announce the end of
// a job with.
static constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// Failures of a write that would end this program, and are told of as what they are.
static constexpr std::array kOfWrites = {SIGPIPE, SIGXFSZ};
static std::array<struct sigaction, kOfWrites.size()> inherited_actions;
static std::atomic<pid_t> forward_to{0};
static_assert(std::atomic<pid_t>::is_always_lock_free, "it is read in a signal handler");

void ignore_failing_writes() {
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  for (size_t i = 0; i < kOfWrites.size(); ++i)
    ::sigaction(kOfWrites[i], &ignore, &inherited_actions[i]);
}

Environment current_environment() {
  Environment environment;
  for (char** entry = environ; entry && *entry; ++entry) environment.emplace_back(*entry);
  return environment;
}

void unset_variable(Environment& environment, const std::string& name) {
  std::erase_if(environment,
                [&](const std::string& entry) { return entry.starts_with(name + "="); });
}

void set_variable(Environment& environment, const std::string& name, const std::string& value) {
  unset_variable(environment, name);
  environment.push_back(name + "=" + value);
}

void add_preload(Environment& environment, const std::string& library) {
  const char* before = std::getenv("LD_PRELOAD");
  set_variable(environment, "LD_PRELOAD", before && *before ? library + ":" + before : library);
}

void allow_preload_before_sanitizers(Environment& environment) {
  const char* before = std::getenv("ASAN_OPTIONS");
  const std::string option = "verify_asan_link_order=0";
  set_variable(environment, "ASAN_OPTIONS",
               before && *before ? fmt::format("{}:{}", before, option) : option);
}

// si_code > 0 is the kernel, which for these signals means the terminal: it signals the whole
// foreground group, so the program has it already, and a second SIGINT would interrupt its way out.
static void forward_signal(int signal, siginfo_t* info, void*) {
  const int saved_errno = errno;
  const pid_t child = forward_to.load();
  if (child > 0 && info->si_code <= 0) ::kill(child, signal);
  errno = saved_errno;
}

// The program starts with the signal state that dtypecheck itself was started with.
class SignalForwarding {
 public:
  SignalForwarding() {
    sigset_t blocked;
    ::sigemptyset(&blocked);
    for (const int signal : kForwarded) ::sigaddset(&blocked, signal);
    ::sigprocmask(SIG_BLOCK, &blocked, &inherited_mask_);
    for (size_t i = 0; i < kForwarded.size(); ++i) {
      ::sigaction(kForwarded[i], nullptr, &inherited_[i]);
      if (inherited_[i].sa_handler == SIG_IGN) continue;  // nohup: the program ignores it too
      struct sigaction forward{};
      forward.sa_sigaction = forward_signal;
      forward.sa_flags = SA_SIGINFO | SA_RESTART;
      ::sigfillset(&forward.sa_mask);
      ::sigaction(kForwarded[i], &forward, nullptr);
    }
  }
  ~SignalForwarding() {
    forward_to = 0;
    restore();
  }
  SignalForwarding(const SignalForwarding&) = delete;

  // Signals that came since the fork are delivered now.
  void begin(pid_t child) {
    forward_to = child;
    ::sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
  }
  void restore() const {
    for (size_t i = 0; i < kForwarded.size(); ++i)
      ::sigaction(kForwarded[i], &inherited_[i], nullptr);
    ::sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
  }

 private:
  sigset_t inherited_mask_{};
  std::array<struct sigaction, kForwarded.size()> inherited_{};
};

static std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (const std::string& string : strings) result.push_back(const_cast<char*>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

// In the child, where only async-signal-safe calls may follow; comes back only on failure, with
// errno in the pipe.
static void exec_program(const char* path, char** arguments, char** shell_arguments,
                         char** environment, int errors) {
  for (size_t i = 0; i < kOfWrites.size(); ++i)
    ::sigaction(kOfWrites[i], &inherited_actions[i], nullptr);
  ::execve(path, arguments, environment);
  if (errno == ENOEXEC && shell_arguments[0]) ::execve("/bin/sh", shell_arguments, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(errors, &error, sizeof error);
  ::_exit(127);
}

static std::optional<ChildEnd> wait(pid_t child, int options) {
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(child, &status, options)) < 0 && errno == EINTR) {
  }
  if (ended < 0) throw InputError(fmt::format("a process was lost: {}", std::strerror(errno)));
  if (ended == 0) return std::nullopt;
  if (WIFSIGNALED(status))
    return ChildEnd{
        .pid = ended, .signal = WTERMSIG(status), .core_dumped = WCOREDUMP(status) != 0};
  return ChildEnd{.pid = ended, .exit_status = WEXITSTATUS(status)};
}

ChildEnd wait_for_child(pid_t child) { return *wait(child, 0); }
std::optional<ChildEnd> poll_child(pid_t child) { return wait(child, WNOHANG); }

// proc(5): behind the name in parentheses come the state, the parent, the group and, eight fields
// further, the times of the process and of its children.
static double seconds_in(const std::string& stat, pid_t group) {
  std::istringstream fields(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
  std::string text;
  long long number = 0, parent = 0, ticks = 0;
  fields >> text >> parent >> number;
  if (!fields || number != group) return 0;
  for (int i = 0; i < 8; ++i) fields >> text;
  for (int i = 0; i < 4 && fields >> number; ++i) ticks += number;
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double processor_seconds(pid_t group) {
  double seconds = 0;
  std::error_code unknown;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", unknown)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    seconds += seconds_in(read_file_if_any(entry.path() / "stat", 4096).value_or(""), group);
  }
  return seconds;
}

// The end is seen before the child is reaped: until then its pid cannot become another process's,
// which forward_signal might hit.
static ChildEnd wait_and_stop_forwarding(pid_t child) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  forward_to = 0;
  return wait_for_child(child);
}

// What comes behind it may be long, and is read whole. 0 when exec worked: the pipe's writing end
// closes on it.
static int read_exec_error(int errors, std::string& problem) {
  int error = 0;
  char buffer[256];
  ssize_t count = 0;
  while ((count = ::read(errors, &error, sizeof error)) < 0 && errno == EINTR) {
  }
  const bool is_error = count == sizeof error;
  while (is_error && (count = ::read(errors, buffer, sizeof buffer)) > 0)
    problem.append(buffer, static_cast<size_t>(count));
  return is_error ? error : 0;
}

static void report_problem(const std::string& problem, int errors) {
  const int none = 0;
  [[maybe_unused]] ssize_t written = ::write(errors, &none, sizeof none);
  written = ::write(errors, problem.data(), problem.size());
  ::_exit(127);
}

// None for an ELF file: what the kernel refuses of those is no script.
static std::vector<std::string> arguments_for_shell(const std::string& path,
                                                    const std::vector<std::string>& arguments) {
  if (ElfFile::open(path)) return {};
  std::vector<std::string> for_shell = {"/bin/sh", path};
  for_shell.insert(for_shell.end(), arguments.begin() + 1, arguments.end());
  return for_shell;
}

ChildEnd run_child(const std::string& path, const std::vector<std::string>& arguments,
                   const Environment& environment, ChildStreams streams,
                   const std::function<std::string()>& prepare) {
  const std::vector<std::string> shell_arguments = arguments_for_shell(path, arguments);
  const auto argv = pointers(arguments), shell_argv = pointers(shell_arguments),
             envp = pointers(environment);

  int errors[2];
  if (::pipe2(errors, O_CLOEXEC) != 0)
    throw InputError(fmt::format("pipe: {}", std::strerror(errno)));
  SignalForwarding forwarding;
  const pid_t child = ::fork();
  if (child < 0)
    throw InputError(fmt::format("{}: cannot be started: fork: {}", path, std::strerror(errno)));
  if (child == 0) {
    forwarding.restore();
    const std::string problem = prepare ? prepare() : "";
    if (!problem.empty()) report_problem(problem, errors[1]);
    if (streams.out >= 0) ::dup2(streams.out, STDOUT_FILENO);
    if (streams.err >= 0) ::dup2(streams.err, STDERR_FILENO);
    exec_program(path.c_str(), const_cast<char**>(argv.data()),
                 const_cast<char**>(shell_argv.data()), const_cast<char**>(envp.data()), errors[1]);
  }
  ::close(errors[1]);
  forwarding.begin(child);
  std::string problem;
  const int error = read_exec_error(errors[0], problem);
  ::close(errors[0]);
  const ChildEnd end = wait_and_stop_forwarding(child);
  if (!problem.empty()) throw InputError(problem);
  if (error != 0)
    throw InputError(fmt::format("{}: cannot be started: {}", path, std::strerror(error)));
  return end;
}

pid_t start_child(const std::vector<std::string>& command, const Environment& environment,
                  ChildStreams streams, const ChildPlace& place) {
  const auto argv = pointers(command), envp = pointers(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (streams.in >= 0)
    posix_spawn_file_actions_adddup2(&actions, streams.in, STDIN_FILENO);
  else
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (streams.out >= 0) posix_spawn_file_actions_adddup2(&actions, streams.out, STDOUT_FILENO);
  if (streams.err >= 0) posix_spawn_file_actions_adddup2(&actions, streams.err, STDERR_FILENO);
  if (!place.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, place.folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;  // again: we ignore it
  ::sigemptyset(&usual);
  ::sigaddset(&usual, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes,
                           static_cast<short>(POSIX_SPAWN_SETSIGDEF |
                                              (place.leads_a_group ? POSIX_SPAWN_SETPGROUP : 0)));
  pid_t child = -1;
  const int error = posix_spawn(&child, argv[0], &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return child;
  throw InputError(fmt::format("{}: cannot be started: {}", command[0], std::strerror(error)));
}

}  // namespace dtypecheck
