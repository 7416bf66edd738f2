// python_api.h: the functions of CPython that are used, found with dlsym, and small owners around
// them.
//
// `Object` is CPython's PyObject: 16 bytes of header, the type at 8, in every version known here
// (LP64, with the GIL). Only functions that run no Python code of the program are used, except
// where a comment says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer::python {

struct Object;

// One entry a function: DTYPECHECK_PYTHON_FUNCTION(result, name, arguments). All of them are in
// CPython 3.8 to 3.14.
#define DTYPECHECK_PYTHON_FUNCTIONS(F)                                         \
  F(const char*, Py_GetVersion, (void))                                        \
  F(int, Py_IsInitialized, (void))                                             \
  F(void*, PyGILState_GetThisThreadState, (void))                              \
  F(int, PyGILState_Ensure, (void))                                            \
  F(void, PyGILState_Release, (int))                                           \
  F(int, PyGILState_Check, (void))                                             \
  F(Object*, PyEval_GetFrame, (void))                                          \
  F(int, PyFrame_GetLineNumber, (Object*))                                     \
  F(int, PyCode_Addr2Line, (Object*, int))                                     \
  F(void, Py_IncRef, (Object*))                                                \
  F(void, Py_DecRef, (Object*))                                                \
  F(void, PyErr_Fetch, (Object**, Object**, Object**))                         \
  F(void, PyErr_Restore, (Object*, Object*, Object*))                          \
  F(void, PyErr_Clear, (void))                                                 \
  F(Object*, PyObject_GetAttrString, (Object*, const char*))                   \
  F(Object*, PyObject_GenericGetDict, (Object*, void*))                        \
  F(Object*, PyObject_Str, (Object*))                                          \
  F(Object*, PyObject_CallObject, (Object*, Object*))                          \
  F(int, PyObject_IsTrue, (Object*))                                           \
  F(Object*, _PyType_Lookup, (Object*, Object*))                               \
  F(int, PyType_IsSubtype, (Object*, Object*))                                 \
  F(unsigned long, PyType_GetFlags, (Object*))                                 \
  F(Object*, PyUnicode_DecodeUTF8, (const char*, std::ptrdiff_t, const char*)) \
  F(Object*, PyDict_GetItemWithError, (Object*, Object*))                      \
  F(int, PyDict_Next, (Object*, std::ptrdiff_t*, Object**, Object**))          \
  F(Object*, PyImport_GetModuleDict, (void))                                   \
  F(Object*, PyImport_ImportModule, (const char*))                             \
  F(Object*, PyObject_CallFunctionObjArgs, (Object*, ...))                     \
  F(Object*, PySys_GetObject, (const char*))                                   \
  F(Object*, PyTuple_New, (std::ptrdiff_t))                                    \
  F(int, PyTuple_SetItem, (Object*, std::ptrdiff_t, Object*))                  \
  F(std::ptrdiff_t, PyTuple_Size, (Object*))                                   \
  F(Object*, PyTuple_GetItem, (Object*, std::ptrdiff_t))                       \
  F(std::ptrdiff_t, PyList_Size, (Object*))                                    \
  F(Object*, PyList_GetItem, (Object*, std::ptrdiff_t))                        \
  F(void*, PyLong_AsVoidPtr, (Object*))                                        \
  F(long long, PyLong_AsLongLong, (Object*))                                   \
  F(Object*, PyLong_FromLong, (long))                                          \
  F(Object*, PyFunction_GetCode, (Object*))                                    \
  F(Object*, PyWeakref_NewRef, (Object*, Object*))                             \
  F(Object*, PyCFunction_NewEx, (void*, Object*, Object*))                     \
  F(Object*, PyDict_New, (void))                                               \
  F(int, PyDict_SetItem, (Object*, Object*, Object*))                          \
  F(int, PyDict_SetItemString, (Object*, const char*, Object*))                \
  F(Object*, Py_CompileString, (const char*, const char*, int))                \
  F(Object*, PyEval_EvalCode, (Object*, Object*, Object*))                     \
  F(int, PySys_AddAuditHook, (int (*)(const char*, Object*, void*), void*))

// Types and singletons, by address.
#define DTYPECHECK_PYTHON_OBJECTS(O) \
  O(PyCode_Type)                     \
  O(PyFrame_Type)                    \
  O(PyCell_Type)                     \
  O(PyUnicode_Type)                  \
  O(PyDict_Type)                     \
  O(PyTuple_Type)                    \
  O(PyList_Type)                     \
  O(PyLong_Type)                     \
  O(PyType_Type)                     \
  O(PyFunction_Type)                 \
  O(PyModule_Type)                   \
  O(_Py_NoneStruct)

struct Api {
#define DTYPECHECK_DECLARE(result, name, arguments) result(*name) arguments = nullptr;
  DTYPECHECK_PYTHON_FUNCTIONS(DTYPECHECK_DECLARE)
#undef DTYPECHECK_DECLARE
#define DTYPECHECK_DECLARE(name) Object* name = nullptr;
  DTYPECHECK_PYTHON_OBJECTS(DTYPECHECK_DECLARE)
#undef DTYPECHECK_DECLARE
  int (*is_finalizing)(void) = nullptr;  // Py_IsFinalizing, before 3.13 _Py_IsFinalizing
  int (*gc_disable)(void) = nullptr;     // from 3.10; else null
  int (*gc_enable)(void) = nullptr;
  int (*code_location)(Object*, int, int*, int*, int*, int*) = nullptr;  // from 3.11; else null
  void (*enter_tracing)(void*) = nullptr;  // of a thread's state, from 3.11; else null
  void (*leave_tracing)(void*) = nullptr;
  const void* runtime = nullptr;  // _PyRuntime, which from 3.13 begins with its debug offsets
};
extern Api api;

// False when the process has no CPython. Only Py_GetVersion may be called after it.
bool find_python();
// False, and the symbol's name, when this CPython lacks one.
bool load_api(std::string* missing);

template <typename T>
inline T load(const void* base, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + offset, sizeof value);
  return value;
}

inline Object* type_of(const Object* object) { return load<Object*>(object, 8); }
inline bool is_exactly(const Object* object, const Object* type) {
  return object != nullptr && type_of(object) == type;
}
inline bool is_instance(const Object* object, Object* type) {
  return object != nullptr && type != nullptr &&
         (type_of(object) == type || api.PyType_IsSubtype(type_of(object), type) != 0);
}
inline bool is_type(const Object* object) { return is_instance(object, api.PyType_Type); }
// The last part of a type's name: "Conv2d".
std::string type_name(const Object* type);

// One strong reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(Object* owned) : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(other.release()) {}
  Ref& operator=(Ref&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Ref() { reset(nullptr); }
  static Ref share(Object* borrowed) {
    if (borrowed != nullptr) api.Py_IncRef(borrowed);
    return Ref(borrowed);
  }

  Object* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  Object* release() {
    Object* object = object_;
    object_ = nullptr;
    return object;
  }
  void reset(Object* owned) {
    Object* old = object_;
    object_ = owned;
    if (old != nullptr) api.Py_DecRef(old);
  }

 private:
  Object* object_ = nullptr;
};

// Attribute of an object of CPython's own (code, frame, traceback, function, type); null, and no
// error left, without it.
Ref attribute(Object* object, const char* name);
Object* new_text(const char* text);
// dict[key] for a text key, borrowed; null when `dict` is no dict or lacks the key.
Object* dict_item(Object* dict, const char* key);
// What a dict holds, borrowed: for (const Item& item : Items(dict)). Of null, and of what is no
// dict, nothing.
struct Item {
  Object *key, *value;
};
class Items {
 public:
  explicit Items(Object* dict) : dict_(dict) {}
  struct End {};
  class Iterator {
   public:
    explicit Iterator(Object* dict) : dict_(is_instance(dict, api.PyDict_Type) ? dict : nullptr) {
      ++*this;
    }
    const Item& operator*() const { return item_; }
    Iterator& operator++() {
      is_there_ = dict_ && api.PyDict_Next(dict_, &next_, &item_.key, &item_.value) != 0;
      return *this;
    }
    bool operator!=(End) const { return is_there_; }

   private:
    Object* dict_;
    std::ptrdiff_t next_ = 0;
    Item item_ = {};
    bool is_there_ = false;
  };
  Iterator begin() const { return Iterator(dict_); }
  End end() const { return {}; }

 private:
  Object* dict_;
};
// The instance's __dict__, read past any __getattribute__; null without one.
Ref instance_dict(Object* object);
// An entry of sys.modules' module: imported_item("torch", "Tensor"). Never imports. Borrowed.
Object* imported_item(const char* module, const char* name);
long long as_integer(Object* object, long long otherwise);

// The function `name` of a Python source of ours, whose frames are kept out of the user's code.
// Null, and no error left, when it could not be made. Runs that source.
Ref own_function(const char* source, const char* name);

// A function that Python can call. `flags` is kOneArgument or kNoArguments; `argument` is null
// without one.
Ref new_callback(const char* name, Object* (*function)(Object* self, Object* argument), int flags);
inline constexpr int kNoArguments = 4;  // METH_NOARGS
inline constexpr int kOneArgument = 8;  // METH_O
// The PyMethodDef of a builtin function, the same in CPython 3.8 to 3.14: another function put into
// it is called in place of the one that was there. Null where it is no builtin of that name.
// CPython hashes a builtin by the function in it, so that one which a set or a dict of the program
// may hold already needs call_instead() in place of it.
struct Method {
  const char* name;
  void* function;
  int flags;
  const char* doc;
};
inline constexpr int kStaticMethod = 32;  // METH_STATIC
Method* method_of(Object* builtin, const char* name);

// A call as CPython passes it from one function to the next (PEP 590): `values` holds the arguments
// by position, and then those that `names`, a tuple or null, has keywords for.
using VectorCall = Object* (*)(Object* callee, Object* const* values, size_t count, Object* names);
// Has `function` called where Python calls this builtin, which keeps its hash and is equal to what
// it was. Of one whose arguments come as a tuple and a dict: CPython passes others' calls on
// without asking. False where its layout is none that is known.
bool call_instead(Object* builtin, VectorCall function);
// The arguments of such a call as a tuple and a dict, null without keywords. False, and the error
// set, where there is no memory for them.
bool unpack_call(Object* const* values, size_t count, Object* names, Ref* arguments, Ref* keywords);
inline Object* return_none() {
  api.Py_IncRef(api._Py_NoneStruct);
  return api._Py_NoneStruct;
}

// Elements of an exact tuple or list, borrowed; 0 and null for anything else.
std::ptrdiff_t sequence_size(Object* sequence);
Object* sequence_item(Object* sequence, std::ptrdiff_t index);

// Takes the GIL for its lifetime, keeps the error indicator and holds the garbage collector and the
// program's trace and profile functions off, so that nothing of the program runs in the middle of
// an op because of us. False when the interpreter is not there, going away, or stopped.
class Interpreter {
 public:
  Interpreter();
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  explicit operator bool() const { return held_; }

 private:
  bool held_ = false;
  bool collector_was_on_ = false;
  void* thread_ = nullptr;
  int state_ = 0;
  Object* error_[3] = {nullptr, nullptr, nullptr};
};

// What ask() answers while the interpreter is held; Result() where it is not there, or ask()
// throws.
template <typename Result, typename Ask>
Result with_interpreter(const Ask& ask) {
  if (!active()) return Result();
  try {
    const Interpreter interpreter;
    return interpreter ? Result(ask()) : Result();
  } catch (...) {
    return Result();
  }
}

// Set by stop(): no cold function takes the GIL any more.
void forbid_interpreter();
// The interpreter is about to go away, and frees the frames of all threads but this one.
void forbid_interpreter_to_other_threads();
bool interpreter_usable();
// PyGILState_Ensure(), which never unwinds.
int take_gil();

}  // namespace dtypecheck::tracer::python
