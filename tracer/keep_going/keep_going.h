// keep_going.h: --keep-going. An op that fails for its dtypes is called again with its operands
// cast, and is recorded as repaired.
//
// A boxed fallback stands above autograd, autocast and functorch
// (DispatchKey::TESTING_ONLY_GenericMode, which LibTorch keeps for this; nothing else uses it). It
// sees every call of the dispatcher in every thread whose key set includes the key, and hands it
// on. Only a call that throws, and whose operands disagree in floating dtype or are Half or
// BFloat16, is looked at; whether its dtypes were the reason is decided by whether the cast call
// succeeds. What could not be written to the trace is not repaired either.
#pragma once

#include <atomic>
#include <string>

#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer::keep_going {

extern std::atomic<bool> on;
extern c10::DispatchKey key;

bool start(std::string* why_not);  // false: nothing was registered, and the run is only traced
void forget();                     // in a forked child: signature ids start again

void arm();  // the calls of this thread come through the fallback from its next one on

// Hot. Guards that set a thread's whole key set drop ours for a while, and threads that stage 1 did
// not see begin lack it.
inline void stay_armed() {
  if (!on.load(std::memory_order_relaxed)) return;
  if (!c10::impl::tls_local_dispatch_key_set().included_.has(key)) arm();
}

}  // namespace dtypecheck::tracer::keep_going
