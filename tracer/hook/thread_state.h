// thread_state.h: what the tracer keeps for each thread. One pointer in static TLS (stage 1's)
// leads to it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/format.h"
#include "tracer/hook/expected.h"
#include "tracer/hook/op_table.h"
#include "tracer/python/python_sites.h"

#ifdef __has_builtin
#if __has_builtin(__builtin_thread_pointer)
#define DTYPECHECK_THREAD_POINTER
#endif
#endif

namespace dtypecheck::tracer {

// An op in flight, or an autograd node that is being run.
struct Frame {
  const void* record = nullptr;  // an address in this thread's stack: of the RecordFunction
  const OpInfo* op = nullptr;    // null for an autograd node
  trace::SignatureRecord* signature = nullptr;
  const void* first_storage =
      nullptr;            // of the first tensor argument: a result that shares it is no new tensor
  uint64_t began_ns = 0;  // of a call that is timed; valid only where look_at_inputs() ran
  uint32_t site = 0;
  uint32_t throws_before = 0;
  uint8_t phase = 0;
  uint8_t first_dtype = 0;  // of that argument
  bool autocast_on = false;
  bool inputs_finite = false;  // with value checks
  bool inputs_had_no_nan = false;
  bool is_shadowed = false;  // shadows.h computes it again when it ends
  uint32_t step = 0;         // of a shadowed call
  uint32_t read = 0;  // of an op that gives a number to the program: the signature that made it
  python::Top top;    // the Python frame below the engine, or below an op that may run Python
};

// The forward site of each autograd node of a thread, by its sequence number.
class SequenceRing {
 public:
  void set(int64_t sequence, uint32_t site) {
    slots_[sequence & (kSlots - 1)].store(uint64_t(sequence) << 32 | site,
                                          std::memory_order_relaxed);
  }
  uint32_t find(int64_t sequence) const {
    const uint64_t slot = slots_[sequence & (kSlots - 1)].load(std::memory_order_relaxed);
    return uint32_t(slot >> 32) == uint32_t(sequence) ? uint32_t(slot) : 0;
  }

 private:
  static constexpr int64_t kSlots = 1 << 15;
  std::atomic<uint64_t> slots_[kSlots] = {};
};

// How often a thread's ops ask who wants to see them, in this step so far, and in those that were
// looked at and brought nothing new. Those that ask without gradients ahead of the backward pass
// are an evaluation, or what a training computes so in each step.
struct Asks {
  std::atomic<uint32_t> all{0}, unrecorded{0}, usual{0}, usual_unrecorded{0};
  std::atomic<bool> has_gone_back{false};
  python::Top last_below;  // where they are more: the last one's Python frame

  void count(bool goes_back, bool (*records)()) {
    all.store(all.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (has_gone_back.load(std::memory_order_relaxed)) return;
    if (goes_back)
      has_gone_back.store(true, std::memory_order_relaxed);
    else if (!records())
      unrecorded.store(unrecorded.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  bool are_more() const {
    return all.load(std::memory_order_relaxed) > usual.load(std::memory_order_relaxed) ||
           unrecorded.load(std::memory_order_relaxed) >
               usual_unrecorded.load(std::memory_order_relaxed);
  }
  // Counts of a thread that goes on at this moment may be off by one. A large one is forgotten
  // after some steps: ops ask less often once what they call is known.
  void end_step(bool are_usual) {
    const auto learn = [are_usual](std::atomic<uint32_t>& now, std::atomic<uint32_t>& most) {
      const uint32_t count = now.exchange(0), before = most.load();
      if (are_usual) most.store(std::max(count, before - before / 8));
    };
    learn(all, usual);
    learn(unrecorded, usual_unrecorded);
    has_gone_back.store(false);
  }
};

struct ShadowCall;
namespace keep_going {
struct FloatRegion;
}

// What each op asks for comes first.
struct alignas(128) ThreadState {
  static constexpr int kMaxDepth = 96;
  static constexpr uint32_t kMaxRegions = 16;  // deeper ones take the place of the outermost

  bool in_pretended_call = false;  // of known_values.cpp, which follows the outermost call
  bool busy = false;            // the tracer itself is running: whatever it calls is not recorded
  bool copies_samples = false;  // what it launches is the tracer's own (OwnGpuWork)
  bool has_message = false;
  const void* message_of = nullptr;  // the record of the op that was in flight at the throw
  int depth = 0;
  uint32_t throws = 0;               // C++ exceptions thrown by this thread so far
  std::atomic<uint32_t> events{0};   // that this thread was told of; it alone counts them
  std::atomic<uint32_t> flushed{0};  // so many of them are in the file's counter
  Asks asks;
  const void* muted_by = nullptr;  // the record of an op inside of which nothing is listened to
  uint32_t unheard = 0;
  const void* asked_from = nullptr;  // LibTorch's last question, where no caller is known yet
  // Python: the autograd node that ended last. What the engine does now with its gradients, it does
  // for this node.
  uint32_t site_after_node = 0;  // where its forward was; 0: not known
  bool is_after_node = false;    // an autograd node has ended, and no Python ran since
  Expectations expectations;
  std::atomic<SequenceRing*> sequences{nullptr};
  std::atomic<uint64_t> thread_id{0};  // RecordFunction::currentThreadId()
  uint32_t region_depth = 0;           // autocast regions that are open
  int optimizer_depth = 0;
  int data_depth = 0;
  ShadowCall* shadow_call = nullptr;  // of the outermost op, while it runs
  void* attempt = nullptr;            // --keep-going: the innermost call that is being tried
  keep_going::FloatRegion* in_float = nullptr;  // --in-float: inside of such a module
  python::Top top_after_node;
  uint8_t regions[kMaxRegions] = {};
  ThreadState* next = nullptr;  // all states ever made
  std::atomic<bool> in_use{true};
  Frame frames[kMaxDepth];
  char message[1024];
  char message_type[128];

  uint32_t count_event() {
    const uint32_t count = events.load(std::memory_order_relaxed) + 1;
    events.store(count, std::memory_order_relaxed);
    return count;
  }
  Frame* innermost() { return depth > 0 ? &frames[depth - 1] : nullptr; }
  // The recorded op that is being run; null in an autograd node and where no op is.
  const Frame* op_in_flight() const {
    for (int i = depth; i-- > 0 && frames[i].op;)
      if (frames[i].signature) return &frames[i];
    return nullptr;
  }
  // Frames whose end was missed (an end callback that another observer swallowed) lie below
  // `record` on the stack: they are over.
  void drop_stale_frames(const void* record) {
    while (depth > 0 && frames[depth - 1].record <= record) --depth;
  }
};

// Hot. Stage 1's variable, which lies at the same distance from the thread pointer in each thread.
extern void** (*thread_slot)();
extern ptrdiff_t thread_slot_distance;
inline void** slot_of_thread() {
#ifdef DTYPECHECK_THREAD_POINTER
  return reinterpret_cast<void**>(static_cast<char*>(__builtin_thread_pointer()) +
                                  thread_slot_distance);
#else
  return thread_slot();
#endif
}

void start_threads(void** (*slot)());
ThreadState* make_thread_state();              // null when memory is out
inline ThreadState* existing_thread_state() {  // null when this thread never ran an op
  return static_cast<ThreadState*>(*slot_of_thread());
}
inline ThreadState* thread_state() {  // of this thread; made at its first op
  ThreadState* state = existing_thread_state();
  return state ? state : make_thread_state();
}
ThreadState* first_thread_state();  // head of the list of all
const SequenceRing* sequences_of(uint64_t thread_id);

// Marks the tracer's own work: ops that it calls are not seen, and nothing is recorded twice.
class BusyScope {
 public:
  explicit BusyScope(ThreadState* state) : state_(state), before_(state->busy) {
    state->busy = true;
  }
  ~BusyScope() { state_->busy = before_; }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

 private:
  ThreadState* state_;
  bool before_;
};

}  // namespace dtypecheck::tracer
