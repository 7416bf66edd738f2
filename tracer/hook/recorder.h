// recorder.h: the RecordFunction callbacks.
#pragma once

#include <memory>

#include "tracer/hook/torch_compat.h"

namespace dtypecheck {
namespace tracer {

// Scope FUNCTION: every op of the dispatcher.
std::unique_ptr<at::ObserverContext> on_op_start(const at::RecordFunction& fn);
void on_op_end(const at::RecordFunction& fn, at::ObserverContext* context);

// Scope BACKWARD_FUNCTION: autograd nodes.
std::unique_ptr<at::ObserverContext> on_node_start(const at::RecordFunction& fn);
void on_node_end(const at::RecordFunction& fn, at::ObserverContext* context);

}  // namespace tracer
}  // namespace dtypecheck
