#include "platform/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <thread>

#include "platform/printable.h"
#include "platform/terminal.h"

namespace dtypecheck {

using Clock = std::chrono::steady_clock;

static constexpr std::chrono::seconds kSilence{2}, kTick{1};

static void write_out(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

struct Progress::Line {
  explicit Line(std::string first) : what(std::move(first)), thread([this] { run(); }) {}
  ~Line() {
    {
      const std::lock_guard lock(mutex);
      ended = true;
    }
    changed.notify_one();
    thread.join();
  }

  void run() {
    const auto begin = Clock::now();
    std::unique_lock lock(mutex);
    auto next = begin + kSilence;
    bool shown = false;
    while (!changed.wait_until(lock, next, [this] { return ended; })) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin);
      const std::string text =
          fmt::format("dtypecheck: {} … {} s", printable(what), seconds.count());
      const size_t columns = dtypecheck::columns_of(STDERR_FILENO, 80);
      write_out("\r" + cut(text, columns - 1) + "\x1b[K");
      shown = true;
      next += kTick;
    }
    if (shown) write_out("\r\x1b[K");
  }

  std::string what;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  std::thread thread;  // the last: it begins at once
};

Progress::Progress(std::string what) {
  if (is_terminal(STDERR_FILENO)) line_ = std::make_unique<Line>(std::move(what));
}
Progress::~Progress() = default;

void Progress::now(std::string what) {
  if (!line_) return;
  const std::lock_guard lock(line_->mutex);
  line_->what = std::move(what);
}

}  // namespace dtypecheck
