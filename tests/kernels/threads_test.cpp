// Where parts run: each once, on the pool or where it is called, and what they throw comes out.
#include "kernels/threads.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

namespace dtypecheck::kernels {

static std::vector<int> times_run(int64_t parts) {
  std::vector<std::atomic<int>> times(static_cast<size_t>(parts));
  for_each_part(parts, [&](int64_t i) { ++times[static_cast<size_t>(i)]; });
  return {times.begin(), times.end()};
}

TEST_CASE("threads: each part runs once") {
  for (const int64_t parts : {0, 1, 2, 3, 1000})
    CHECK(times_run(parts) == std::vector<int>(static_cast<size_t>(parts), 1));
}

TEST_CASE("threads: parts of parts, and callers at the same time") {
  std::atomic<int> inner{0};
  for_each_part(10, [&](int64_t) { for_each_part(10, [&](int64_t) { ++inner; }); });
  CHECK(inner == 100);
  std::atomic<bool> right{true};
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int j = 0; j < 200; ++j)
        if (times_run(7) != std::vector<int>(7, 1)) right = false;
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(right);
}

TEST_CASE("threads: what a part throws is thrown, and the next operation runs") {
  for (int again = 0; again < 20; ++again) {
    CHECK_THROWS_AS(for_each_part(8,
                                  [](int64_t i) {
                                    if (i == 5) throw std::runtime_error("5");
                                  }),
                    std::runtime_error);
    CHECK(times_run(9) == std::vector<int>(9, 1));
  }
}

static std::atomic<int> asked{0};
static void counted(int64_t parts, Part part, void* context) {
  ++asked;
  in_order(parts, part, context);
}

TEST_CASE("threads: another parallel_for is asked, but not for one part") {
  set_parallel_for(counted);
  CHECK(times_run(3) == std::vector<int>(3, 1));
  CHECK(times_run(1) == std::vector<int>(1, 1));
  set_parallel_for(nullptr);
  CHECK(asked == 1);
}

}  // namespace dtypecheck::kernels
