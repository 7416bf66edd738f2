// numpy_loops.cpp: see numpy_loops.h. The loops are hot: no allocation, lock or Python there.
#include "tracer/python/numpy_loops.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "tracer/python/factories.h"
#include "tracer/python/numpy_arrays.h"

namespace dtypecheck::tracer::python {
namespace {

using Loop = void (*)(char** arguments, const std::ptrdiff_t* count, const std::ptrdiff_t* steps,
                      void* data);

enum Sign { kAdd, kSubtract, kMultiply, kNegative, kSquare, kSigns };
constexpr int kTypes = 6;

struct Ufunc {
  const char* name;
  const char* shown;
  int inputs;
  VectorCall call;
  Loop loops[kTypes];
};
Ufunc ufuncs[kSigns] = {{"add", "numpy.add", 2, nullptr, {}},
                        {"subtract", "numpy.subtract", 2, nullptr, {}},
                        {"multiply", "numpy.multiply", 2, nullptr, {}},
                        {"negative", "numpy.negative", 1, nullptr, {}},
                        {"square", "numpy.square", 1, nullptr, {}}};

NumpyWatcher watching;

// A call of a ufunc from Python, while it runs.
struct Call {
  Call* outer;
  int sign;
  int type = -1;  // of the first that wrapped
  double from = 0, to = 0;
  uint32_t loops = 0;       // rows, of what is no one block of memory
  std::ptrdiff_t left = 0;  // elements that are yet looked at
};
thread_local Call* running = nullptr;

constexpr std::ptrdiff_t kFewest = 32;
constexpr uint32_t kRowsBetween = 64;  // that are looked at once many were

// Sums and products of two of 32 bits fit in 64.
template <int kSign>
int64_t exact(int64_t a, int64_t b) {
  if constexpr (kSign == kAdd) return a + b;
  if constexpr (kSign == kSubtract) return a - b;
  if constexpr (kSign == kMultiply) return a * b;
  if constexpr (kSign == kNegative) return -a;
  if constexpr (kSign == kSquare) return a * a;
}

// Hashes and random numbers are made of 32 bits without a sign, of large numbers: of these a
// difference of small ones alone is looked at.
constexpr int64_t kLarge = int64_t{1} << 24;

// The place of the first that is seen to wrap, or -1.
template <int kSign, typename T>
std::ptrdiff_t first_wrapped(Call& call, char** arguments, std::ptrdiff_t count,
                             const std::ptrdiff_t* steps) {
  using Range = std::numeric_limits<T>;
  constexpr bool is_hash = sizeof(T) == 4 && !Range::is_signed;
  if (is_hash && kSign != kSubtract) return -1;
  if (call.left <= 0 && call.loops++ % kRowsBetween != 0) return -1;
  const std::ptrdiff_t by = step_between(count, std::max(call.left, kFewest));
  constexpr bool has_two = kSign != kNegative && kSign != kSquare;
  call.left -= count / by;
  for (std::ptrdiff_t i = 0; i < count; i += by) {
    const int64_t a = load<T>(arguments[0] + i * steps[0], 0);
    const int64_t b = has_two ? load<T>(arguments[1] + i * steps[1], 0) : 0;
    const int64_t value = exact<kSign>(a, b);
    const bool fits = value >= Range::min() && value <= Range::max();
    if (fits || (is_hash && std::max(a, b) >= kLarge)) continue;
    call.from = static_cast<double>(value);
    return i;
  }
  return -1;
}

template <int kSign, int kType, typename T>
void loop(char** arguments, const std::ptrdiff_t* count, const std::ptrdiff_t* steps, void* data) {
  Call* call = running;
  const bool looks = call != nullptr && call->sign == kSign && call->type < 0;
  const auto wrapped = looks ? first_wrapped<kSign, T>(*call, arguments, *count, steps) : -1;
  const Ufunc& ufunc = ufuncs[kSign];
  ufunc.loops[kType](arguments, count, steps, data);
  if (wrapped < 0) return;
  call->type = kType;
  call->to = load<T>(arguments[ufunc.inputs] + wrapped * steps[ufunc.inputs], 0);
}

template <int kSign>
Object* call_ufunc(Object* callee, Object* const* values, size_t count, Object* names) {
  const Ufunc& ufunc = ufuncs[kSign];
  if (!watching.looks()) return ufunc.call(callee, values, count, names);
  Call call{running, kSign};
  call.left = elements_to_look_at();
  running = &call;
  Object* result = ufunc.call(callee, values, count, names);
  running = call.outer;
  constexpr size_t kMayOverwrite = size_t{1} << 63;  // PY_VECTORCALL_ARGUMENTS_OFFSET
  if (call.type < 0 || result == nullptr ||
      (count & ~kMayOverwrite) < static_cast<size_t>(ufunc.inputs))
    return result;
  try {
    watching.wrapped(&call, {ufunc.shown, dtype_of_numpy(kByte + call.type), call.from, call.to,
                             values, static_cast<size_t>(ufunc.inputs), result});
  } catch (...) {  // no memory: the program has its array, and we say nothing of it
  }
  return result;
}

// PyUFuncObject, in NumPy 1.7 to 2.4.
constexpr size_t kInputs = 16, kOutputs = 20, kLoops = 32, kLoopCount = 48, kName = 56,
                 kLoopTypes = 64;
constexpr size_t kVectorCallOffset = 56;             // PyTypeObject::tp_vectorcall_offset
constexpr unsigned long kHasVectorCall = 1ul << 11;  // Py_TPFLAGS_HAVE_VECTORCALL
constexpr int kMostLoops = 256;

template <typename T>
void store(void* base, size_t offset, T value) {
  std::memcpy(static_cast<char*>(base) + offset, &value, sizeof value);
}

bool is_known(Object* object, const Ufunc& ufunc) {
  if (object == nullptr || std::strcmp(full_name(type_of(object)), "numpy.ufunc") != 0)
    return false;
  const char* name = load<const char*>(object, kName);
  const int count = load<int>(object, kLoopCount);
  return load<int>(object, kInputs) == ufunc.inputs && load<int>(object, kOutputs) == 1 &&
         name != nullptr && std::strcmp(name, ufunc.name) == 0 && count > 0 &&
         count <= kMostLoops && load<void*>(object, kLoops) != nullptr &&
         load<void*>(object, kLoopTypes) != nullptr &&
         (api.PyType_GetFlags(type_of(object)) & kHasVectorCall) != 0;
}

template <int kSign, typename... T, size_t... kType>
void watch(Object* module_names, std::index_sequence<kType...>) {
  Ufunc& ufunc = ufuncs[kSign];
  Object* object = dict_item(module_names, ufunc.name);
  if (!is_known(object, ufunc)) return;
  const auto offset = load<std::ptrdiff_t>(type_of(object), kVectorCallOffset);
  if (offset <= 0) return;
  ufunc.call = load<VectorCall>(object, static_cast<size_t>(offset));
  if (ufunc.call == nullptr) return;
  const Loop ours[] = {loop<kSign, static_cast<int>(kType), T>...};
  const int count = load<int>(object, kLoopCount);
  const auto* loops = load<const Loop*>(object, kLoops);
  const auto* types = load<const char*>(object, kLoopTypes);
  auto* copy = new Loop[static_cast<size_t>(count)];  // as long as the ufunc
  int replaced = 0;
  for (int i = 0; i < count; ++i) {
    copy[i] = loops[i];
    const char* own = types + i * (ufunc.inputs + 1);
    const int type = own[0] - kByte;
    if (type < 0 || type >= kTypes || own[ufunc.inputs] != own[0] ||
        own[ufunc.inputs - 1] != own[0] || ufunc.loops[type] != nullptr)
      continue;
    ufunc.loops[type] = loops[i];
    copy[i] = ours[type];
    ++replaced;
  }
  if (replaced == 0) return delete[] copy;
  store(object, static_cast<size_t>(offset), VectorCall{call_ufunc<kSign>});
  store(object, kLoops, static_cast<const Loop*>(copy));
}

template <int... kSign>
void watch_all(Object* module_names, std::integer_sequence<int, kSign...>) {
  (watch<kSign, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t>(
       module_names, std::make_index_sequence<kTypes>()),
   ...);
}

// An array, or a number of Python's or NumPy's.
bool describe(Object* object, LocalTensor* out) {
  out->device = "cpu";
  out->dtype = dtype_of_value(object);
  if (is_array(object)) {
    const Array array(object);
    out->memory = array.memory;
    out->shape.assign(array.shape, array.shape + array.dims);
  }
  return !out->dtype.empty();
}

}  // namespace

bool watch_numpy(const NumpyWatcher& watcher) {
  static bool are_watched = false;
  const Interpreter interpreter;
  if (!interpreter || are_watched) return true;
  Object* module = imported_item("numpy", "add") == nullptr
                       ? nullptr
                       : dict_item(api.PyImport_GetModuleDict(), "numpy");
  if (module == nullptr) return false;
  are_watched = true;
  watching = watcher;
  const Ref names = instance_dict(module);
  watch_all(names.get(), std::make_integer_sequence<int, kSigns>());
  watch_casts(names.get(), watcher);
  return true;
}

std::ptrdiff_t elements_to_look_at() {
  constexpr uint32_t kManyCalls = 4096, kSeldom = 64;
  constexpr std::ptrdiff_t kMost = 1024;
  static std::atomic<uint32_t> calls{0};
  const uint32_t call = calls.fetch_add(1, std::memory_order_relaxed);
  return call < kManyCalls || call % kSeldom == 0 ? kMost : kFewest;
}

std::vector<LocalTensor> arrays_of(const WrappedCall& call) {
  std::vector<LocalTensor> out;
  const char* const names[] = {"self", "other"};
  for (size_t i = 0; i <= call.count; ++i) {
    LocalTensor one;
    const bool is_result = i == call.count;
    one.name = is_result ? "" : names[i];
    if (describe(is_result ? call.result : call.arguments[i], &one) || is_result)
      out.push_back(std::move(one));
  }
  return out;
}

}  // namespace dtypecheck::tracer::python
