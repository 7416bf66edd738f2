// all.cpp: this folder as one translation unit. ATen's headers take eight seconds to parse, and a user who has another
// LibTorch than the prebuilt one waits for that once, not once a file. A new file of this folder is a line here.
#include "tracer/hook/describe.cpp"
#include "tracer/hook/facts.cpp"
#include "tracer/hook/hook.cpp"
#include "tracer/hook/looking.cpp"
#include "tracer/hook/op_table.cpp"
#include "tracer/hook/phases.cpp"
#include "tracer/hook/recorder.cpp"
#include "tracer/hook/regions.cpp"
#include "tracer/hook/sites.cpp"
#include "tracer/hook/thread_state.cpp"
#include "tracer/hook/throws.cpp"
#include "tracer/hook/values.cpp"
