#include "analyzer/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <thread>

#include "analyzer/facts_cache.h"
#include "core/error.h"

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxAnswer = 64 << 20;
constexpr uintmax_t kMaxSource = 16 << 20;

using Clock = std::chrono::steady_clock;

struct Process {
  pid_t pid = -1;
  int answer = -1;  // its standard output
};

Process start(const ParseJob& job, const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw InputError(fmt::format("pipe: {}", strerror(errno)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments = {const_cast<char*>(program.c_str()),
                                  const_cast<char*>(job.file.c_str())};
  for (const std::string& argument : job.arguments) {
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

SourceFacts not_parsed(const ParseJob& job, std::string why) {
  SourceFacts facts{.file = job.file};
  facts.problems.push_back(std::move(why));
  return facts;
}

SourceFacts parse_anew(const ParseJob& job, const WorkerOptions& options) {
  const Process process = start(job, options.program);
  std::string answer;
  const bool whole =
      read_answer(process.answer, Clock::now() + std::chrono::seconds(options.timeout_s), answer);
  close(process.answer);
  if (!whole) kill(process.pid, SIGKILL);
  int status = 0;
  while (waitpid(process.pid, &status, 0) < 0 && errno == EINTR) continue;
  if (!whole) {
    return not_parsed(job, fmt::format("no answer from the parser within {} s", options.timeout_s));
  }
  if (WIFSIGNALED(status)) {
    return not_parsed(job,
                      fmt::format("the parser crashed on it ({})", strsignal(WTERMSIG(status))));
  }
  try {
    return facts_from_json(answer);
  } catch (const InputError& error) {
    return not_parsed(job, error.what());
  }
}

SourceFacts parse(const ParseJob& job, const WorkerOptions& options) {
  std::error_code unknown;
  const uintmax_t size = std::filesystem::file_size(job.file, unknown);
  if (!unknown && size > kMaxSource) {
    return not_parsed(
        job, fmt::format("{} MB, and what is longer than {} MB is taken for generated", size >> 20,
                         kMaxSource >> 20));
  }
  if (options.cache == nullptr) return parse_anew(job, options);
  if (auto known = options.cache->find(job)) return std::move(*known);
  SourceFacts facts = parse_anew(job, options);
  options.cache->keep(job, facts);
  return facts;
}

}  // namespace

std::vector<SourceFacts> parse_all(const std::vector<ParseJob>& jobs, const WorkerOptions& options,
                                   const std::function<void(size_t)>& done) {
  if (access(options.program.c_str(), X_OK) != 0) {
    throw InputError(
        fmt::format("{}: {}; this build has no analyzer: install libclang-19-dev, "
                    "llvm-19-dev and clang-19 and build again",
                    options.program, strerror(errno)));
  }
  std::vector<SourceFacts> all(jobs.size());
  std::atomic<size_t> next = 0;
  std::mutex lock;  // of what follows
  size_t through = 0;
  std::string failure;
  const auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      try {
        all[i] = parse(jobs[i], options);
      } catch (const std::exception& error) {
        const std::scoped_lock held(lock);
        failure = error.what();
        next = jobs.size();
        return;
      }
      const std::scoped_lock held(lock);
      done(++through);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::min<size_t>(std::max(1U, options.jobs), jobs.size()); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) thread.join();
  if (!failure.empty()) throw InputError(failure);
  return all;
}

}  // namespace dtypecheck::analyzer
