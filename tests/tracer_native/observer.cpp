#include "tests/tracer_native/observer.h"

#include "tracer/native/native_sites.h"

namespace native = dtypecheck::tracer::native;

__attribute__((constructor)) static void start() { native::start(); }

extern "C" void observe(void* argument) {
  Observed& observed = *static_cast<Observed*>(argument);
  observed.key = native::scan_key(observed.limit_bytes);
  observed.unwound_key = native::unwound_key();
  if (!observed.unwinds) return;
  uint64_t addresses[16];
  const int count = native::unwind(addresses, 16);
  observed.addresses.assign(addresses, addresses + count);
}
