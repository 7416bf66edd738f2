// compiled_regions.h: what Inductor compiled runs as one Python call, and none of its fused kernels
// is an op of the dispatcher. The call itself is watched instead: CompiledFxGraph.__call__ is
// wrapped once a compiler was seen at work. GIL held throughout.
#pragma once

#include <cstddef>

namespace dtypecheck::tracer::python {

// The TensorImpls that go into a region and come out of it, in order; what is no tensor is left
// out.
struct RegionWatcher {
  void (*enter)(const char* name, const void* const* tensors, size_t count);
  void (*leave)(const void* const* tensors, size_t count);  // also when it threw: then with none
  // Once, before a region runs: "aten::mul BFloat16|Float BFloat16 Float;…", each op of it with
  // what it takes, answers in and computes in.
  void (*tell)(const char* name, const char* ops);
};

// Cold: takes the GIL. Does nothing until torch._inductor.output_code was imported by the program;
// true when the watcher is in place, now or since an earlier call.
bool watch_compiled_regions(const RegionWatcher& watcher);

}  // namespace dtypecheck::tracer::python
