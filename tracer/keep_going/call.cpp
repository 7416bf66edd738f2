#include "tracer/keep_going/call.h"

#include <ATen/SequenceNumber.h>

#include "tracer/hook/tracer.h"

namespace dtypecheck::tracer::keep_going {

Call::Call(const c10::OperatorHandle& operator_handle, c10::DispatchKeySet keys,
           torch::jit::Stack* arguments_on_top, ThreadState* thread, DtypeMix dtypes)
    : op(operator_handle),
      below(keys),
      stack(arguments_on_top),
      state(thread),
      facts(facts_of(operator_handle)),
      mix(dtypes) {
  base = stack->size() - facts.argument_count;
  arguments.append(stack->begin() + static_cast<std::ptrdiff_t>(base), stack->end());
  sequence = static_cast<int64_t>(at::sequence_number::peek());
  repairs_before = repairs_so_far();
  if (any_taint()) cause = cause_of(facts, arguments);
}

void Call::put_back(Values values) {
  stack->erase(stack->begin() + static_cast<std::ptrdiff_t>(base), stack->end());
  stack->insert(stack->end(), values.begin(), values.end());
}

Frame* Call::own_frame() const {
  Frame* frame = state->innermost();
  if (!frame || !frame->op) return nullptr;
  const bool is_own =
      frame->op->name == op.schema().name() && frame->op->overload == op.schema().overload_name();
  return is_own ? frame : nullptr;
}

trace::SignatureRecord* Call::record() const {
  const Frame* frame = state->innermost();
  return frame && frame->op ? frame->signature : nullptr;
}

uint32_t Call::site() const {
  const Frame* frame = state->innermost();
  return frame ? frame->site : 0;
}

bool Call::is_called_by_engine() const {
  const int depth = state->depth - (own_frame() ? 1 : 0);
  if (depth <= 0) return false;
  const Frame& around = state->frames[depth - 1];
  return !around.op && (!tracer.python || python::top() == around.top);
}

}  // namespace dtypecheck::tracer::keep_going
