// python_operators.cpp: see python_operators.h.
#include "tracer/python/python_operators.h"

#include "tracer/python/python_api.h"

namespace dtypecheck::tracer::python {
namespace {

// Those that are defined already are asked to change back. A torch without the short way has no
// such method, and its operators go through the dispatcher anyway.
constexpr const char* kSource = R"(
def dispatch(overload, operators):
    if not hasattr(overload, "_can_enable_pyobj_dispatch"):
        return
    overload._can_enable_pyobj_dispatch = lambda self: False
    for operator in list(operators.values()):
        operator._opoverload._enable_pyobj_dispatch(False)
)";

}  // namespace

bool dispatch_python_operators() {
  Object* overload = imported_item("torch._ops", "OpOverload");
  Object* operators = imported_item("torch._library.custom_ops", "OPDEFS");
  if (overload == nullptr || operators == nullptr) return false;
  const Ref dispatch = own_function(kSource, "dispatch");
  if (!dispatch) return true;
  const Ref done(api.PyObject_CallFunctionObjArgs(dispatch.get(), overload, operators, nullptr));
  if (!done) api.PyErr_Clear();
  return true;
}

}  // namespace dtypecheck::tracer::python
