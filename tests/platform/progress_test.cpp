// On a terminal that a test can read.
#include "platform/progress.h"

#include <pty.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

namespace dtypecheck {

using namespace std::chrono_literals;

// A chroot without devpts has none.
static bool has_terminals() {
  int ends[2];
  if (openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) != 0) return false;
  close(ends[0]);
  close(ends[1]);
  return true;
}

// What stderr gets while `body` runs, as a terminal or as a pipe.
template <typename Body>
static std::string said_by(bool on_terminal, Body body) {
  int ends[2];
  REQUIRE((on_terminal ? openpty(&ends[0], &ends[1], nullptr, nullptr, nullptr) : pipe(ends)) == 0);
  const int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  body();
  dup2(before, STDERR_FILENO);
  close(before);
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, n);
  close(ends[0]);
  return said;
}

TEST_CASE("what takes over two seconds says so on a terminal, and is gone at the end") {
  if (!has_terminals()) {
    WARN("left out: no pseudo-terminal here");
    return;
  }
  const std::string said = said_by(true, [] {
    Progress progress("reading\x1b[2J");
    progress.now("judging\x1b[2J");
    std::this_thread::sleep_for(2300ms);
  });
  CHECK_THAT(said, Catch::Matchers::StartsWith("\rdtypecheck: judging\\x1b[2J … 2 s\x1b[K\r") &&
                       Catch::Matchers::EndsWith("\r\x1b[K"));
}

TEST_CASE("what is quick says nothing, and a pipe gets nothing") {
  if (has_terminals()) CHECK(said_by(true, [] { Progress progress("reading"); }) == "");
  CHECK(said_by(false, [] {
          Progress progress("reading");
          std::this_thread::sleep_for(2100ms);
        }) == "");
}

}  // namespace dtypecheck
