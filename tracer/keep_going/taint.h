// taint.h: which repair a tensor's values come from, handed on from operands to results. What fails
// on such a tensor is reported as a consequence of that repair. By storage, as origins.h.
#pragma once

#include <cstdint>

#include "tracer/hook/torch_compat.h"
#include "tracer/keep_going/op_facts.h"

namespace dtypecheck::tracer::keep_going {

using Values = c10::ArrayRef<c10::IValue>;

bool any_taint();  // hot; false until the first repair
uint32_t repairs_so_far();
void count_repair();
// The signature id of the earliest repair among what the arguments hold, or 0.
uint32_t cause_of(const OpFacts& facts, Values arguments);
// Results and written arguments come from `cause` now; 0: from none.
void taint(const OpFacts& facts, Values arguments, Values results, uint32_t cause);
void taint(const c10::TensorImpl* impl, uint32_t cause);
void forget_taint();

}  // namespace dtypecheck::tracer::keep_going
