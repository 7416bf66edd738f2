#include "analyzer/parse/parser_process.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "platform/child.h"
#include "platform/error.h"

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxAnswer = 64 << 20;

using Clock = std::chrono::steady_clock;

}  // namespace

Streams::Streams() : nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC)) {
  if (pipe2(ends, O_CLOEXEC) != 0) throw InputError(fmt::format("pipe: {}", strerror(errno)));
}

Streams::~Streams() {
  for (const int fd : {ends[0], ends[1], nowhere}) {
    if (fd >= 0) close(fd);
  }
}

bool read_answer(int from, int timeout_s, AnswerEnd end, std::string& text) {
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(timeout_s);
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
    if (end == AnswerEnd::kLine && text.back() == '\n') return true;
  }
}

std::string no_answer_within(int timeout_s) {
  return fmt::format("no answer from the parser within {} s", timeout_s);
}

ParserAnswer run_parser(const std::string& program, const std::vector<std::string>& arguments,
                        int timeout_s) {
  Streams streams;
  std::vector<std::string> command = {program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const pid_t parser =
      start_child(command, current_environment(), {.out = streams.ends[1], .err = streams.nowhere});
  close(std::exchange(streams.ends[1], -1));
  ParserAnswer answer;
  const bool whole = read_answer(streams.ends[0], timeout_s, AnswerEnd::kClosed, answer.text);
  if (!whole) kill(parser, SIGKILL);
  const ChildEnd end = wait_for_child(parser);
  if (!whole) {
    answer.failure = no_answer_within(timeout_s);
  } else if (end.signal != 0) {
    answer.failure = fmt::format("the parser crashed on it ({})", strsignal(end.signal));
    answer.crashed = true;
  }
  return answer;
}

}  // namespace dtypecheck::analyzer
