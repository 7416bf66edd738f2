#include "kernels/threads.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace dtypecheck::kernels {

static thread_local bool inside_part = false;

namespace {

struct Inside {
  Inside() { inside_part = true; }
  ~Inside() { inside_part = false; }
};

int threads_of_process() {
  cpu_set_t cpus;
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

// Waking a thread costs as long as a small operation takes, so that one waits so long for the next
// operation, or for its end, before it sleeps; other threads that want the processor have it.
template <class Condition>
void wait_a_moment(const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
  while (!holds() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

// One operation at a time: who finds the pool taken works in order on its own thread. Workers take
// the next index until there is none; one that wakes too late for an operation leaves it.
class Pool {
 public:
  explicit Pool(int workers) {
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { serve(); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  // False: the pool is at other work, or is another process's, whose threads are not in this one.
  bool run(int64_t parts, Part part, void* context) {
    const std::unique_lock taken(taken_, std::try_to_lock);
    if (!taken || getpid() != process_) return false;
    {
      const std::lock_guard lock(mutex_);
      parts_ = parts;
      part_ = part;
      context_ = context;
      next_ = 0;
      is_open_ = true;
      error_ = nullptr;
      ++operation_;
    }
    wake_.notify_all();
    work();
    {
      const std::lock_guard lock(mutex_);
      is_open_ = false;
    }
    wait_a_moment([this] { return working_ == 0; });
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return working_ == 0; });
    if (error_) std::rethrow_exception(error_);
    return true;
  }

 private:
  void work() {
    const Inside inside;
    try {
      for (int64_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < parts_;)
        part_(context_, i);
    } catch (...) {
      next_ = parts_;
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }

  void serve() {
    for (uint64_t seen = 0;;) {
      wait_a_moment([&] { return operation_ != seen; });
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return ends_ || operation_ != seen; });
        if (ends_) return;
        seen = operation_;
        if (!is_open_) continue;
        ++working_;
      }
      work();
      const std::lock_guard lock(mutex_);
      if (--working_ == 0) done_.notify_one();
    }
  }

  const pid_t process_ = getpid();
  std::mutex taken_, mutex_;
  std::condition_variable wake_, done_;
  int64_t parts_ = 0;
  Part part_ = nullptr;
  void* context_ = nullptr;
  std::atomic<int64_t> next_{0};
  std::atomic<size_t> working_{0};
  std::atomic<uint64_t> operation_{0};
  bool is_open_ = false;  // to workers
  bool ends_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> workers_;
};

void in_pool(int64_t parts, Part part, void* context) {
  // Never destroyed: an operation may run while the process ends. The caller works as well.
  static Pool* const pool = new Pool(threads_of_process() - 1);
  if (!pool->run(parts, part, context)) in_order(parts, part, context);
}

std::atomic<ParallelFor> parallel_for{nullptr};

}  // namespace

void in_order(int64_t parts, Part part, void* context) {
  for (int64_t i = 0; i < parts; ++i) part(context, i);
}

void set_parallel_for(ParallelFor run) { parallel_for = run; }

void run_parts(int64_t parts, Part part, void* context) {
  if (parts <= 1 || inside_part) return in_order(parts, part, context);
  const ParallelFor run = parallel_for.load(std::memory_order_relaxed);
  (run ? run : in_pool)(parts, part, context);
}

}  // namespace dtypecheck::kernels
