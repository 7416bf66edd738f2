// recorder.h: the RecordFunction callbacks.
#pragma once

#include <memory>

#include "trace/format.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

struct OpInfo;
struct ThreadState;

// One callback for all scopes: LibTorch copies its list of callbacks at each autograd node, and a
// second one costs more than the branch. FUNCTION is every op of the dispatcher, BACKWARD_FUNCTION
// an autograd node, USER_SCOPE an optimizer's step.
std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& fn);
void on_end(const at::RecordFunction& fn, at::ObserverContext* context);

// Hot. Whether this op, called from below `stack`, will be left out whatever its operands are, so
// that on_start() need not see it; counted here if so.
bool leave_out(ThreadState* state, const OpInfo& op, const void* stack);

// Cold. The signature of a call that was not seen when it began and throws at this moment. What is
// no tensor stands as None among the inputs; `inner`: autocast has cast them. Null: no room.
trace::SignatureRecord* signature_of_unseen(ThreadState* state, const OpInfo& op,
                                            c10::ArrayRef<const c10::IValue> inputs, bool inner);

}  // namespace dtypecheck::tracer
