// numpy_arrays.h: NumPy's arrays as they lie in memory, in NumPy 1.7 to 2.4, and what torch calls
// their dtypes.
#pragma once

#include <cstddef>
#include <cstring>
#include <iterator>

#include "tracer/python/python_api.h"

namespace dtypecheck::tracer::python {

// NPY_TYPES.
enum NumpyType {
  kByte = 1,
  kInt = 5,
  kUInt = 6,
  kULongLong = 10,
  kFloat = 11,
  kDouble = 12,
  kHalf = 23
};

// "" of a type that torch has not.
inline const char* dtype_of_numpy(int type) {
  constexpr const char* kNames[] = {
      "bool",   "int8",  "uint8",  "int16",   "uint16",  "int32", "uint32",    "int64",
      "uint64", "int64", "uint64", "float32", "float64", "",      "complex64", "complex128"};
  if (type == kHalf) return "float16";
  return type >= 0 && type < static_cast<int>(std::size(kNames)) ? kNames[type] : "";
}

inline const char* full_name(const Object* type) { return load<const char*>(type, 24); }  // tp_name

// Of a class that is made of ndarray, too.
inline bool is_array(const Object* object) {
  constexpr size_t kBase = 256;  // PyTypeObject::tp_base
  for (const Object* type = type_of(object); type; type = load<const Object*>(type, kBase))
    if (std::strcmp(full_name(type), "numpy.ndarray") == 0) return true;
  return false;
}

// PyArrayObject and PyArray_Descr.
struct Array {
  explicit Array(const Object* object)
      : memory(load<const char*>(object, 16)),
        dims(load<int>(object, 24)),
        shape(load<const std::ptrdiff_t*>(object, 32)),
        strides(load<const std::ptrdiff_t*>(object, 40)),
        descr(load<const char*>(object, 56)),
        is_swapped(descr[26] == '>'),  // on the machines that are traced
        type(load<int>(descr, 28)) {}

  const char* memory;
  int dims;
  const std::ptrdiff_t *shape, *strides;
  const char* descr;
  bool is_swapped;
  int type;
};

constexpr int bytes_of(int type) {  // of numbers, complex ones aside
  if (type == kFloat || type == kHalf) return type == kFloat ? 4 : 2;
  return type < 3 ? 1 : type < 5 ? 2 : type < 7 ? 4 : 8;
}

// Where the elements of one of numbers are.
struct Elements : Array {
  explicit Elements(const Object* object) : Array(object), row(bytes_of(type)) {
    for (int i = dims; i-- > 0; count *= shape[i])
      if (shape[i] != 1 && strides[i] != count * bytes_of(type)) row = 0;
  }
  const char* at(std::ptrdiff_t index) const {
    if (row != 0) return memory + index * row;
    const char* place = memory;
    for (int i = dims; i-- > 0; index /= shape[i]) place += index % shape[i] * strides[i];
    return place;
  }

  std::ptrdiff_t count = 1;
  std::ptrdiff_t row;  // bytes of an element, where one stands behind the other; else 0
};

}  // namespace dtypecheck::tracer::python
