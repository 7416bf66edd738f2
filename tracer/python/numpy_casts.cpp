// numpy_casts.cpp: ndarray.astype(), numpy.asarray() and numpy.array(), where a cast loses what a
// person would miss: numbers beyond the integers that they are cast to, or all below 1; infinities
// in 16 bits; neighbours that become one number in Float. See numpy_loops.h. A C function of ours
// calls the original and compares some of what went in and came out, when both are there: nothing
// of NumPy's casts themselves is touched.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/mask.h"
#include "tracer/python/numpy_arrays.h"
#include "tracer/python/numpy_loops.h"

namespace dtypecheck::tracer::python {
namespace {

using FastCall = Object* (*)(Object* self, Object* const* values, std::ptrdiff_t count,
                             Object* names);
NumpyWatcher watching;

constexpr bool is_integer(int type) { return type >= kByte && type <= kULongLong; }
constexpr bool is_unsigned(int type) { return is_integer(type) && type % 2 == 0; }
// Of 64 bits as well: neighbours are told apart.
long double number_at(const char* place, int type) {
  switch (type) {
    case 1:
      return load<int8_t>(place, 0);
    case 2:
      return load<uint8_t>(place, 0);
    case 3:
      return load<int16_t>(place, 0);
    case 4:
      return load<uint16_t>(place, 0);
    case kInt:
      return load<int32_t>(place, 0);
    case kUInt:
      return load<uint32_t>(place, 0);
    case 7:
    case 9:
      return static_cast<long double>(load<int64_t>(place, 0));
    case 8:
    case kULongLong:
      return static_cast<long double>(load<uint64_t>(place, 0));
    case kFloat:
      return load<float>(place, 0);
    case kDouble:
      return load<double>(place, 0);
    default: {  // Half: whether it is an infinity is all that is asked
      const auto bits = load<uint16_t>(place, 0);
      return (bits & 0x7fff) == 0x7c00 ? std::numeric_limits<long double>::infinity() : 1;
    }
  }
}

struct Lost {
  bool is_lost = false;
  double from = 0, to = 0;
  void note(long double was, long double is) {
    if (!is_lost) from = static_cast<double>(was), to = static_cast<double>(is);
    is_lost = true;
  }
};

constexpr long double kExact = 1 << 24;  // whole numbers below are numbers of Float
constexpr std::ptrdiff_t kFewest = 16;   // to speak of all of them, or of a share

// Between them is what an integer of up to 32 bits holds, once its fraction is cut off.
struct Ends {
  explicit Ends(int type)
      : has_sign(!is_unsigned(type)),
        above(std::ldexp(1.0, 8 * bytes_of(type) - has_sign)),
        below(has_sign ? -above - 1 : -1) {}
  template <typename Number>
  bool holds(Number value) const {
    return value > below && value < above;
  }
  // Infinities are meant, and so is -1 where there is no sign: "none" of labels.
  template <typename Number>
  bool is_lost(Number value) const {
    return std::isfinite(value) && !holds(value) && (has_sign || value != -1);
  }

  bool has_sign;
  double above, below;
};

// The first that is lost, or -1. Hot: of a block at a time it is asked whether all of it is held,
// in the numbers' own type, so that the compiler makes vectors of it.
template <typename Number>
std::ptrdiff_t first_lost(const char* memory, std::ptrdiff_t count, const Ends& ends) {
  constexpr std::ptrdiff_t kBlock = 64;
  using Held = std::conditional_t<sizeof(Number) == 8, int64_t, int32_t>;
  const auto at = [&](std::ptrdiff_t i) { return load<Number>(memory + i * sizeof(Number), 0); };
  const auto above = static_cast<Number>(ends.above);
  const auto below = std::is_unsigned_v<Number> ? Number(0) : static_cast<Number>(ends.below);
  for (std::ptrdiff_t begin = 0; begin < count; begin += kBlock) {
    const std::ptrdiff_t length = std::min(kBlock, count - begin);
    Held held = 0;
    if (length == kBlock)
      for (std::ptrdiff_t i = begin; i < begin + kBlock; ++i)
        held += (at(i) > below || std::is_unsigned_v<Number>)&(at(i) < above);
    if (held == kBlock) continue;
    for (std::ptrdiff_t i = begin; i < begin + length; ++i)
      if (ends.is_lost(static_cast<double>(at(i)))) return i;
  }
  return -1;
}

std::ptrdiff_t first_lost(const Elements& from, const Ends& ends) {
  switch (from.type) {
    case 3:
      return first_lost<int16_t>(from.memory, from.count, ends);
    case 4:
      return first_lost<uint16_t>(from.memory, from.count, ends);
    case kInt:
      return first_lost<int32_t>(from.memory, from.count, ends);
    case kUInt:
      return first_lost<uint32_t>(from.memory, from.count, ends);
    case 7:
    case 9:
      return first_lost<int64_t>(from.memory, from.count, ends);
    case 8:
    case kULongLong:
      return first_lost<uint64_t>(from.memory, from.count, ends);
    case kFloat:
      return first_lost<float>(from.memory, from.count, ends);
    case kDouble:
      return first_lost<double>(from.memory, from.count, ends);
    default:  // 8 bits fit
      return -1;
  }
}

// One number that is lost makes a click of a sound, or a wrong row of an ID: every element is read
// where they stand side by side, of so many in all that the run is hardly slower for it: 0.2 s at
// most.
bool is_read_whole(const Elements& from) {
  constexpr std::ptrdiff_t kMost = 1 << 22;
  constexpr std::ptrdiff_t kMostOfRun = 1 << 27;
  static std::atomic<std::ptrdiff_t> read{0};
  return from.row != 0 && from.count <= kMost &&
         read.load(std::memory_order_relaxed) < kMostOfRun &&
         read.fetch_add(from.count, std::memory_order_relaxed) < kMostOfRun;
}

void look_at_integers(const Elements& from, const Elements& to, std::ptrdiff_t by, Lost& lost) {
  const Ends ends(to.type);
  std::ptrdiff_t fractions = 0, others = 0;
  Lost first;
  for (std::ptrdiff_t i = 0; i < from.count && !lost.is_lost; i += by) {
    const long double value = number_at(from.at(i), from.type);
    if (!ends.holds(value)) {
      if (ends.is_lost(value)) lost.note(value, number_at(to.at(i), to.type));
      continue;
    }
    const bool is_fraction = value > -1 && value < 1 && value != 0;
    is_fraction ? ++fractions : others += value != 0;
    if (is_fraction) first.note(value, 0);
  }
  if (by > 1 && !lost.is_lost && is_read_whole(from)) {
    const std::ptrdiff_t at = first_lost(from, ends);
    if (at >= 0) lost.note(number_at(from.at(at), from.type), number_at(to.at(at), to.type));
  }
  if (!lost.is_lost && fractions >= kFewest && others == 0) lost = first;
}

void look_at_half(const Elements& from, const Elements& to, std::ptrdiff_t by, Lost& lost) {
  for (std::ptrdiff_t i = 0; i < from.count && !lost.is_lost; i += by) {
    const long double value = number_at(from.at(i), from.type);
    if (std::fabs(value) < kMask && std::isinf(number_at(to.at(i), to.type)))
      lost.note(value, std::copysign(std::numeric_limits<long double>::infinity(), value));
  }
}

// An eighth of the pairs that were two numbers are one.
void look_at_neighbours(const Elements& from, const Elements& to, std::ptrdiff_t by, Lost& lost) {
  std::ptrdiff_t pairs = 0, equal = 0;
  Lost first;
  for (std::ptrdiff_t i = 0; i + 1 < from.count; i += by) {
    const long double value = number_at(from.at(i), from.type);
    if (!(std::fabs(value) >= kExact)) continue;
    const long double next = number_at(from.at(i + 1), from.type);
    if (value == next) continue;
    ++pairs;
    const long double is = number_at(to.at(i), to.type);
    if (is != number_at(to.at(i + 1), to.type)) continue;
    ++equal;
    first.note(value != is ? value : next, is);
  }
  if (equal >= kFewest / 2 && equal * 8 >= pairs) lost = first;
}

bool is_of_interest(const Elements& from, const Elements& to) {
  const bool is_number = is_integer(from.type) || from.type == kFloat || from.type == kDouble;
  if (!is_number || from.is_swapped || to.is_swapped || from.count != to.count) return false;
  if (to.type == kHalf) return true;
  if (to.type == kFloat)
    return from.type == kDouble || (is_integer(from.type) && from.type >= kInt);
  // Bits of one size are read with a sign, or without; 32 bits without one are a hash.
  const bool is_read_again = is_integer(from.type) && bytes_of(from.type) <= bytes_of(to.type);
  return is_integer(to.type) && to.type < kUInt && !is_read_again;
}

struct Watched {
  const char* name;
  const char* shown;  // the same pointer each time
  FastCall real;
};
Watched watched[] = {{"astype", "numpy.astype", nullptr},
                     {"asarray", "numpy.asarray", nullptr},
                     {"array", "numpy.array", nullptr}};
constexpr int kMethod = 0;  // of arrays; the others are functions

void tell_of_cast(const Watched& how, Object* given, Object* result) {
  const Elements from(given), to(result);
  if (!is_of_interest(from, to)) return;
  const std::ptrdiff_t by = step_between(from.count, elements_to_look_at());
  Lost lost;
  (to.type == kHalf    ? look_at_half
   : to.type == kFloat ? look_at_neighbours
                       : look_at_integers)(from, to, by, lost);
  if (!lost.is_lost) return;
  const char place = 0;
  watching.wrapped(&place,
                   {how.shown, dtype_of_numpy(to.type), lost.from, lost.to, &given, 1, result});
}

template <int kWhich>
Object* call(Object* self, Object* const* values, std::ptrdiff_t count, Object* names) {
  Object* result = watched[kWhich].real(self, values, count, names);
  Object* given = kWhich == kMethod ? self : count > 0 ? values[0] : nullptr;
  if (result == nullptr || given == nullptr || result == given || !watching.looks()) return result;
  try {
    if (is_array(given) && is_array(result)) tell_of_cast(watched[kWhich], given, result);
  } catch (...) {  // no memory
  }
  return result;
}

template <int kWhich>
void watch(Object* holder, const char* type, size_t offset_of_method) {
  constexpr int kFastCallWithKeywords = 0x82;  // METH_FASTCALL | METH_KEYWORDS
  if (holder == nullptr || type_name(type_of(holder)) != type) return;
  auto* method = load<Method*>(holder, offset_of_method);
  if (method == nullptr || std::strcmp(method->name, watched[kWhich].name) != 0 ||
      method->flags != kFastCallWithKeywords)
    return;
  watched[kWhich].real = reinterpret_cast<FastCall>(method->function);
  method->function = reinterpret_cast<void*>(call<kWhich>);
}

}  // namespace

void watch_casts(Object* module_names, const NumpyWatcher& watcher) {
  constexpr size_t kOfDescriptor = 40;  // PyMethodDescrObject::d_method
  constexpr size_t kOfFunction = 16;    // PyCFunctionObject::m_ml
  constexpr char kFunction[] = "builtin_function_or_method";
  watching = watcher;
  Object* array = dict_item(module_names, "ndarray");
  const Ref name(new_text(watched[kMethod].name));
  if (is_type(array) && name)
    watch<kMethod>(api._PyType_Lookup(array, name.get()), "method_descriptor", kOfDescriptor);
  watch<1>(dict_item(module_names, watched[1].name), kFunction, kOfFunction);
  watch<2>(dict_item(module_names, watched[2].name), kFunction, kOfFunction);
}

}  // namespace dtypecheck::tracer::python
