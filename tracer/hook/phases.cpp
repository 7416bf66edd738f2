// phases.cpp: see phases.h. A Python optimizer announces its step by a USER_SCOPE record; a C++ one
// does not, so there a step is over when autograd records again after leaf tensors were written in
// place without it.
#include "tracer/hook/phases.h"

#include <cstring>

#include "tracer/hook/facts.h"
#include "tracer/hook/looking.h"
#include "tracer/hook/sites.h"
#include "tracer/hook/tracer.h"

namespace dtypecheck {
namespace tracer {
namespace {

constexpr uint32_t kQuietSteps =
    8;  // --steady: so many steps without a new signature, and it looks away
constexpr uint32_t kLookEvery = 128;  // and back for one step in so many

std::atomic<bool> scopes_seen{false};  // this program's optimizers announce their steps
std::atomic<bool> parameters_written{false};
std::atomic<uint32_t> quiet_steps{0};

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

uint8_t number(Phase phase) { return static_cast<uint8_t>(phase); }

// The first tensor argument, or the first element of a list.
const c10::TensorImpl* first_tensor(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  const c10::IValue& value = inputs[op.tensors.front().index];
  if (value.isTensor()) return value.unsafeToTensorImpl();
  if (!value.isList() || value.toListRef().empty() || !value.toListRef()[0].isTensor())
    return nullptr;
  return value.toListRef()[0].unsafeToTensorImpl();
}

bool writes_parameter(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  if (!op.writes_first_tensor || c10::GradMode::is_enabled()) return false;
  const c10::TensorImpl* impl = first_tensor(op, inputs);
  return impl && impl->requires_grad();
}

void steady_after(uint32_t step) {
  const bool was_new = tracer.new_signatures.exchange(0) != 0;
  const uint32_t quiet = was_new ? 0 : quiet_steps.load() + 1;
  if (!is_looking()) {
    if (step % kLookEvery == 0) look(true);
    return;
  }
  quiet_steps.store(quiet);
  if (quiet >= kQuietSteps) look(false);
}

void finish_step() {
  const uint32_t step = tracer.step.fetch_add(1) + 1;
  trace::FileHeader* header = tracer.file.header();
  __atomic_store_n(&header->steps, step, __ATOMIC_RELAXED);
  if (is_looking()) __atomic_fetch_add(&header->steps_traced, 1, __ATOMIC_RELAXED);
  flush_all_events();
  note_facts();
  if (tracer.options.steady) steady_after(step);
}

}  // namespace

uint8_t phase_of(ThreadState* state, const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs,
                 int64_t sequence, uint32_t site) {
  if (state->optimizer_depth > 0) return number(Phase::kOptimizer);
  if (state->data_depth > 0 || tracer.data_worker) return number(Phase::kData);
  const bool recorded = sequence >= 0;
  // Where optimizers announce their steps, what else writes a parameter is no step: a second model
  // is initialized.
  const bool announced = scopes_seen.load(std::memory_order_relaxed);
  if (recorded && !announced && parameters_written.load(std::memory_order_relaxed) &&
      parameters_written.exchange(false))
    finish_step();
  const bool trained = !announced && tracer.trained.load(std::memory_order_relaxed);
  if (trained && !op.tensors.empty() && writes_parameter(op, inputs)) {
    parameters_written.store(true, std::memory_order_relaxed);
    return number(Phase::kOptimizer);
  }
  if (!tracer.forward_seen.load(std::memory_order_relaxed)) {
    // Without modules to be seen (C++), training begins where autograd records.
    if (!(tracer.python ? site_in_module(site) : recorded)) return number(Phase::kLoad);
    tracer.forward_seen.store(true, std::memory_order_relaxed);
  }
  return number(Phase::kForward);
}

void finish_last_step() {
  if (!parameters_written.exchange(false) || scopes_seen.load()) return;
  __atomic_fetch_add(&tracer.file.header()->steps, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&tracer.file.header()->steps_traced, 1, __ATOMIC_RELAXED);
}

void note_backward() {
  if (!tracer.trained.load(std::memory_order_relaxed))
    tracer.trained.store(true, std::memory_order_relaxed);
}

void on_scope_start(ThreadState* state, const at::RecordFunction& fn) {
  if (starts_with(fn.name(), "Optimizer.step#")) {
    scopes_seen.store(true, std::memory_order_relaxed);
    ++state->optimizer_depth;
  } else if (starts_with(fn.name(), "enumerate(DataLoader)")) {
    ++state->data_depth;
  }
}

void on_scope_end(ThreadState* state, const at::RecordFunction& fn) {
  if (starts_with(fn.name(), "enumerate(DataLoader)") && state->data_depth > 0) --state->data_depth;
  if (!starts_with(fn.name(), "Optimizer.step#") || state->optimizer_depth == 0) return;
  if (--state->optimizer_depth > 0) return;  // an optimizer that wraps another one
  BusyScope busy(state);
  finish_step();
}

void flush_events(ThreadState* state) {
  const uint32_t events = state->events.load(std::memory_order_relaxed);
  const auto added = static_cast<int32_t>(events - state->flushed.exchange(events));
  __atomic_fetch_add(&tracer.file.header()->events, int64_t{added}, __ATOMIC_RELAXED);
}

// Other threads go on counting, and may flush at this moment: whoever comes second with the smaller
// number takes back what the next flush adds again.
void flush_all_events() {
  for (ThreadState* state = first_thread_state(); state; state = state->next) flush_events(state);
}

void restart_quiet_steps() { quiet_steps.store(0); }

}  // namespace tracer
}  // namespace dtypecheck
