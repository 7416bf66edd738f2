// op_answers.h: in which dtype an op answers that source calls, from what is known of LibTorch's
// ops: ops/ of what cannot be measured, the contracts of what can.
#pragma once

#include <cstddef>

#include "analyzer/facts.h"
#include "core/op_call.h"
#include "rules/contracts/contracts.h"

namespace dtypecheck::analyzer {

// The op call that the source makes, as far as the source tells.
OpCall call_of(const SourceOp& op);

struct OpAnswer {
  // The result has the dtype of the first tensor, whatever that is: a view of it, a copy, its
  // elements in another order.
  bool is_first = false;
  DtypeSet dtypes;  // otherwise; empty: not known
  // Always in this dtype, whatever it is given: in Long, positions and counts of elements.
  bool is_always = false;
};

// The dtype of result number `result`. Names of operands may be left out; where a mix is answered
// by position only, it is not known then.
OpAnswer answer_of(const SourceOp& op, size_t result = 0);

// It takes integers beside floating numbers, and computes in floating point.
bool promotes(const std::string& op);

}  // namespace dtypecheck::analyzer
