#include "platform/child.h"

#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

using namespace dtypecheck;

namespace {

// Of a shell that runs this, for as long as it takes to work half a second, or two seconds.
double worked(const char* script) {
  const pid_t child = start_child({"/bin/sh", "-c", script}, current_environment(), {}, {"", true});
  double seconds = 0;
  for (int i = 0; i < 200 && seconds < 0.5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    seconds = processor_seconds(child);
  }
  ::kill(-child, SIGKILL);
  wait_for_child(child);
  return seconds;
}

}  // namespace

TEST_CASE("what a group has worked counts, that of its children too") {
  CHECK(worked("(while :; do :; done) & while :; do :; done") > 0);
  CHECK(worked("sleep 5") < 0.25);
  CHECK(processor_seconds(0x7fffffff) == 0);
}

TEST_CASE("what a program is prepared by is done in its process, or the program is not run") {
  const auto run = [](const std::string& problem) {
    return run_child("/bin/sh", {"sh", "-c", "exit 3"}, current_environment(), {},
                     [problem] { return problem; });
  };
  CHECK(run("").exit_status == 3);
  CHECK_THROWS_WITH(run("no room; nothing was run"), "no room; nothing was run");
  CHECK_THROWS_WITH(run(std::string(70000, 'x')), std::string(70000, 'x'));  // more than a pipe has
}
