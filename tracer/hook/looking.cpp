// looking.cpp: see looking.h. Registered with LibTorch, a callback is copied for each op, and its
// whole list anew for each autograd node, whatever it is for; the engine makes a text for each
// node, too. The trampolines spare all that: our own functions answer in place of
// at::getStepCallbacksUnlessEmpty(), for ops and autograd nodes, and of at::getStepCallbacks(), for
// the optimizer's steps (USER_SCOPE), and say "nobody" where nothing can come of it.
#include "tracer/hook/looking.h"

#include <mutex>
#include <new>
#include <utility>

#include "tracer/hook/describe.h"
#include "tracer/hook/gpu_work.h"
#include "tracer/hook/op_table.h"
#include "tracer/hook/phases.h"
#include "tracer/hook/recorder.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/tracer.h"

namespace dtypecheck::tracer {
namespace {

constexpr uint32_t kCallsUntilMuted = 16;
constexpr uint32_t kListenEvery = 64;
constexpr uint32_t kMostUnheard = 1 << 16;  // inside one op; more than that, and its end was missed

using Answer = decltype(at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION));
using Function = Answer (*)(at::RecordScope);
using ScopeFunction = at::StepCallbacks (*)(at::RecordScope);

Function real_function = nullptr;
ScopeFunction real_scope_function = nullptr;
std::atomic<bool> at_trampoline{false};
std::atomic<bool> at_scope_trampoline{false};
std::atomic<bool> scope_was_asked{false};
std::atomic<bool> asleep{false};
std::atomic<bool> adding{false};
std::atomic<bool> gone{false};

std::mutex& switching() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

inline bool is_muted(ThreadState* state) {
  if (!state->muted_by) return false;
  state->count_event();
  if (++state->unheard < kMostUnheard) return true;
  state->muted_by = nullptr;
  return false;
}

// In a step that is not looked at. The first op after Python has run is called by Python, and not
// by another op.
inline bool is_worth_waking(ThreadState* state) {
  if (!state->asks.are_more() || !tracer.options.steady || !tracer.python) return false;
  const python::Top before = std::exchange(state->asks.last_below, python::top());
  if (!before.frame || before == state->asks.last_below) return false;
  if (tracer.options.look_away_after >= 0) return false;
  set_recording(true);
  expect_news();
  return true;
}

// One result in one place: LibTorch copies it often enough by itself.
Answer answer(at::RecordScope scope) {
  Answer step;
  const bool is_op = scope == at::RecordScope::FUNCTION;
  if (!is_op && scope != at::RecordScope::BACKWARD_FUNCTION) {
    step = real_function(scope);
    return step;
  }
  if (!tracer.may_record()) return step;
  // What is known to be left out before LibTorch packs its arguments costs next to nothing.
  const void* address = __builtin_return_address(0);
  Caller* caller = is_op ? find_caller(address) : nullptr;
  const OpInfo* op = caller ? caller->op(address) : nullptr;
  if (op && op->is_hidden()) return step;
  ThreadState* state = thread_state();
  if (!state || state->busy) return step;
  state->asks.count(!is_op || state->optimizer_depth > 0, c10::GradMode::is_enabled);
  // Where backward() begins is always seen, since it tells whether the loss is finite.
  if (asleep.load(std::memory_order_relaxed) && !is_worth_waking(state) &&
      !(caller && caller->may_begin_backward()))
    return step;
  if (is_muted(state)) return step;
  if (op && leave_out(state, *op, __builtin_frame_address(0))) return step;
  state->asked_from = caller ? nullptr : address;
  step.emplace(state->thread_id.load(std::memory_order_relaxed), scope);
  step->callbacks_.push_back({on_start, on_end});
  step->needs_inputs_ = step->needs_outputs_ = is_op;
  return step;
}

// Without Python, what the engine does around a node is known by its own record, which is made for
// a scope.
bool hears_of(at::RecordScope scope) {
  if (scope == at::RecordScope::USER_SCOPE) return true;
  return scope == at::RecordScope::FUNCTION && !tracer.python &&
         !asleep.load(std::memory_order_relaxed);
}

at::StepCallbacks answer_scope(at::RecordScope scope) {
  at::StepCallbacks step;
  scope_was_asked.store(true, std::memory_order_relaxed);
  if (!hears_of(scope) || !tracer.may_record()) return step;
  ThreadState* state = thread_state();
  if (!state || state->busy) return step;
  step.thread_id_ = state->thread_id.load(std::memory_order_relaxed);
  step.scope_ = scope;
  step.callbacks_.push_back({on_start, on_end});
  return step;
}

void jump_to(bool ours) {
  const auto store = [](void** where, void* function) {
    __atomic_store_n(where, function, __ATOMIC_RELEASE);
  };
  store(tracer.stage1->step_callbacks, reinterpret_cast<void*>(ours ? answer : real_function));
  store(tracer.stage1->scope_callbacks,
        reinterpret_cast<void*>(ours ? answer_scope : real_scope_function));
}

// A LibTorch may bind the function itself.
bool is_asked_for_scopes() {
  at::RecordFunction never_begun(at::RecordScope::USER_SCOPE);
  return scope_was_asked.load();
}

at::RecordFunctionCallback whole_callback() {
  return at::RecordFunctionCallback(on_start, on_end)
      .needsInputs(true)
      .needsOutputs(true)
      .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
               at::RecordScope::USER_SCOPE});
}

at::RecordFunctionCallback scope_callback() {
  return at::RecordFunctionCallback(on_start, on_end).scopes({at::RecordScope::USER_SCOPE});
}

at::RecordFunctionCallback engine_callback() {
  return at::RecordFunctionCallback(on_start, on_end)
      .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE});
}

at::RecordFunctionCallback callback_wanted() {
  if (asleep.load()) return scope_callback();
  if (!at_trampoline.load()) return whole_callback();
  return tracer.python ? scope_callback() : engine_callback();
}

bool needs_callback() {
  return !gone.load() && !(at_trampoline.load() && at_scope_trampoline.load());
}

// Removed and added, not disabled: LibTorch copies disabled ones too.
void set_callback() {
  static at::CallbackHandle current = 0;
  const std::lock_guard<std::mutex> lock(switching());
  if (current) at::removeCallback(current);
  current = 0;
  if (!needs_callback()) return;
  adding.store(true);
  current = at::addGlobalCallback(callback_wanted());
  adding.store(false);
}

void unmute_all() {
  for (ThreadState* state = first_thread_state(); state; state = state->next)
    state->muted_by = nullptr;
}

}  // namespace

void start_looking() {
  const DtypecheckStage1& stage1 = *tracer.stage1;
  if (*stage1.is_asked && !*stage1.was_observed) {
    real_function = reinterpret_cast<Function>(*stage1.step_callbacks);
    real_scope_function = reinterpret_cast<ScopeFunction>(*stage1.scope_callbacks);
    at_trampoline.store(true);
    jump_to(/*ours=*/true);
    at_scope_trampoline.store(is_asked_for_scopes());
  }
  set_callback();
}

void make_room_for_observer() {
  if (adding.load(std::memory_order_relaxed)) return;
  leave_gpu_to_others();
  show_hidden_ops();
  if (!at_trampoline.exchange(false)) return;
  jump_to(/*ours=*/false);
  set_callback();
}

void look_in_child() {
  new (&switching()) std::mutex;
  unmute_all();
  if (asleep.load()) set_recording(true);
}

void set_recording(bool on) {
  if (asleep.exchange(!on) == !on) return;
  if (!at_trampoline.load() || !tracer.python) set_callback();
}

void leave(bool out) {
  gone.store(out);
  if (at_trampoline.load()) jump_to(!out);
  set_callback();
}

bool is_looking() { return !asleep.load(std::memory_order_relaxed); }

bool wake_up() {
  if (is_looking()) return false;
  set_recording(true);
  return true;
}

void mute_inner_calls(ThreadState* state, const Frame& frame) {
  if (state->muted_by || !at_trampoline.load(std::memory_order_relaxed)) return;
  if (!frame.op->speaks_for_inner) {
    // What keep-going repairs inside is to be reported at the op that failed.
    if (tracer.options.keep_going || frame.op->may_call_anything ||
        has_flag(frame.signature, trace::kSignatureCallsOthers))
      return;
    const uint64_t count = __atomic_load_n(&frame.signature->count, __ATOMIC_RELAXED);
    if (count <= kCallsUntilMuted || count % kListenEvery == 0) return;
  }
  state->muted_by = frame.record;
  state->unheard = 0;
}

}  // namespace dtypecheck::tracer
