// numpy.cpp: a call of NumPy that wrapped is an op call of its own, "python::numpy.subtract". Those
// that did not are no concern of ours, and are not counted.
#include "tracer/hook/numpy.h"

#include "ops/ops.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/factories.h"
#include "tracer/hook/looking.h"
#include "tracer/hook/phases.h"
#include "tracer/hook/shadows.h"
#include "tracer/hook/sites.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/tracer.h"
#include "tracer/python/numpy_loops.h"

namespace dtypecheck {
namespace tracer {
namespace {

bool numpy_is_looked_at() { return tracer.may_record() && is_looking(); }

void on_wrapped(const void* place, const python::WrappedCall& call) {
  ThreadState* state = thread_state();
  if (!state || state->busy || state->muted_by || !tracer.is_on()) return;
  state->drop_stale_frames(place);
  const Frame* parent = state->innermost();
  const bool own_place = !parent || !parent->op;
  Frame frame;
  frame.op = &python_op();
  frame.site = own_place || parent->site == 0 ? site_here(state) : parent->site;
  frame.phase =
      own_place ? phase_of(state, *frame.op, {}, -1, frame.site, parent != nullptr) : parent->phase;
  const uint64_t place_key = uint64_t{frame.site} << 32 | frame.phase;
  const uint64_t key = mix(mix(reinterpret_cast<uint64_t>(call.function), place_key),
                           reinterpret_cast<uint64_t>(call.dtype));
  trace::SignatureRecord* signature = tracer.signatures.find(key);
  if (signature) return count_call(signature);
  signature = describe_numpy(state, key, call, frame);
  if (signature) write_inexact(signature, call.from, call.to, tracer.current_step(), 0, {});
}

}  // namespace

void watch_numpy() {
  static std::atomic<bool> done{false};
  if (!tracer.python || done.load(std::memory_order_relaxed)) return;
  done.store(python::watch_numpy({numpy_is_looked_at, on_wrapped}));
}

}  // namespace tracer
}  // namespace dtypecheck
