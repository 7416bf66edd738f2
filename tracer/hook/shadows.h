// shadows.h: what a small tensor would be if all that led to it had been computed in Double.
//
// The first calls of an op, and then ever fewer, are computed once more in Double, on the shadows
// of their operands. A result that is far from its shadow, while the operands were near theirs, is
// reported: a difference of neighbours, an angle, a product that is 0, a NaN, a whole number that
// wrapped.
#pragma once

#include <vector>

#include "core/codes.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

// Hot. The first calls of a signature in the step in which it was met, the first three in all, and
// each that is a power of two: the ops of a loop have the same count, so that chains of them are
// looked at whole, and a loop of a model's frequencies or layers to its last turn.
inline bool may_have_shadow(const Frame& frame) {
  constexpr uint64_t kMostOfFirstStep = 128;
  const uint64_t count = __atomic_load_n(&frame.signature->count, __ATOMIC_RELAXED);
  if ((count & (count - 1)) == 0 || count == 3) return true;
  return count <= kMostOfFirstStep && frame.signature->first_step == tracer.current_step();
}

// Hot. A call of other counts that is looked at all the same: what it reads is damaged, by a call
// that was looked at, and its trail is followed; or it counts in an integer of few bits.
bool is_followed(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs);

void begin_shadow(ThreadState* state, Frame& frame, const at::RecordFunction& fn,
                  c10::ArrayRef<const c10::IValue> inputs);
void end_shadow(ThreadState* state, const Frame& frame, const at::RecordFunction& fn);

// The program is given a number of a tensor that this signature made.
void note_number_read(ThreadState* state, const OpInfo& op, const at::RecordFunction& fn,
                      uint32_t made_by);

// What has arrived of tensors on a GPU is computed now.
void compute_arrived(ThreadState* state);

// What is damaged and is no more, or at the end what is left.
void settle_shadows(bool at_end);

// Where a result that is far from its shadow went, and how far off it is there.
struct Arrived {
  Arrival as = Arrival::kUnknown;
  double off = 0;
  uint32_t signature = 0;
};
void write_inexact(const trace::SignatureRecord* signature, double from, double to, uint32_t step,
                   uint32_t rounded_at, const Arrived& arrived);  // values.cpp

// In a forked child: a thread that is no more may hold their lock, and what was damaged is told by
// the parent.
void free_shadows();

}  // namespace dtypecheck::tracer
