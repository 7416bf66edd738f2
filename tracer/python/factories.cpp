#include "tracer/python/factories.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tracer/python/careful_reader.h"
#include "tracer/python/frames.h"
#include "tracer/python/layout.h"
#include "tracer/python/numpy_arrays.h"
#include "tracer/python/tensors.h"

namespace dtypecheck::tracer::python {
namespace {

using WithKeywords = Object* (*)(Object* self, Object* arguments, Object* keywords);
using WithOne = Object* (*)(Object* self, Object* argument);

struct Factory {
  const char* name;
  const char* shown;
  const char* parameter;  // the first one's name; null: it is the only one, and has none
  void* real;
};
std::array<Factory, 5> factories{{{"tensor", "torch.tensor", "data", nullptr},
                                  {"as_tensor", "torch.as_tensor", "data", nullptr},
                                  {"asarray", "torch.asarray", "obj", nullptr},
                                  {"frombuffer", "torch.frombuffer", "buffer", nullptr},
                                  {"from_numpy", "torch.from_numpy", nullptr, nullptr}}};

FactoryWatcher watching;

constexpr int kMostNested = 16;               // lists in lists
constexpr std::ptrdiff_t kMostValues = 4096;  // a longer list is judged by its beginning
// A storage of torch's: the ops that make a tensor of it say so themselves.
bool is_storage(const Object* object) {
  const char* name = full_name(type_of(object));
  const size_t length = std::strlen(name);
  return length >= 7 && std::strcmp(name + length - 7, "Storage") == 0;
}

bool is_foreign(const Object* source) {
  return source != nullptr && !is_tensor(source) && !is_storage(source);
}

Object* first_argument(const Factory& factory, Object* arguments, Object* keywords) {
  if (sequence_size(arguments) > 0) return sequence_item(arguments, 0);
  return keywords == nullptr ? nullptr : dict_item(keywords, factory.parameter);
}

void tell(const Factory& factory, Object* source, const void* place, Object* result) {
  try {
    watching.leave(place, factory.shown, source, result == nullptr ? nullptr : tensor_impl(result));
  } catch (...) {  // no memory: the program has its tensor, and we say nothing of it
  }
}

template <size_t kIndex>
Object* call_with_keywords(Object* callee, Object* const* values, size_t count, Object* names) {
  static_cast<void>(callee);  // a static method's function has no self
  const Factory& factory = factories[kIndex];
  const auto real = reinterpret_cast<WithKeywords>(factory.real);
  Ref arguments, keywords;
  if (!unpack_call(values, count, names, &arguments, &keywords)) return nullptr;
  Object* source = first_argument(factory, arguments.get(), keywords.get());
  const char place = 0;
  if (!is_foreign(source) || !watching.enter(&place))
    return real(nullptr, arguments.get(), keywords.get());
  Object* result = real(nullptr, arguments.get(), keywords.get());
  tell(factory, source, &place, result);
  return result;
}

template <size_t kIndex>
Object* call_with_one(Object* self, Object* source) {
  const Factory& factory = factories[kIndex];
  const auto real = reinterpret_cast<WithOne>(factory.real);
  const char place = 0;
  if (!is_foreign(source) || !watching.enter(&place)) return real(self, source);
  Object* result = real(self, source);
  tell(factory, source, &place, result);
  return result;
}

constexpr int kVarArgs = 1, kKeywords = 2;

template <size_t kIndex>
void watch(Object* functions) {
  Factory& factory = factories[kIndex];
  const Ref function = attribute(functions, factory.name);
  Method* method = method_of(function.get(), factory.name);
  if (method == nullptr) return;
  const bool has_one = factory.parameter == nullptr;
  if (method->flags != ((has_one ? kOneArgument : kVarArgs | kKeywords) | kStaticMethod)) return;
  factory.real = method->function;
  if (has_one) {
    method->function = reinterpret_cast<void*>(call_with_one<kIndex>);
  } else {
    call_instead(function.get(), call_with_keywords<kIndex>);
  }
}

template <size_t... kIndices>
void watch_all(Object* functions, std::index_sequence<kIndices...>) {
  (watch<kIndices>(functions), ...);
}

// The first value of a list, or of the first list in it; else the object itself.
Object* first_value(Object* source) {
  for (int depth = 0; depth < kMostNested && sequence_size(source) > 0; ++depth)
    source = sequence_item(source, 0);
  return source;
}

// Of a type of Python's own: a class of the program's may have the same name, but not its meaning.
std::string dtype_of_type(Object* type) {
  constexpr unsigned long kHeapType = 1ul << 9;  // Py_TPFLAGS_HEAPTYPE: made by a class statement
  if ((api.PyType_GetFlags(type) & kHeapType) != 0) return "";
  const std::string name = full_name(type);
  for (const auto& [python, torch] : {std::pair{"float", "float64"},
                                      {"int", "int64"},
                                      {"bool", "bool"},
                                      {"complex", "complex128"}})
    if (name == python) return torch;
  if (name == "numpy.bool" || name == "numpy.bool_") return "bool";
  return name.rfind("numpy.", 0) == 0 ? name.substr(6) : "";
}

Source source_of_value(Object* value) {
  return {is_array(value) ? "ndarray" : type_name(type_of(value)), dtype_of_value(value)};
}

// Whether all values of a list are of this type, as far as it is looked at.
bool are_all(Object* list, const Source& wanted, std::ptrdiff_t* left, int depth) {
  if (depth > kMostNested) return false;
  for (std::ptrdiff_t i = 0; i < sequence_size(list) && *left > 0; ++i, --*left) {
    Object* value = sequence_item(list, i);
    if (sequence_size(value) > 0) {
      if (!are_all(value, wanted, left, depth + 1)) return false;
      continue;
    }
    const Source source = source_of_value(value);
    if (source.type != wanted.type || source.dtype != wanted.dtype) return false;
  }
  return true;
}

// The slots of a frame in which its code keeps values; from 3.11 on some cells share those of
// locals, so that what may lie behind the last is left out.
struct Slots {
  explicit Slots(Object* code)
      : begin(count_of(code, "co_varnames")),
        end(begin + count_of(code, "co_freevars") +
            as_integer(attribute(code, "co_stacksize").get(), 0)) {}
  static long long count_of(Object* code, const char* names) {
    return sequence_size(attribute(code, names).get());
  }
  long long begin, end;
};

const Factory* factory_of(Object* functions, const Object* function) {
  if (function == nullptr) return nullptr;
  const auto found = std::find_if(factories.begin(), factories.end(), [&](const Factory& factory) {
    return factory.real != nullptr && attribute(functions, factory.name).get() == function;
  });
  return found == factories.end() ? nullptr : &*found;
}

// The function lies below its arguments, from 3.13 on with a null between them. Where one waits for
// what another gives, the upper one runs.
FactoryCall find_being_called(const PythonFrame& frame, Object* functions) {
  const Slots slots(frame.code);
  const auto at = [&](long long slot) {
    return frame_local(frame.frame, static_cast<size_t>(slot));
  };
  const Factory* factory = nullptr;
  long long slot = slots.end;
  while (factory == nullptr && --slot >= slots.begin) factory = factory_of(functions, at(slot));
  if (factory == nullptr) return {};
  do ++slot;
  while (slot < slots.end && at(slot) == nullptr);
  Object* source = slot < slots.end ? at(slot) : nullptr;
  if (!CarefulReader().is_object(source) || !is_foreign(source)) return {};
  FactoryCall call{factory->shown, word_of_source(source), source_of(source)};
  // One that is handed to a function as a value stands below what it is not given.
  return call.source.dtype.empty() && sequence_size(source) == 0 ? FactoryCall() : call;
}

constexpr size_t kFloatValue = 16;      // PyFloatObject::ob_fval
constexpr std::ptrdiff_t kFewest = 16;  // numbers, to speak of a share of them
constexpr double kMuch = 0.25;

void add_number(double number, Fractions& sum) {
  const double cut = number - std::trunc(number);
  ++sum.count;
  if (!std::isfinite(number)) return;
  if (sum.first == 0 && cut != 0) sum.first = number;
  sum.cut += cut * cut;
  sum.size += number * number;
}

// `type`: Python's float, for a list may hold others behind what source_of() looked at.
void add_float(Object* value, const Object* type, Fractions& sum) {
  if (type_of(value) == type && sum.count < kMostValues)
    add_number(load<double>(value, kFloatValue), sum);
}

// What the cast of one of more numbers loses is looked at there.
bool add_array(const Elements& array, Fractions& sum) {
  const bool is_float = array.type == kFloat, is_double = array.type == kDouble;
  if ((!is_float && !is_double) || array.is_swapped || array.count >= kFewest) return false;
  for (std::ptrdiff_t i = 0; i < array.count; ++i)
    add_number(is_float ? load<float>(array.at(i), 0) : load<double>(array.at(i), 0), sum);
  return true;
}

void add_numbers(Object* list, const Object* type, Fractions& sum, int depth) {
  if (depth > kMostNested) return;
  for (std::ptrdiff_t i = 0; i < sequence_size(list) && sum.count < kMostValues; ++i) {
    Object* value = sequence_item(list, i);
    if (sequence_size(value) > 0)
      add_numbers(value, type, sum, depth + 1);
    else
      add_float(value, type, sum);
  }
}

}  // namespace

bool watch_factories(const FactoryWatcher& watcher) {
  static bool are_watched = false;
  const Interpreter interpreter;
  if (!interpreter || are_watched) return true;
  Object* functions = imported_item("torch._C", "_VariableFunctionsClass");
  if (functions == nullptr) return false;
  watching = watcher;
  are_watched = true;
  watch_all(functions, std::make_index_sequence<factories.size()>());
  return true;
}

FactoryCall factory_being_called() {
  return with_interpreter<FactoryCall>([] {
    Object* functions = imported_item("torch._C", "_VariableFunctionsClass");
    const Frames frames = own_frames();
    if (functions == nullptr || frames.empty()) return FactoryCall();
    return find_being_called(frames[0], functions);
  });
}

std::string dtype_of_value(Object* value) {
  return is_array(value) ? dtype_of_numpy(Array(value).type) : dtype_of_type(type_of(value));
}

uint64_t word_of_source(Object* source) {
  const Object* value = first_value(source);
  const auto type = reinterpret_cast<uint64_t>(type_of(value));
  const uint64_t is_list = value != source;
  return (is_array(value) ? reinterpret_cast<uint64_t>(Array(value).descr) : type) * 2 + is_list;
}

Source source_of(Object* source) {
  Object* value = first_value(source);
  Source found = source_of_value(value);
  if (found.dtype.empty()) return {};
  if (value == source) return found;
  std::ptrdiff_t left = kMostValues;
  if (!are_all(source, found, &left, 0)) return {};
  return {type_name(type_of(source)) + "[" + found.type + "]", found.dtype};
}

bool add_fractions(Object* source, Fractions& sum) {
  if (is_array(source)) return add_array(Elements(source), sum);
  const std::string type = source_of(source).type;
  if (type != "float" && type != "list[float]") return false;
  const Object* number = type_of(first_value(source));
  if (type == "float")
    add_float(source, number, sum);
  else
    add_numbers(source, number, sum, 0);
  return true;
}

double Fractions::lost() const {
  return count >= kFewest && cut >= kMuch * kMuch * size ? first : 0;
}

}  // namespace dtypecheck::tracer::python
