// op_facts.h: what a repair must know of an operator, from its schema, and from ops/ what schemas
// keep to themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer::keep_going {

// visit(tensor) for the one that the value is, or for each of its list.
template <typename Visit>
void for_each_defined(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor() && value.toTensor().defined()) return visit(value.toTensor());
  if (!value.isList()) return;
  for (const c10::IValue& element : value.toListRef())
    if (element.isTensor() && element.toTensor().defined()) visit(element.toTensor());
}

struct TensorArgument {
  uint16_t index = 0;
  bool is_written = false;     // declared: in-place, out=
  bool is_out = false;         // written and never read
  bool is_undeclared = false;  // written although the schema says nothing: running statistics
  bool is_fixed = false;       // has a dtype of its own: a step count, a scale
  uint32_t names = 0;          // ops::ArgumentFact: an index, a condition, labels
  bool is_mask = false;        // integers there say which, as in Bool; numbers are added
  bool gives_values = true;    // zeros_like() and type_as() ask for its shape or dtype alone
};

struct WrittenResult {  // a result that is one of the arguments
  uint16_t result;
  uint16_t argument;
};

struct KernelForm;

struct OpFacts {
  std::vector<TensorArgument> tensors;
  std::vector<WrittenResult> written_results;
  uint16_t argument_count = 0;
  uint16_t result_count = 0;
  // The argument whose dtype a fixed program's result would have; -1: the first floating one.
  int activation = -1;
  bool draws = false;              // random numbers
  bool only_draws = false;         // random numbers into a tensor, whatever was in it
  bool casts = false;              // exists to change the dtype
  bool is_view = false;            // never fails for a dtype; returns the very tensor it was given
  bool only_first_result = false;  // the others are statistics, in Float whatever the input is
  bool chooses = false;            // has an index, a condition or labels
  int asked_dtype = -1;            // dtype=: where it is given, the result has it
  bool overwrites = false;         // nothing of the written argument's old values is left
  bool multiplies = false;         // refuses two dtypes, and is slow in Half on most CPUs
  bool can_be_served = false;      // --fix: its schema says all that it reads and writes
  const KernelForm* kernel = nullptr;  // --fix: the operator of ours that does the same
};

const OpFacts& facts_of(const c10::OperatorHandle& op);

}  // namespace dtypecheck::tracer::keep_going
