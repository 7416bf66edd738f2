// weight_moves.h: what became of trained weights in 16 bits. A weight that an optimizer's step
// writes is looked at before and after, at a few of its elements, and the sums are a fact of the
// run:
//
//   "weights.BFloat16"  "steps=3 tensors=12 elements=384 unmoved=350 updates=1100 lost=1020
//                        zero=52 looked=384 non_finite=0"
//   "optimizer"         "AdamW"
//
// Only gradients that are not 0 count as updates, and only elements that had one as elements.
// `lost` are updates behind which the weight was what it was before.
#pragma once

#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

// Around an op of an optimizer that writes its first tensors.
void look_at_weights(ThreadState* state, const Frame& frame,
                     c10::ArrayRef<const c10::IValue> inputs);
void look_at_written(const Frame& frame);

// Of a weight in 16 bits, in this step: elements that had a gradient, and those that it left as
// they were.
void add_last_moves(const c10::TensorImpl* weight, uint32_t step, uint64_t& updates,
                    uint64_t& lost);

void note_weight_moves();                // a step is over
void write_weight_moves();               // the run is
void note_optimizer(const char* scope);  // "Optimizer.step#AdamW.step"
void forget_weight_moves();

}  // namespace dtypecheck::tracer
