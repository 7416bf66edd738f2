// compiled_regions.cpp: see compiled_regions.h.
#include "tracer/python/compiled_regions.h"

#include <vector>

#include "tracer/python/python_api.h"
#include "tracer/python/tensors.h"
#include "tracer/python/text.h"

namespace dtypecheck {
namespace tracer {
namespace python {
namespace {

constexpr const char* kSource = R"(
def wrap(compiled_graph, enter, leave):
    original = compiled_graph.__call__

    def __call__(self, inputs):
        options = getattr(self, "fx_kwargs", None) or {}
        kind = "backward" if options.get("is_backward") else "forward"
        enter((f"inductor_{kind}_{options.get('graph_id')}", inputs))
        outputs = None
        try:
            outputs = original(self, inputs)
            return outputs
        finally:
            leave(outputs)

    compiled_graph.__call__ = __call__
)";

RegionWatcher watching;
bool in_place = false;

std::vector<const void*> tensors_of(Object* sequence) {
  std::vector<const void*> impls;
  for (std::ptrdiff_t i = 0; i < sequence_size(sequence); ++i) {
    Object* item = sequence_item(sequence, i);
    if (!is_tensor(item)) continue;
    if (const void* impl = tensor_impl(item)) impls.push_back(impl);
  }
  return impls;
}

Object* enter(Object*, Object* name_and_inputs) {
  const std::string name = text_of(sequence_item(name_and_inputs, 0));
  const std::vector<const void*> impls = tensors_of(sequence_item(name_and_inputs, 1));
  watching.enter(name.c_str(), impls.data(), impls.size());
  return return_none();
}

Object* leave(Object*, Object* outputs) {
  const std::vector<const void*> impls = tensors_of(outputs);
  watching.leave(impls.data(), impls.size());
  return return_none();
}

}  // namespace

bool watch_compiled_regions(const RegionWatcher& watcher) {
  if (in_place) return true;
  const Interpreter interpreter;
  if (!interpreter) return false;
  Object* compiled_graph = imported_item("torch._inductor.output_code", "CompiledFxGraph");
  if (compiled_graph == nullptr || in_place) return in_place;
  watching = watcher;
  const Ref wrap = own_function(kSource, "wrap");
  const Ref on_enter = new_callback("enter", enter, kOneArgument);
  const Ref on_leave = new_callback("leave", leave, kOneArgument);
  if (!wrap || !on_enter || !on_leave) return false;
  const Ref done(api.PyObject_CallFunctionObjArgs(wrap.get(), compiled_graph, on_enter.get(),
                                                  on_leave.get(), nullptr));
  in_place = static_cast<bool>(done);
  if (!done) api.PyErr_Clear();
  return in_place;
}

}  // namespace python
}  // namespace tracer
}  // namespace dtypecheck
