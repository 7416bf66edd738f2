// recorder.h: the RecordFunction callbacks.
#pragma once

#include <memory>

#include "tracer/hook/torch_compat.h"

namespace dtypecheck {
namespace tracer {

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

}  // namespace tracer
}  // namespace dtypecheck
