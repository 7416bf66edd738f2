// factories.cpp: torch.tensor() and its like are frames like an op's, so that what they allocate
// inside is not recorded beside them. The record is written when they return: only then is it known
// that there is a tensor, and of which dtype.
#include "tracer/hook/factories.h"

#include <cmath>

#include "ops/ops.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/looking.h"
#include "tracer/hook/phases.h"
#include "tracer/hook/shadows.h"
#include "tracer/hook/sites.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/tracer.h"
#include "tracer/python/factories.h"

namespace dtypecheck {
namespace tracer {

const OpInfo& python_op() {
  static const OpInfo* op = [] {
    auto* made = new OpInfo;
    made->name = std::string(ops::kPython) + "torch";
    return made;
  }();
  return *op;
}

namespace {

bool on_enter(const void* place) {
  ThreadState* state = thread_state();
  if (!state || state->busy || state->muted_by || !is_looking() || !tracer.is_on()) return false;
  state->drop_stale_frames(place);
  const Frame* parent = state->innermost();
  if (state->depth >= ThreadState::kMaxDepth) return false;
  if (parent && parent->op == &python_op()) return false;  // a __torch_function__ calls it again
  Frame& frame = state->frames[state->depth];
  frame = Frame{};
  frame.record = place;
  frame.op = &python_op();
  const bool own_place = !parent || !parent->op;  // Python runs in an autograd node, too
  frame.site = own_place || parent->site == 0 ? site_here(state) : parent->site;
  const int64_t recorded = parent && c10::GradMode::is_enabled() ? 0 : -1;  // computed again
  frame.phase = own_place ? phase_of(state, *frame.op, {}, recorded, frame.site, parent != nullptr)
                          : parent->phase;
  ++state->depth;
  return true;
}

// torch.tensor([0.5, …], dtype=torch.long), which says nothing.
void note_fractions(const trace::SignatureRecord* signature, python::Object* source,
                    const c10::TensorImpl* impl) {
  if (!signature || !c10::isIntegralType(static_cast<c10::ScalarType>(dtype_of(impl)), false))
    return;
  const double number = python::fraction_cut_off(source);
  if (number != 0)
    write_inexact(signature, number, std::trunc(number), tracer.current_step(), 0, {});
}

void on_leave(const void* place, const char* function, python::Object* source, const void* tensor) {
  ThreadState* state = existing_thread_state();
  if (!state) return;
  while (state->depth > 0 && state->frames[state->depth - 1].record < place) --state->depth;
  if (state->depth == 0 || state->frames[state->depth - 1].record != place) return;
  const Frame& frame = state->frames[--state->depth];
  const auto* impl = static_cast<const c10::TensorImpl*>(tensor);
  if (!impl || !is_plain(impl) || !impl->unsafe_storage()) return;
  const uint64_t place_key = uint64_t{frame.site} << 32 | frame.phase;
  const uint64_t key = mix(mix(reinterpret_cast<uint64_t>(function), place_key),
                           mix(python::word_of_source(source), tensor_word(impl)));
  trace::SignatureRecord* signature = tracer.signatures.find(key);
  if (signature) {
    count_call(signature);
  } else {
    signature = describe_factory(state, key, function, source, frame, impl);
    note_fractions(signature, source, impl);
  }
  if (signature) set_origin(impl, signature->id);
}

}  // namespace

void watch_factories() {
  static std::atomic<bool> done{false};
  if (!tracer.python || done.load(std::memory_order_relaxed)) return;
  done.store(python::watch_factories({on_enter, on_leave}));
}

}  // namespace tracer
}  // namespace dtypecheck
