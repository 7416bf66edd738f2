// Refusals that no op raised: Python code that raises (GradScaler), or a C++ function called
// straight from Python (an extension, a check in a binding). What is known of them is the call
// chain and the tensors among its local variables.
#include <algorithm>

#include "tracer/python/frames.h"
#include "tracer/python/module_tree.h"
#include "tracer/python/parameter_names.h"
#include "tracer/python/python_operators.h"
#include "tracer/python/python_sites.h"
#include "tracer/python/site_of_frames.h"
#include "tracer/python/tensors.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

// Further out lie the locals of code that only called the code that refused: they say nothing of
// it.
constexpr size_t kFramesWithOperands = 4;
constexpr size_t kMaxTensors = 32;
constexpr std::ptrdiff_t kMaxElements = 4096;

void add_tensor(std::vector<LocalTensor>& out, const std::string& name, Object* tensor) {
  if (out.size() >= kMaxTensors) return;
  out.push_back(describe_tensor(name, tensor));
  out.back().parameter = find_parameter_name(out.back().impl);
}

// Of a list: the first tensor, and the first of each other dtype.
void add_elements(std::vector<LocalTensor>& out, const Variable& list) {
  std::vector<std::string> dtypes;
  const std::ptrdiff_t size = std::min(sequence_size(list.value), kMaxElements);
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    Object* element = sequence_item(list.value, i);
    if (!is_tensor(element)) continue;
    const std::string name = list.name + "[" + std::to_string(i) + "]";
    const std::string dtype = describe_tensor(name, element).dtype;
    if (std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end()) continue;
    dtypes.push_back(dtype);
    add_tensor(out, name, element);
  }
}

bool has_name(const std::vector<LocalTensor>& tensors, const std::string& name) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&name](const LocalTensor& tensor) { return tensor.name == name; });
}

// What forward(self, input) works on, beside the input.
void add_parameters(std::vector<LocalTensor>& out, Object* module) {
  for (const auto& [key, value] : Items(module_dict(module, ModuleDict::kParameters))) {
    if (is_tensor(value) && !has_name(out, text_of(key))) add_tensor(out, text_of(key), value);
  }
}

std::vector<LocalTensor> tensors_of(const PythonFrame& frame) {
  std::vector<LocalTensor> out;
  Object* module = nullptr;
  for (const Variable& v : locals_of(frame)) {
    if (is_tensor(v.value)) {
      add_tensor(out, v.name, v.value);
    } else if (v.name == "self" && is_module(v.value)) {
      module = v.value;
    } else {
      add_elements(out, v);
    }
  }
  if (module != nullptr && !out.empty()) add_parameters(out, module);
  return out;
}

void describe(const Frames& frames, Refusal* out) {
  out->site = site_of(frames);
  if (frames.empty()) return;
  out->function = line_of(frames[0]).function;
  for (size_t i = 0; i < frames.size() && i < kFramesWithOperands; ++i) {
    out->tensors = tensors_of(frames[i]);
    if (!out->tensors.empty()) out->function = line_of(frames[i]).function;
    if (!out->tensors.empty() || frames[i].kind() == CodeKind::kUser) return;
  }
}

// str(exception), without calling a __str__ of the program's where the text is an argument.
std::string message_of(Object* exception) {
  const Ref arguments = attribute(exception, "args");
  if (sequence_size(arguments.get()) == 1) {
    Object* first = sequence_item(arguments.get(), 0);
    if (is_exactly(first, api.PyUnicode_Type)) return text_of(first);
  }
  const Ref text(api.PyObject_Str(exception));
  if (!text) api.PyErr_Clear();
  return text_of(text.get());
}

bool is_refusal(Object* exception) {
  for (const char* name : {"SystemExit", "KeyboardInterrupt", "SyntaxError", "GeneratorExit"}) {
    if (is_instance(exception, imported_item("builtins", name))) return false;
  }
  return is_instance(exception, imported_item("builtins", "BaseException"));
}

void (*g_seen)(const Refusal& refusal) = nullptr;

// The arguments of the event: the hook, the exception's type, the exception, its traceback.
void on_uncaught(Object* arguments) {
  const Interpreter interpreter;
  if (!interpreter || sequence_size(arguments) != 4) return;
  Object* exception = sequence_item(arguments, 2);
  if (!is_refusal(exception)) return;
  Refusal refusal;
  refusal.type = type_name(type_of(exception));
  refusal.message = message_of(exception);
  describe(traceback_frames(sequence_item(arguments, 3)), &refusal);
  g_seen(refusal);
}

// Only touched with the GIL held. What runs in it imports, too.
bool operators_are_watched = false;

void watch_operators() {
  const Interpreter interpreter;
  if (!interpreter) return;
  operators_are_watched = true;
  operators_are_watched = dispatch_python_operators();
}

// Hot: an audit event is each import, each open(), and more.
int on_audit_event(const char* event, Object* arguments, void*) {
  const bool imports = !operators_are_watched && std::strcmp(event, "import") == 0;
  if (!imports && (event[0] != 's' || std::strcmp(event, "sys.excepthook") != 0)) return 0;
  if (!active()) return 0;
  try {
    imports ? watch_operators() : on_uncaught(arguments);
  } catch (...) {  // no memory: the program is on its way out with an error of its own
  }
  return 0;
}

}  // namespace

bool describe_innermost_call(Refusal* out, bool may_wait) {
  if (!active() || top().frame == nullptr) return false;
  if (!may_wait && api.PyGILState_Check() == 0) return false;
  return with_interpreter<bool>([&] {
    describe(own_frames(), out);
    return true;
  });
}

void watch_uncaught(void (*seen)(const Refusal& refusal)) {
  with_interpreter<bool>([&] {
    const bool is_first = g_seen == nullptr;
    g_seen = seen;
    if (is_first) api.PySys_AddAuditHook(on_audit_event, nullptr);
    if (is_first) watch_operators();
    return true;
  });
}

}  // namespace dtypecheck::tracer::python
