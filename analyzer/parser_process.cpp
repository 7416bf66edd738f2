#include "analyzer/parser_process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "platform/error.h"

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxAnswer = 64 << 20;

using Clock = std::chrono::steady_clock;

struct Process {
  pid_t pid = -1;
  int answer = -1;  // its standard output
};

Process start(const std::string& program, const std::vector<std::string>& given) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw InputError(fmt::format("pipe: {}", strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : given) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  Process process{.answer = ends[0]};
  const int error =
      posix_spawn(&process.pid, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) return process;
  close(ends[0]);
  throw InputError(fmt::format("{}: cannot be started: {}", program, strerror(error)));
}

// False when the time is up or the answer is too long.
bool read_answer(int from, Clock::time_point deadline, std::string& text) {
  char buffer[1 << 16];
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting = {from, POLLIN, 0};
    const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = read(from, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > kMaxAnswer) return false;
  }
}

}  // namespace

ParserAnswer run_parser(const std::string& program, const std::vector<std::string>& arguments,
                        int timeout_s) {
  const Process process = start(program, arguments);
  ParserAnswer answer;
  const bool whole =
      read_answer(process.answer, Clock::now() + std::chrono::seconds(timeout_s), answer.text);
  close(process.answer);
  if (!whole) kill(process.pid, SIGKILL);
  int status = 0;
  while (waitpid(process.pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!whole) {
    answer.failure = fmt::format("no answer from the parser within {} s", timeout_s);
  } else if (WIFSIGNALED(status)) {
    answer.failure = fmt::format("the parser crashed on it ({})", strsignal(WTERMSIG(status)));
    answer.crashed = true;
  }
  return answer;
}

}  // namespace dtypecheck::analyzer
