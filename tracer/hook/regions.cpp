// regions.cpp: a region is a frame like an op's, so that what LibTorch computes inside it (extern
// kernels) has it as parent.
#include "tracer/hook/regions.h"

#include "tracer/hook/describe.h"
#include "tracer/hook/facts.h"
#include "tracer/hook/sites.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/tracer.h"
#include "tracer/python/compiled_regions.h"

namespace dtypecheck::tracer {
namespace {

// A frame is over when an op is called from higher up on the stack than its record lies
// (drop_stale_frames). A region has no record on the stack, and ends by on_leave() alone, so its
// frame has the highest address that there is.
const void* const kUntilLeft = reinterpret_cast<const void*>(~uintptr_t{0});

Tensors as_tensors(const void* const* tensors, size_t count) {
  return Tensors(reinterpret_cast<const c10::TensorImpl* const*>(tensors), count);
}

uint64_t key_of(const char* name, const Frame& frame, Tensors inputs) {
  uint64_t key = mix(0xC0371E, frame.site);
  for (const char* c = name; *c; ++c) key = mix(key, static_cast<unsigned char>(*c));
  for (const c10::TensorImpl* impl : inputs) key = mix(key, tensor_word(impl));
  return key;
}

const OpInfo& region_op() {
  static const OpInfo* op = new OpInfo;
  return *op;
}

void on_enter(const char* name, const void* const* tensors, size_t count) {
  ThreadState* state = thread_state();
  if (!state || state->busy || !tracer.on.load() || state->depth >= ThreadState::kMaxDepth) return;
  const Frame* parent = state->innermost();
  Frame& frame = state->frames[state->depth];
  frame = Frame{};
  frame.record = kUntilLeft;
  frame.op = &region_op();
  frame.throws_before = state->throws;
  frame.site = parent && parent->site ? parent->site : site_here(state);
  frame.phase = parent ? parent->phase : static_cast<uint8_t>(Phase::kForward);
  BusyScope busy(state);
  const Tensors inputs = as_tensors(tensors, count);
  const uint64_t key = key_of(name, frame, inputs);
  frame.signature = tracer.signatures.find(key);
  if (frame.signature)
    count_call(frame.signature);
  else
    frame.signature = describe_region(key, name, frame, parent, inputs);
  ++state->depth;
}

void on_leave(const void* const* tensors, size_t count) {
  ThreadState* state = existing_thread_state();
  if (!state) return;
  while (state->depth > 0 && state->frames[state->depth - 1].record != kUntilLeft) --state->depth;
  if (state->depth == 0) return;
  const Frame& frame = state->frames[--state->depth];
  if (!frame.signature || count == 0) return;
  BusyScope busy(state);
  const Tensors outputs = as_tensors(tensors, count);
  if (!(frame.signature->flags & trace::kSignatureResultsKnown))
    describe_region_results(frame.signature, outputs);
  for (const c10::TensorImpl* impl : outputs)
    if (is_plain(impl) && impl->unsafe_storage() &&
        !impl->requires_grad())  // a weight only passes through
      set_origin(impl, frame.signature->id);
}

void on_tell(const char* name, const char* ops) {
  if (tracer.on.load()) write_fact(FactKey::kCompiled, name, ops);
}

}  // namespace

bool watch_compiled_regions() {
  return python::watch_compiled_regions({on_enter, on_leave, on_tell});
}

}  // namespace dtypecheck::tracer
