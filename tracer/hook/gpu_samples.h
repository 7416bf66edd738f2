// gpu_samples.h: numbers of tensors on a GPU, without a wait.
//
// A sample is copied to pinned memory on the stream that the op runs on, and is looked at when it
// has arrived: as later ops pass, at the end of a step, where the program itself reads a number,
// and at the end. The driver alone is called: no allocation from LibTorch's pool, no other stream.
// While a stream is captured for a graph nothing is copied, and where the ring of pinned memory is
// full a sample is left out; both are counted (fact "gpu.samples").
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

// Rows of bytes in the GPU's memory.
struct GpuPart {
  const char* begin;
  size_t row_bytes, rows, pitch_bytes;

  size_t bytes() const { return row_bytes * rows; }
};

// The parts as they have arrived, each without gaps.
using SampleLook = std::function<void(const std::vector<const char*>& parts)>;

// A dense tensor on a CUDA device, of a plain kind.
bool is_on_gpu(const c10::TensorImpl* impl);

// The current stream there is captured for a graph: whoever waits for it breaks that.
bool is_device_captured(int device);

// So many elements of it, in equal pieces at equal distances; all where it has no more.
GpuPart gpu_part(const c10::TensorImpl* impl, int64_t elements, int64_t pieces);

// Of tensors on one device, on the stream that is current there; false where it is left out.
// `look` is called by a thread of the program inside of look_at_arrived() or finish_samples(), one
// at a time, and copies nothing itself.
bool copy_sample(int device, const std::vector<GpuPart>& parts, SampleLook look);

// The same for what another function puts on the stream (a CUstream), in the device's primary
// context: `put` lets so many bytes be written at `place`, which the device can write to, and
// returns an error of the driver, of the function `name`, or 0. `may_wait`: for a moment, until
// there is room.
using PlaceLook = std::function<void(const char* place)>;
using PutOnStream = std::function<int(void* stream, char* place)>;
bool put_sample(int device, size_t bytes, const char* name, const PutOnStream& put, PlaceLook look,
                bool may_wait);

// A function of a library; false where it has none of that name.
template <typename Function>
bool find_function(Function& function, void* library, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool are_under_way();        // hot
void look_at_arrived();      // those that are there by now, with the tracer's own work marked
void wait_for_samples();     // for two seconds at most
void finish_samples();       // at the end: waits, and what has not come is left out
void forget_samples();       // in a forked child, where CUDA is gone
void take_samples(bool on);  // for benchmarks

}  // namespace dtypecheck::tracer
