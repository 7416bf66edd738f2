// gpu_work.h: what the GPU did, by op. CUPTI is stage 3's (tracer/gpu/), which is loaded when the
// program's first tensor on a GPU is seen: until then nothing of it is there and nothing is paid.
#pragma once

namespace dtypecheck {
namespace tracer {

// A tensor on a CUDA device was described. Only the first time does anything; with the tracer's own
// work marked (BusyScope), since CUDA may call back.
void saw_gpu();

// Before the file is finished: what is complete is written down, with what was lost.
void finish_gpu_work();

// Somebody else begins to observe, a profiler perhaps, which wants CUPTI for itself: for good, since
// nothing tells when it ends.
void leave_gpu_to_others();

void forget_gpu_work();  // in a forked child, where CUDA is gone

}  // namespace tracer
}  // namespace dtypecheck
