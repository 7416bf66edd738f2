// thread_state.cpp: states are made once, handed on to a new thread when theirs ends, and never
// freed.
#include "tracer/hook/thread_state.h"

#include <pthread.h>

#include <new>

namespace dtypecheck::tracer {

void** (*thread_slot)() = nullptr;
ptrdiff_t thread_slot_distance = 0;

namespace {

pthread_key_t end_of_thread;
std::atomic<ThreadState*> all_states{nullptr};

void release(void* state) {
  *slot_of_thread() = nullptr;
  static_cast<ThreadState*>(state)->in_use.store(false, std::memory_order_release);
}

ThreadState* reuse_or_make() {
  for (ThreadState* state = all_states.load(); state; state = state->next) {
    bool in_use = false;
    if (!state->in_use.compare_exchange_strong(in_use, true)) continue;
    state->depth = 0;
    state->busy = state->has_message = false;
    state->optimizer_depth = state->data_depth = 0;
    state->muted_by = nullptr;
    state->region_depth = 0;
    state->is_after_node = false;
    state->attempt = nullptr;
    return state;
  }
  auto* state = new (std::nothrow) ThreadState;
  if (!state) return nullptr;
  state->next = all_states.load();
  while (!all_states.compare_exchange_weak(state->next, state)) {
  }
  return state;
}

}  // namespace

void start_threads(void** (*slot)()) {
  thread_slot = slot;
#ifdef DTYPECHECK_THREAD_POINTER
  thread_slot_distance =
      reinterpret_cast<char*>(slot()) - static_cast<char*>(__builtin_thread_pointer());
#endif
  pthread_key_create(&end_of_thread, release);
}

ThreadState* make_thread_state() {
  ThreadState* state = reuse_or_make();
  if (!state) return nullptr;
  state->thread_id.store(at::RecordFunction::currentThreadId());
  pthread_setspecific(end_of_thread, state);
  *slot_of_thread() = state;
  return state;
}

ThreadState* first_thread_state() { return all_states.load(std::memory_order_acquire); }

const SequenceRing* sequences_of(uint64_t thread_id) {
  for (ThreadState* state = first_thread_state(); state; state = state->next)
    if (state->thread_id.load(std::memory_order_relaxed) == thread_id)
      return state->sequences.load(std::memory_order_acquire);
  return nullptr;
}

}  // namespace dtypecheck::tracer
