#include "tracer/keep_going/python_side.h"

#include "platform/hash.h"
#include "tracer/hook/describe.h"
#include "tracer/hook/keyed_table.h"
#include "tracer/hook/tracer.h"
#include "tracer/keep_going/in_float.h"
#include "tracer/python/python_api.h"
#include "tracer/python/python_sites.h"
#include "tracer/python/tensors.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::keep_going {

std::atomic<int> python_side_missing{1 << 20};

namespace {

using python::Object;
using python::Ref;

constexpr const char* kRefusals =
#include "tracer/keep_going/python_refusals.inc"
    ;
constexpr const char* kMappedWeights =
#include "tracer/keep_going/mapped_weights.inc"
    ;

const char* class_name(const c10::TensorImpl* impl) {
  const void* object = python_object(impl);
  if (!object) return "";
  const char* name =
      python::load<const char*>(python::type_of(static_cast<const Object*>(object)), 24);
  const char* dot = std::strrchr(name, '.');
  return dot ? dot + 1 : name;
}

bool is_compilers(const c10::TensorImpl* impl) {
  if (!tracer.python || !impl->key_set().has(c10::DispatchKey::Python)) return false;
  const char* name = class_name(impl);
  return std::strcmp(name, "FakeTensor") == 0 || std::strcmp(name, "FunctionalTensor") == 0;
}

bool is_compilers_value(const c10::IValue& value) {
  if (value.isTensor()) return is_compilers(value.unsafeToTensorImpl());
  if (!value.isList()) return false;
  for (const c10::IValue& element : value.toListRef()) {
    if (!element.isTensor()) continue;
    if (is_compilers(element.unsafeToTensorImpl())) return true;
  }
  return false;
}

class Gil {
 public:
  Gil() : held_(tracer.python && python::interpreter_usable()) {
    if (held_) state_ = python::take_gil();
  }
  ~Gil() {
    if (held_) python::api.PyGILState_Release(state_);
  }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_;
  int state_ = 0;
};

bool is_refusal(const std::string& name) {
  return name == "RuntimeError" || name == "TypeError" || name == "ValueError" ||
         name == "NotImplementedError";
}

KeyedTable<trace::SignatureRecord*, 1 << 10> refusals;

trace::SignatureRecord* record_of(ThreadState* state, const std::string& function,
                                  const std::string& type, const std::string& message,
                                  uint64_t dtypes) {
  python::FrameWalk walk;
  const uint64_t place =
      mix(fnv1a_next(message, fnv1a(function)), python::walk(&walk) ? walk.key : 0);
  const uint64_t key = mix(place, dtypes) | 1;
  if (trace::SignatureRecord* known = refusals.find(key)) {
    count_call(known);
    return known;
  }
  python::Refusal refusal;
  if (!python::describe_innermost_call(&refusal, /*may_wait=*/true)) return nullptr;
  refusal.function = function;
  refusal.type = type;
  refusal.message = message;
  trace::SignatureRecord* record = describe_refusal(state, refusal, /*repaired=*/true);
  if (record) refusals.insert(key, record);
  return record;
}

std::vector<const c10::TensorImpl*> tensors_in_list(Object* list) {
  std::vector<const c10::TensorImpl*> tensors;
  for (std::ptrdiff_t i = 0; i < python::sequence_size(list); ++i)
    if (const void* impl = python::tensor_impl(python::sequence_item(list, i)))
      tensors.push_back(static_cast<const c10::TensorImpl*>(impl));
  return tensors;
}

// record((function, error type, message, tensors)): True when it was written down, and may be
// repaired. The tensors are those that later ops will refuse for the same reason.
Object* record(Object*, Object* what) {
  Object* answer = python::api._Py_NoneStruct;
  ThreadState* state = thread_state();
  if (state && !state->busy && tracer.is_on() && on.load()) {
    const BusyScope ours(state);
    const auto text = [what](std::ptrdiff_t i) {
      return python::text_of(python::sequence_item(what, i));
    };
    const std::vector<const c10::TensorImpl*> refused =
        tensors_in_list(python::sequence_item(what, 3));
    uint64_t dtypes = 0;
    for (const c10::TensorImpl* impl : refused) dtypes |= uint64_t{1} << dtype_of(impl);
    trace::SignatureRecord* record = record_of(state, text(0), text(1), text(2), dtypes);
    for (const c10::TensorImpl* impl : refused)
      if (record) taint(impl, record->id);
    if (record) answer = what;  // anything that is true
  }
  python::api.Py_IncRef(answer);
  return answer;
}

// How a type of C stands for an attribute: PyGetSetDescrObject and PyGetSetDef, the same in
// CPython 3.8 to 3.14.
constexpr size_t kGetSetOfDescriptor = 40;
struct GetSet {
  const char* name;
  void* get;
  int (*set)(Object* self, Object* value, void* closure);
};

int (*real_set_grad)(Object* self, Object* value, void* closure);
Object* cast_grad;  // of the source; as long as the process

int set_grad(Object* self, Object* value, void* closure) {
  const int status = real_set_grad(self, value, closure);
  if (status == 0 || !value || !on.load()) return status;
  PythonError refusal;
  if (!refusal.fetch()) return status;
  const Ref type(python::new_text(refusal.type().c_str())),
      message(python::new_text(refusal.message().c_str()));
  const Ref cast(python::api.PyObject_CallFunctionObjArgs(cast_grad, self, value, type.get(),
                                                          message.get(), nullptr));
  if (cast && cast.get() != python::api._Py_NoneStruct)
    return real_set_grad(self, cast.get(), closure);
  if (!cast) python::api.PyErr_Clear();
  refusal.restore();
  return status;
}

// The setter itself is replaced, not the attribute: torch._dynamo asks what kind of attribute it
// is.
void watch_grad() {
  Object* base = python::imported_item("torch._C", "TensorBase");
  if (!base) base = python::imported_item("torch._C", "_TensorBase");
  const Ref descriptor = python::attribute(base, "grad");
  if (!descriptor || python::type_name(python::type_of(descriptor.get())) != "getset_descriptor")
    return;
  auto* entry = python::load<GetSet*>(descriptor.get(), kGetSetOfDescriptor);
  if (!entry || !entry->set || std::strcmp(entry->name, "grad") != 0) return;
  real_set_grad = entry->set;
  entry->set = set_grad;
}

bool map_weights() {
  const Ref install = python::own_function(kMappedWeights, "install");
  return install && Ref(python::api.PyObject_CallFunctionObjArgs(install.get(), nullptr));
}

// install(record) of the source.
bool let_refusals_through() {
  const Ref install = python::own_function(kRefusals, "install");
  const Ref callback = python::new_callback("record", record, python::kOneArgument);
  if (!install || !callback) return false;
  cast_grad = python::api.PyObject_CallFunctionObjArgs(install.get(), callback.get(), nullptr);
  if (cast_grad) watch_grad();
  return cast_grad != nullptr;
}

// torch's own import has ended when its module says so; some of it runs ops.
bool torch_is_imported() {
  Object* spec = python::imported_item("torch", "__spec__");
  if (!spec) return false;
  const Ref initializing = python::attribute(spec, "_initializing");
  return initializing && python::api.PyObject_IsTrue(initializing.get()) == 0;
}

}  // namespace

bool is_compilers_call(const Call& call) {
  if (call.below.has(c10::DispatchKey::Functionalize)) return true;
  for (const TensorArgument& argument : call.facts.tensors)
    if (is_compilers_value(call.arguments[argument.index])) return true;
  return false;
}

bool PythonError::fetch() {
  const Gil gil;
  if (!gil) return false;
  Object* parts[3] = {nullptr, nullptr, nullptr};
  python::api.PyErr_Fetch(&parts[0], &parts[1], &parts[2]);
  if (!parts[0] || !is_refusal(python::type_name(parts[0]))) {
    python::api.PyErr_Restore(parts[0], parts[1], parts[2]);
    return false;
  }
  for (int i = 0; i < 3; ++i) parts_[i] = parts[i];
  const Ref text(parts[1] ? python::api.PyObject_Str(parts[1]) : nullptr);
  if (!text) python::api.PyErr_Clear();
  message_ = python::text_of(text.get());
  type_ = python::type_name(parts[0]);
  return true;
}

void PythonError::restore() {
  if (!parts_[0]) return;
  const Gil gil;
  if (!gil) return;
  python::api.PyErr_Restore(static_cast<Object*>(parts_[0]), static_cast<Object*>(parts_[1]),
                            static_cast<Object*>(parts_[2]));
  for (void*& part : parts_) part = nullptr;
}

PythonError::~PythonError() {
  if (!parts_[0]) return;
  const Gil gil;
  if (!gil) return;
  for (void* part : parts_)
    if (part) python::api.Py_DecRef(static_cast<Object*>(part));
}

bool is_kernels_refusal(const std::exception& error, std::string* type, std::string* message) {
  if (std::strcmp(typeid(error).name(), "N8pybind1117error_already_setE") != 0) return false;
  const std::string text = error.what();  // TYPE: MESSAGE, and then where
  const size_t colon = text.find(": ");
  if (colon == std::string::npos || !is_refusal(text.substr(0, colon))) return false;
  *type = text.substr(0, colon);
  *message = text.substr(colon + 2, text.find("\n\nAt:") - colon - 2);
  return true;
}

void install_python_side(ThreadState* state) {
  if (!tracer.python) return python_side_missing.store(0);
  if (python_side_missing.fetch_sub(1) % 64 != 0) return;
  const BusyScope ours(state);
  const python::Interpreter interpreter;
  if (!interpreter || !torch_is_imported()) return;
  if (python_side_missing.exchange(0) <= 0) return;  // another thread was faster
  if (tracer.options.pretended && !map_weights()) python::api.PyErr_Clear();
  if (tracer.options.in_float && !watch_modules_in_float()) python::api.PyErr_Clear();
  if (tracer.options.keep_going && !let_refusals_through()) python::api.PyErr_Clear();
}

void forget_python_side() { refusals.clear(); }

}  // namespace dtypecheck::tracer::keep_going
