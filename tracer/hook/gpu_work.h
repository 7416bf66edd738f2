// gpu_work.h: what the GPU did, by op. CUPTI is stage 3's (tracer/gpu/), which is loaded when the
// program's first tensor on a GPU is seen: until then nothing of it is there and nothing is paid.
#pragma once

namespace dtypecheck::tracer {

struct ThreadState;

// A tensor on a CUDA device was described. Only the first time does anything; with the tracer's own
// work marked (BusyScope), since CUDA may call back.
void saw_gpu();

// Before the file is finished: what is complete is written down, with what was lost.
void finish_gpu_work();

// Somebody else begins to observe, a profiler perhaps, which wants CUPTI for itself.
void leave_gpu_to_others();
// After a step: takes CUPTI again when nobody else observes any more, and nobody else has it.
void return_to_gpu();

bool gpu_is_looked_at();  // not with --no-gpu

// What this thread launches meanwhile is the tracer's own, and is not recorded.
class OwnGpuWork {
 public:
  OwnGpuWork();
  ~OwnGpuWork();
  OwnGpuWork(const OwnGpuWork&) = delete;
  OwnGpuWork& operator=(const OwnGpuWork&) = delete;

 private:
  ThreadState* state_;
};

void begin_gpu_turn();   // another file of the same process: its ids start anew
void forget_gpu_work();  // in a forked child, where CUDA is gone

}  // namespace dtypecheck::tracer
