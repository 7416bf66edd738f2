// phases.cpp: see phases.h. A Python optimizer announces its step by a USER_SCOPE record. What runs
// inside of it is the optimizer's, but for the closure that it was given; a method of an optimizer
// that is no `step` is known by its frames (tracer/python/step_frames.h), once for each site. A C++
// optimizer shows nothing of that, so there a step is over when autograd records again after leaf
// tensors were written in place without it, and what else ran unrecorded at the line that wrote
// them is the optimizer's own: its moments, its square roots.
#include "tracer/hook/phases.h"

#include <algorithm>
#include <cstring>

#include "tracer/hook/facts.h"
#include "tracer/hook/gpu_samples.h"
#include "tracer/hook/gpu_work.h"
#include "tracer/hook/health.h"
#include "tracer/hook/looking.h"
#include "tracer/hook/pretended.h"
#include "tracer/hook/shadows.h"
#include "tracer/hook/sites.h"
#include "tracer/hook/tracer.h"
#include "tracer/hook/weight_moves.h"

namespace dtypecheck::tracer {
namespace {

// --steady looks away after so many steps without a new signature, and from then on looks at one
// step in two, four, … up to so many; at two steps in a row where something may be new.
constexpr uint32_t kQuietSteps = 8;
constexpr uint32_t kSeldom = 16;
constexpr uint32_t kLooksAtNews = 2;

std::atomic<bool> scopes_seen{false};  // this program's optimizers announce their steps
std::atomic<bool> scope_ended{false};  // and no forward op came since
std::atomic<uint32_t> scopes_in_step{0}, scopes_of_step{1}, scopes_unseen{0};
std::atomic<bool> parameters_written{false};
std::atomic<uint32_t> stepping_site{0};         // of the last such write; 0: of none that is known
std::atomic<uint32_t> looks_left{kQuietSteps};  // before it looks away
std::atomic<uint32_t> one_in{1};
std::atomic<bool> has_settled{false};

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

// A step that does more than is usual evaluates, saves a file, or begins another epoch. What
// brought nothing new is usual from then on.
void end_step_of_asks() {
  const bool are_usual = is_looking() && tracer.new_signatures.load() == 0;
  for (ThreadState* state = first_thread_state(); state; state = state->next)
    state->asks.end_step(are_usual);
}

void look_for_news(uint32_t steps) {
  looks_left.store(steps);
  one_in.store(1);
}

void look_away() {
  scopes_unseen.store(0);
  has_settled.store(true);
  one_in.store(std::min(one_in.load() * 2, kSeldom));
  set_recording(false);
}

void steady_after(uint32_t step) {
  const bool was_new = tracer.new_signatures.exchange(0) != 0;
  if (tracer.options.look_away_after >= 0)
    return set_recording(step < static_cast<uint32_t>(tracer.options.look_away_after));
  if (!is_looking()) {
    if ((step + 1) % one_in.load() == 0 || is_health_step(step + 1)) set_recording(true);
    return;
  }
  if (was_new)
    look_for_news(has_settled.load() ? kLooksAtNews : kQuietSteps);
  else if (looks_left.load() > 0)
    looks_left.fetch_sub(1);
  if (looks_left.load() == 0) look_away();
}

// A step counts as soon as it is done, though what else belongs to it may yet come.
void count_step() {
  trace::FileHeader* header = tracer.file.header();
  __atomic_store_n(&header->steps, tracer.step.load() + 1, __ATOMIC_RELAXED);
  if (is_looking()) __atomic_fetch_add(&header->steps_traced, 1, __ATOMIC_RELAXED);
  flush_all_events();
  end_step_of_asks();
  note_facts();
  look_at_arrived();
  compute_arrived(thread_state());
  settle_shadows(/*at_end=*/false);
  note_weight_moves();
  note_pretended_peak();
  return_to_gpu();
}

void begin_next_step() {
  const uint32_t step = tracer.step.fetch_add(1) + 1;
  scopes_in_step.store(0);
  note_health_step(step);
  end_after_last_step();
  if (tracer.options.leave_after != 0 && step >= tracer.options.leave_after) suspend("");
  if (tracer.options.steady) steady_after(step);
}

// While nobody looks, the forward pass that would begin the next step is not seen. Then a step has
// as many scopes as the last one that was seen.
void end_scope() {
  if (is_looking()) {
    scopes_in_step.fetch_add(1);
    if (!scope_ended.exchange(true)) count_step();
    return;
  }
  if (scopes_unseen.fetch_add(1) + 1 < scopes_of_step.load()) return;
  scopes_unseen.store(0);
  count_step();
  begin_next_step();
}

// Several optimizers that step one after the other, as many as there are parameters where each is
// stepped in the backward pass, make one step. The next one begins with a forward op.
void begin_step_after_scopes() {
  if (!scope_ended.load(std::memory_order_relaxed) || !scope_ended.exchange(false)) return;
  scopes_of_step.store(scopes_in_step.load());
  begin_next_step();
}

// A C++ optimizer announces nothing: there a step is over when autograd records again.
void begin_step_after_writes() {
  if (!parameters_written.load(std::memory_order_relaxed) || !parameters_written.exchange(false))
    return;
  count_step();
  begin_next_step();
}

bool is_of_optimizer(const ThreadState* state, uint32_t site) {
  if (state->optimizer_depth > 0) return (site & (kSiteInModule | kSiteInClosure)) == 0;
  return (site & kSiteInOptimizer) != 0 && tracer.trained.load(std::memory_order_relaxed);
}

}  // namespace

bool writes_parameter(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs) {
  if (!op.writes_first_tensor || c10::GradMode::is_enabled()) return false;
  const c10::TensorImpl* impl = first_tensor(op, inputs);
  return impl && impl->requires_grad();
}

uint8_t phase_of(ThreadState* state, const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs,
                 int64_t sequence, uint32_t site, bool in_node) {
  const bool recorded = sequence >= 0;
  // Where optimizers announce their steps, what else writes a parameter is no step: a second model
  // is initialized. In the backward pass no model is.
  const bool announced = scopes_seen.load(std::memory_order_relaxed);
  const bool may_step = (!announced || in_node) && tracer.trained.load(std::memory_order_relaxed);
  const bool steps = may_step && !op.tensors.empty() && writes_parameter(op, inputs);
  if (steps && !announced) {
    parameters_written.store(true, std::memory_order_relaxed);
    stepping_site.store(site, std::memory_order_relaxed);
  }
  const bool is_beside = !announced && !recorded && !in_node && site != 0 &&
                         site == stepping_site.load(std::memory_order_relaxed);
  if (steps || is_beside || is_of_optimizer(state, site)) return number(Phase::kOptimizer);
  if (state->data_depth > 0 || tracer.data_worker) return number(Phase::kData);
  if (in_node && !recorded && !site_in_module(site)) return number(Phase::kBackward);
  if (!in_node) begin_step_after_scopes();
  if (!in_node && recorded && !announced) begin_step_after_writes();
  if (!tracer.forward_seen.load(std::memory_order_relaxed)) {
    // Without modules to be seen training begins where autograd records, in C++; in Python, where
    // factories record as well, it has begun behind the first backward pass.
    const bool is_forward = (site & (kSiteInModule | kSiteInClosure)) != 0 ||
                            tracer.trained.load(std::memory_order_relaxed);
    if (!(tracer.python ? is_forward : recorded)) return number(Phase::kLoad);
    tracer.forward_seen.store(true, std::memory_order_relaxed);
    if (tracer.options.look_away_after == 0) set_recording(false);
    BusyScope busy(state);
    note_facts();  // this forward pass may be the last thing that the program does
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
    note_optimizer(fn.name());
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
  end_scope();
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

void forget_steps() {
  tracer.step.store(0);
  scope_ended.store(false);
  parameters_written.store(false);
}

void expect_news() { look_for_news(kLooksAtNews); }

void restart_quiet_steps() {
  has_settled.store(false);
  look_for_news(kQuietSteps);
}

}  // namespace dtypecheck::tracer
