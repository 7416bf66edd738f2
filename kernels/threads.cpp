#include "kernels/threads.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
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

// One operation at a time: who finds the pool taken works in order on its own thread. Workers take
// the next index until there is none.
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
      working_ = workers_.size();
      error_ = nullptr;
      ++operation_;
    }
    wake_.notify_all();
    work();
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
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return ends_ || operation_ != seen; });
        if (ends_) return;
        seen = operation_;
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
  size_t working_ = 0;
  uint64_t operation_ = 0;
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
