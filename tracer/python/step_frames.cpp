#include "tracer/python/step_frames.h"

#include <algorithm>

#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

constexpr int kMaxWrappers = 8;

std::string first_name(Object* code) {
  const Ref names = attribute(code, "co_varnames");
  return text_of(sequence_item(names.get(), 0));
}

long long count_of(Object* code, const char* what) {
  const Ref count = attribute(code, what);
  return as_integer(count.get(), 0);
}

// By the name: a function of the program's own that takes an optimizer first is none of its
// methods, and one that was bound to an optimizer later is.
bool is_method_of(const PythonFrame& frame, Object* optimizer_type) {
  return is_instance(first_argument(frame), optimizer_type) && first_name(frame.code) == "self";
}

// What calling `object` runs first, past functools.wraps and partial.
bool runs(Object* object, const PythonFrame& frame) {
  Ref callee = Ref::share(object);
  for (int i = 0; i < kMaxWrappers && callee; ++i) {
    if (is_exactly(callee.get(), api.PyFunction_Type)) {
      if (api.PyFunction_GetCode(callee.get()) == frame.code) return true;
      const Ref dict = attribute(callee.get(), "__dict__");
      callee = Ref::share(dict_item(dict.get(), "__wrapped__"));
    } else if (type_name(type_of(callee.get())) == "method") {
      callee = attribute(callee.get(), "__func__");
    } else if (type_name(type_of(callee.get())) == "partial") {
      callee = attribute(callee.get(), "func");
    } else {
      const Ref call(new_text("__call__"));
      Object* method = call ? api._PyType_Lookup(type_of(callee.get()), call.get()) : nullptr;
      if (!is_exactly(method, api.PyFunction_Type)) return false;
      callee = Ref::share(method);
    }
  }
  return false;
}

// A method of an optimizer was given something to call, and one of the frames inside is that.
bool is_in_closure_of(const Frames& frames, size_t method) {
  Object* code = frames[method].code;
  const long long given = count_of(code, "co_argcount") + count_of(code, "co_kwonlyargcount");
  const Ref names = attribute(code, "co_varnames");
  const auto inner_end = frames.begin() + static_cast<std::ptrdiff_t>(method);
  const std::vector<Variable> locals = locals_of(frames[method]);
  for (long long i = 1; i < given; ++i) {
    const std::string name = text_of(sequence_item(names.get(), i));
    const auto argument = std::find_if(locals.begin(), locals.end(),
                                       [&name](const Variable& v) { return v.name == name; });
    if (argument == locals.end()) continue;
    if (std::any_of(frames.begin(), inner_end,
                    [&](const PythonFrame& frame) { return runs(argument->value, frame); }))
      return true;
  }
  return false;
}

// What torch itself does to gradients between a backward pass and a step: clipping, and the work of
// a GradScaler but scale(), which is the last of a forward pass.
bool is_on_gradients(const PythonFrame& frame) {
  if (frame.kind() != CodeKind::kTorch) return false;
  const std::string file = text_of(code_filename(frame.code));
  const auto is_in = [&file](const std::string& name) {
    return file.size() > name.size() &&
           file.compare(file.size() - name.size(), name.size(), name) == 0;
  };
  if (is_in("/nn/utils/clip_grad.py")) return true;
  const std::string name = text_of(code_name(frame.code));
  return is_in("/amp/grad_scaler.py") &&
         (name == "unscale_" || name == "step" || name == "update" || name == "_unscale_grads_");
}

}  // namespace

Work work_of(const Frames& frames) {
  Object* optimizer_type = imported_item("torch.optim.optimizer", "Optimizer");
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].kind() == CodeKind::kModuleCall) return Work::kOther;
    if (is_on_gradients(frames[i])) return Work::kOptimizer;
    if (!is_method_of(frames[i], optimizer_type)) continue;
    return is_in_closure_of(frames, i) ? Work::kClosure : Work::kOptimizer;
  }
  return Work::kOther;
}

}  // namespace dtypecheck::tracer::python
