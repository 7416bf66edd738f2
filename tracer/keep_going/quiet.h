// quiet.h: around ops that the tracer calls itself.
#pragma once

#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"
#include "tracer/keep_going/keep_going.h"

namespace dtypecheck::tracer::keep_going {

// The tracer's own calls of ops: not recorded, not differentiated, not cast by autocast, and
// without a word.
class Quiet {
 public:
#if DTYPECHECK_TORCH_AT_LEAST(2, 0)
  explicit Quiet(ThreadState* state) : busy_(state), no_warnings_(&handler_) {}

 private:
  struct Silence : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  };
  BusyScope busy_;
  Silence handler_;
  c10::WarningUtils::WarningHandlerGuard no_warnings_;
#else
  explicit Quiet(ThreadState* state) : busy_(state) {}

 private:
  BusyScope busy_;
#endif
  at::NoGradGuard no_grad_;
  at::AutoDispatchBelowAutograd below_autograd_;
  c10::impl::ExcludeDispatchKeyGuard no_fallback_{key};
  c10::impl::ExcludeDispatchKeyGuard no_autocast_{c10::autocast_dispatch_keyset};
};

}  // namespace dtypecheck::tracer::keep_going
