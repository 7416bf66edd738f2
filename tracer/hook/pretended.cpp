#include "tracer/hook/pretended.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

#include "tracer/hook/facts.h"
#include "tracer/hook/torch_compat.h"
#include "tracer/hook/tracer.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer {
namespace {

// The library is preloaded; a program that was started without its environment lacks it.
template <typename Function>
Function* of_pretended_gpu(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

std::atomic<int64_t> noted_peak{0};

int64_t set_count(int64_t most) {
  static auto* const set = of_pretended_gpu<int64_t(int64_t)>("dtypecheck_pretended_count");
  return set ? set(most) : 0;
}

}  // namespace

CountReadBack::CountReadBack(int64_t most) : before_(set_count(most)) {}
CountReadBack::~CountReadBack() { set_count(before_); }

void write_pretended_facts() {
  if (!tracer.options.pretended) return;
  auto* sm = of_pretended_gpu<int()>("dtypecheck_pretended_sm");
  auto* name = of_pretended_gpu<const char*()>("dtypecheck_pretended_name");
  if (!sm || !name) return;
  noted_peak.store(0);
#if DTYPECHECK_TORCH_AT_LEAST(2, 5)
  at::globalContext().setSDPUseCuDNN(false);  // it asks cuDNN for plans that only cuDNN can make
#endif
  write_fact(FactKey::kPretendedGpu, "sm_" + std::to_string(sm()) + " (" + name() + ")");
}

void note_pretended_peak() {
  if (!tracer.options.pretended) return;
  auto* peak = of_pretended_gpu<int64_t()>("dtypecheck_pretended_peak_bytes");
  const int64_t bytes = peak ? peak() : 0;
  if (noted_peak.exchange(bytes) < bytes)
    write_fact(FactKey::kPretendedPeak, std::to_string(bytes));
}

void end_after_last_step() {
  const uint32_t most = tracer.options.most_steps;
  if (most == 0 || tracer.step.load(std::memory_order_relaxed) < most) return;
  static std::atomic<bool> ending{false};
  if (ending.exchange(true)) return;
  write_fact(FactKey::kPretendedEnd, "steps");
  write_fact(FactKey::kExitStatus, "0");
  if (tracer.python) python::flush_output();
  std::fflush(nullptr);
  (*tracer.stage1->on_exit)();
  ::_exit(0);
}

}  // namespace dtypecheck::tracer
