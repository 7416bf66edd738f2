// gpu_digests.h: the sums and elements that a digest has, of a tensor on a GPU, without a wait.
//
// One kernel of our own reads all of the tensor on the stream that the op runs on, and writes some
// kB to pinned memory (gpu_samples.h). It is compiled where the program runs, by the NVRTC that
// comes with LibTorch, once for each device: some 0.1 s.
#pragma once

#include <cstdint>
#include <functional>

#include "trace/format.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

// Of the finite elements.
struct DigestSums {
  uint64_t finite = 0, zeros = 0;
  double sum = 0, squares = 0, largest = 0;
};

// `places`: elements i * count / place_count in the order of the sizes.
using DigestLook = std::function<void(const DigestSums& sums, const double* places)>;

// Of a strided tensor on a CUDA device with elements, of a dtype that has digests. Where the pinned
// memory is full it waits for a moment, where it may. False: it has none, for the stream is
// captured, or there is no NVRTC (why_no_gpu_digests()).
bool digest_on_gpu(const c10::TensorImpl* impl, int place_count, DigestLook look,
                   bool may_wait = true);

const char* why_no_gpu_digests();  // null: nothing is known to forbid them

}  // namespace dtypecheck::tracer
