#include "tracer/python/python_api.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace dtypecheck::tracer::python {

Api api;

namespace {

std::atomic<bool> g_forbidden{false};
std::atomic<bool> g_only_one_thread{false};
pthread_t g_thread;  // that one

template <typename T>
bool find(const char* name, T* out) {
  void* address = dlsym(RTLD_DEFAULT, name);
  static_assert(sizeof(T) == sizeof(address), "a pointer");
  std::memcpy(out, &address, sizeof address);
  return address != nullptr;
}

// gc.disable() and its kin of 3.8 and 3.9, which have no C function for it.
Object* call_gc(const char* name) {
  Object* function = imported_item("gc", name);
  return function == nullptr ? nullptr : api.PyObject_CallObject(function, nullptr);
}

bool disable_collector() {
  if (api.gc_disable != nullptr) return api.gc_disable() != 0;
  const Ref enabled(call_gc("isenabled"));
  if (!enabled || api.PyObject_IsTrue(enabled.get()) != 1) return false;
  return static_cast<bool>(Ref(call_gc("disable")));
}

void enable_collector() {
  if (api.gc_enable != nullptr) {
    api.gc_enable();
  } else {
    Ref(call_gc("enable"));
  }
}

// Python code of ours is not what sys.settrace() and sys.setprofile() are there for. Before 3.11
// there is no function for it, and PyThreadState has its `tracing` at 44.
void count_tracing(void* thread, void (*function)(void*), int by) {
  if (function != nullptr) return function(thread);
  char* tracing = static_cast<char*>(thread) + 44;
  const int now = load<int>(tracing, 0) + by;
  std::memcpy(tracing, &now, sizeof now);
}

constexpr int kFileInput = 257;  // Py_file_input

}  // namespace

bool find_python() { return find("Py_GetVersion", &api.Py_GetVersion); }

bool load_api(std::string* missing) {
  Api found;
#define DTYPECHECK_FIND(result, name, arguments) \
  if (!find(#name, &found.name)) return *missing = #name, false;
  DTYPECHECK_PYTHON_FUNCTIONS(DTYPECHECK_FIND)
#undef DTYPECHECK_FIND
#define DTYPECHECK_FIND(name) \
  if (!find(#name, &found.name)) return *missing = #name, false;
  DTYPECHECK_PYTHON_OBJECTS(DTYPECHECK_FIND)
#undef DTYPECHECK_FIND
  if (!find("Py_IsFinalizing", &found.is_finalizing) &&
      !find("_Py_IsFinalizing", &found.is_finalizing)) {
    return *missing = "Py_IsFinalizing", false;
  }
  find("PyGC_Disable", &found.gc_disable);
  find("PyCode_Addr2Location", &found.code_location);
  find("PyGC_Enable", &found.gc_enable);
  find("PyThreadState_EnterTracing", &found.enter_tracing);
  find("PyThreadState_LeaveTracing", &found.leave_tracing);
  find("_PyRuntime", &found.runtime);
  api = found;
  return true;
}

std::string type_name(const Object* type) {
  const char* name = load<const char*>(type, 24);  // tp_name, behind the header of variable size
  const char* dot = std::strrchr(name, '.');
  return dot == nullptr ? name : dot + 1;
}

Ref attribute(Object* object, const char* name) {
  Ref value(object == nullptr ? nullptr : api.PyObject_GetAttrString(object, name));
  if (!value) api.PyErr_Clear();
  return value;
}

Object* new_text(const char* text) {
  return api.PyUnicode_DecodeUTF8(text, static_cast<std::ptrdiff_t>(std::strlen(text)), "replace");
}

Object* dict_item(Object* dict, const char* key) {
  if (!is_instance(dict, api.PyDict_Type)) return nullptr;
  const Ref text(new_text(key));
  Object* value = text ? api.PyDict_GetItemWithError(dict, text.get()) : nullptr;
  if (value == nullptr) api.PyErr_Clear();
  return value;
}

Ref instance_dict(Object* object) {
  Ref dict(api.PyObject_GenericGetDict(object, nullptr));
  if (!dict) api.PyErr_Clear();
  return dict;
}

Object* imported_item(const char* module, const char* name) {
  Object* object = dict_item(api.PyImport_GetModuleDict(), module);
  if (!is_instance(object, api.PyModule_Type)) return nullptr;
  const Ref dict = instance_dict(object);
  return dict ? dict_item(dict.get(), name) : nullptr;
}

long long as_integer(Object* object, long long otherwise) {
  if (!is_instance(object, api.PyLong_Type)) return otherwise;
  const long long value = api.PyLong_AsLongLong(object);
  if (value == -1) api.PyErr_Clear();  // -1 itself, or too large for 64 bits
  return value;
}

Ref new_callback(const char* name, Object* (*function)(Object*, Object*), int flags) {
  auto* definition = new Method{name, reinterpret_cast<void*>(function), flags,
                                nullptr};  // as long as the function
  return Ref(api.PyCFunction_NewEx(definition, nullptr, nullptr));
}

Method* method_of(Object* builtin, const char* name) {
  constexpr size_t kMethodOfFunction = 16;
  if (builtin == nullptr || type_name(type_of(builtin)) != "builtin_function_or_method")
    return nullptr;
  auto* method = load<Method*>(builtin, kMethodOfFunction);
  return method == nullptr || std::strcmp(method->name, name) != 0 ? nullptr : method;
}

bool call_instead(Object* builtin, VectorCall function) {
  constexpr size_t kVectorCall = 48,
                   kTypeSize = 32;  // PyCFunctionObject, PyTypeObject::tp_basicsize
  const bool has_one = load<std::ptrdiff_t>(type_of(builtin), kTypeSize) >= 56;
  if (!has_one || load<void*>(builtin, kVectorCall) != nullptr) return false;
  std::memcpy(reinterpret_cast<char*>(builtin) + kVectorCall, &function, sizeof function);
  return true;
}

bool unpack_call(Object* const* values, size_t count, Object* names, Ref* arguments,
                 Ref* keywords) {
  constexpr size_t kMayOverwrite = size_t{1} << 63;  // PY_VECTORCALL_ARGUMENTS_OFFSET
  count &= ~kMayOverwrite;
  arguments->reset(api.PyTuple_New(static_cast<std::ptrdiff_t>(count)));
  if (!*arguments) return false;
  for (size_t i = 0; i < count; ++i)
    api.PyTuple_SetItem(arguments->get(), static_cast<std::ptrdiff_t>(i),
                        Ref::share(values[i]).release());
  if (names == nullptr) return true;
  keywords->reset(api.PyDict_New());
  if (!*keywords) return false;
  for (std::ptrdiff_t i = 0; i < api.PyTuple_Size(names); ++i) {
    Object* name = api.PyTuple_GetItem(names, i);
    if (api.PyDict_SetItem(keywords->get(), name, values[count + static_cast<size_t>(i)]) != 0)
      return false;
  }
  return true;
}

Ref own_function(const char* source, const char* name) {
  const Ref code(api.Py_CompileString(source, "<frozen dtypecheck>", kFileInput));
  const Ref names(code ? api.PyDict_New() : nullptr);
  const Ref builtins(names ? api.PyImport_ImportModule("builtins") : nullptr);
  if (builtins) api.PyDict_SetItemString(names.get(), "__builtins__", builtins.get());
  const Ref ran(builtins ? api.PyEval_EvalCode(code.get(), names.get(), names.get()) : nullptr);
  if (!ran) api.PyErr_Clear();
  return Ref::share(ran ? dict_item(names.get(), name) : nullptr);
}

std::ptrdiff_t sequence_size(Object* sequence) {
  if (is_exactly(sequence, api.PyTuple_Type)) return api.PyTuple_Size(sequence);
  if (is_exactly(sequence, api.PyList_Type)) return api.PyList_Size(sequence);
  return 0;
}

Object* sequence_item(Object* sequence, std::ptrdiff_t index) {
  return is_exactly(sequence, api.PyTuple_Type) ? api.PyTuple_GetItem(sequence, index)
                                                : api.PyList_GetItem(sequence, index);
}

bool interpreter_usable() {
  if (g_only_one_thread.load(std::memory_order_acquire) &&
      pthread_equal(g_thread, pthread_self()) == 0) {
    return false;
  }
  return !g_forbidden.load(std::memory_order_relaxed) && api.is_finalizing != nullptr &&
         api.is_finalizing() == 0 && api.Py_IsInitialized() != 0;
}

void forbid_interpreter() { g_forbidden.store(true, std::memory_order_relaxed); }

void forbid_interpreter_to_other_threads() {
  g_thread = pthread_self();
  g_only_one_thread.store(true, std::memory_order_release);
}

// A thread that waits for the GIL while the interpreter goes away is ended by CPython (before 3.14)
// through pthread_exit(), which unwinds the stack. LibTorch's frames above us would turn that into
// an abort, so the thread stays here until the process ends, as it does in CPython 3.14.
int take_gil() {
  try {
    return api.PyGILState_Ensure();
  } catch (...) {
    for (;;) pause();
  }
}

Interpreter::Interpreter() {
  if (!interpreter_usable()) return;
  state_ = take_gil();
  held_ = true;
  thread_ = api.PyGILState_GetThisThreadState();
  count_tracing(thread_, api.enter_tracing, 1);
  api.PyErr_Fetch(&error_[0], &error_[1], &error_[2]);
  collector_was_on_ = disable_collector();
}

Interpreter::~Interpreter() {
  if (!held_) return;
  if (collector_was_on_) enable_collector();
  api.PyErr_Restore(error_[0], error_[1], error_[2]);
  count_tracing(thread_, api.leave_tracing, -1);
  api.PyGILState_Release(state_);
}

}  // namespace dtypecheck::tracer::python
