// digests.h: trace --values: what the op calls of some steps were given and gave, as digests that
// two runs can be compared by (trace/format.h). Reads tensors of the CPU in place, and writes none.
#pragma once

#include <vector>

#include "tracer/hook/gpu_digests.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

// True where the options ask for digests: "values", or "values=1+2+95-100".
bool start_digests(const char* options);

// Of an op that no other op called, before it runs and once it returned.
void digest_operands(ThreadState* state, const Frame& frame,
                     c10::ArrayRef<const c10::IValue> inputs);
void digest_results(ThreadState* state, const Frame& frame,
                    const std::vector<c10::IValue>& outputs);

// All of a strided tensor of the CPU; false for one that has no digest.
bool digest_sums(const c10::TensorImpl* impl, DigestSums& sums);
// Of elements without gaps.
DigestSums digest_sums(uint8_t dtype, const char* data, int64_t count);

void forget_digests();  // another file begins

}  // namespace dtypecheck::tracer
