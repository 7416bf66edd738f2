// emulated_grid.h: a grid on the processor, for tests of kernels without a GPU. The threads of a
// block are fibers, which run one at a time from one barrier or shuffle to the next. Blocks, and
// the warps between two barriers, go in another order at each launch, so that what depends on an
// order differs; shared memory starts as NaN. What a GPU would hang on, a barrier or shuffle that
// some threads of the block or warp do not reach, throws std::logic_error. It does not see races
// between lanes of a warp, and has no memory of its own: the address sanitizer tells what is read
// past a buffer.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "kernels/device.h"

namespace dtypecheck::kernels::cuda {

inline constexpr int kWarp = 32;

class EmulatedBlock;

class Thread {
 public:
  Thread(EmulatedBlock* in, int index, int64_t block, int64_t blocks)
      : in_(in), index_(index), block_(block), blocks_(blocks) {}
  int index() const { return index_; }
  int64_t block() const { return block_; }
  int64_t blocks() const { return blocks_; }
  inline void sync() const;
  template <class Number>
  Number shuffle_xor(Number value, int mask) const;

 private:
  EmulatedBlock* in_;
  int index_;
  int64_t block_, blocks_;
};

class EmulatedBlock {
 public:
  using Body = std::function<void(const Thread&)>;

  // The fibers stay for the next block.
  static EmulatedBlock& of_this_thread() {
    static thread_local EmulatedBlock block;
    return block;
  }

  void run(int threads, int64_t block, int64_t blocks, unsigned order, const Body& body) {
    while (static_cast<int>(fibers_.size()) < threads) fibers_.push_back(std::make_unique<Fiber>());
    body_ = &body;
    threads_ = threads;
    for (int i = 0; i < threads; ++i) {
      fiber(i).thread = std::make_unique<Thread>(this, i, block, blocks);
      fiber(i).state = State::kReady;
    }
    const int warps = threads / kWarp;
    for (unsigned phase = order;; ++phase) {
      for (int i = 0; i < warps; ++i)
        run_warp(
            static_cast<int>((static_cast<unsigned>(i) + phase) % static_cast<unsigned>(warps)));
      if (all(0, threads, State::kDone)) return;
      if (!all(0, threads, State::kBarrier))
        fail("a barrier that not all threads of the block reach");
      for (int i = 0; i < threads; ++i) fiber(i).state = State::kReady;
    }
  }

  void sync(int index) { wait(fiber(index), State::kBarrier); }

  uint64_t shuffle_xor(int index, uint64_t bits, int mask) {
    Fiber& f = fiber(index);
    f.bits = bits;
    f.mask = mask;
    wait(f, State::kShuffle);
    return f.received;
  }

 private:
  enum class State { kReady, kBarrier, kShuffle, kDone };
  struct Fiber {
    std::unique_ptr<Thread> thread;
    State state = State::kReady;
    uint64_t bits = 0, received = 0;
    int mask = 0;
    bool has_begun = false;
    ucontext_t start;
    jmp_buf here;
    std::unique_ptr<char[]> stack;
  };
  static constexpr size_t kStackBytes = 1 << 17;

  Fiber& fiber(int i) { return *fibers_[static_cast<size_t>(i)]; }
  bool all(int first, int last, State state) {
    for (int i = first; i < last; ++i)
      if (fiber(i).state != state) return false;
    return true;
  }
  // Some fibers are in the middle of a kernel: they are given up.
  [[noreturn]] void fail(const char* why) {
    fibers_.clear();
    throw std::logic_error(why);
  }

  void run_warp(int warp) {
    const int first = warp * kWarp, last = first + kWarp;
    for (;;) {
      bool shuffles = false;
      for (int i = first; i < last; ++i) {
        if (fiber(i).state == State::kReady) resume(fiber(i));
        shuffles |= fiber(i).state == State::kShuffle;
      }
      if (!shuffles) return;
      if (!all(first, last, State::kShuffle))
        fail("a shuffle that not all lanes of the warp reach");
      for (int i = first; i < last; ++i) {
        const Fiber& from = fiber(first + ((i - first) ^ fiber(i).mask));
        if (from.mask != fiber(i).mask) fail("lanes of a warp that are at different shuffles");
        fiber(i).received = from.bits;
      }
      for (int i = first; i < last; ++i) fiber(i).state = State::kReady;
    }
  }

  // Contexts are switched by setjmp, which, unlike swapcontext, asks the system for nothing.
  __attribute__((noinline)) void resume(Fiber& f) {
    current_ = &f;
    if (_setjmp(scheduler_) != 0) return;
    if (f.has_begun) _longjmp(f.here, 1);
    f.has_begun = true;
    f.stack = std::make_unique<char[]>(kStackBytes);
    getcontext(&f.start);
    f.start.uc_stack.ss_sp = f.stack.get();
    f.start.uc_stack.ss_size = kStackBytes;
    f.start.uc_link = nullptr;
    makecontext(&f.start, [] { of_this_thread().live(); }, 0);
    setcontext(&f.start);
  }
  __attribute__((noinline)) void wait(Fiber& f, State state) {
    f.state = state;
    if (_setjmp(f.here) == 0) _longjmp(scheduler_, 1);
  }
  void live() {
    for (;;) {
      Fiber* const self = current_;
      (*body_)(*self->thread);
      wait(*self, State::kDone);
    }
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  const Body* body_ = nullptr;
  Fiber* current_ = nullptr;
  int threads_ = 0;
  jmp_buf scheduler_;
};

void Thread::sync() const { in_->sync(index_); }

template <class Number>
Number Thread::shuffle_xor(Number value, int mask) const {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = in_->shuffle_xor(index_, bits, mask);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// What a kernel takes beside its arguments, until the operation returns; of no numbers, so that one
// that is read too early shows.
struct EmulatedMemory {
  static void* more(void* self, size_t bytes) {
    auto& buffers = static_cast<EmulatedMemory*>(self)->buffers;
    buffers.emplace_back(new unsigned char[bytes + 1]);
    std::memset(buffers.back().get(), 0xff, bytes);
    return buffers.back().get();
  }
  std::vector<std::unique_ptr<unsigned char[]>> buffers;
  Device device{nullptr, more, this};
};

// Few, so that persistent kernels go round more than once.
inline int64_t multiprocessors() { return 3; }

template <class Kernel>
void launch(const Device&, int64_t blocks, const Kernel& kernel) {
  static_assert(Kernel::kThreads % kWarp == 0);
  static unsigned order = 0;
  ++order;
  for (int64_t i = 0; i < blocks; ++i) {
    alignas(16) unsigned char bytes[sizeof(typename Kernel::Shared)];
    std::memset(bytes, 0xff, sizeof bytes);
    auto& shared = *reinterpret_cast<typename Kernel::Shared*>(bytes);
    const int64_t block = order % 2 ? i : blocks - 1 - i;
    EmulatedBlock::of_this_thread().run(Kernel::kThreads, block, blocks,
                                        order + static_cast<unsigned>(i),
                                        [&](const Thread& t) { kernel(t, shared); });
  }
}

}  // namespace dtypecheck::kernels::cuda
