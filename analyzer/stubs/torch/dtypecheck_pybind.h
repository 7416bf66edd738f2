// What PYBIND11_MODULE and m.def need.
#pragma once

#include <dtypecheck_torch.h>

namespace pybind11 {
struct arg {
  explicit arg(const char* name);
  template <typename T>
  arg operator=(T&& value) const;
};
struct module_ {
  template <typename F, typename... Extra>
  module_& def(const char* name, F&& function, const Extra&... extra);
  static module_ import(const char* name);
  const char*& doc();
  template <typename T>
  void attr_of(const char* name, T value);
};
using module = module_;
struct handle {
  explicit operator bool() const;
  template <typename T>
  T cast() const;
  handle attr(const char* name) const;
  template <typename... Arguments>
  handle operator()(Arguments&&... arguments) const;
  void* ptr() const;
};
struct object : handle {};
template <typename T>
object cast(T&& value);
template <typename To>
To cast(const handle& value);
struct none : object {};
struct function : object {};
struct bytes : object {};
struct str : object {
  str(const char* text);
};
#define DTYPECHECK_SEQUENCE(name)                 \
  struct name : object {                          \
    name();                                       \
    explicit name(size_t size);                   \
    size_t size() const;                          \
    object operator[](size_t i) const;            \
    template <typename Key>                       \
    object operator[](const Key& key) const;      \
    template <typename T>                         \
    void append(T&& value);                       \
    const object* begin() const;                  \
    const object* end() const;                    \
  };
DTYPECHECK_SEQUENCE(list)
DTYPECHECK_SEQUENCE(dict)
DTYPECHECK_SEQUENCE(tuple)
#undef DTYPECHECK_SEQUENCE
template <typename... T>
tuple make_tuple(T&&... values);
struct buffer_info {
  void* ptr;
  ssize_t itemsize, size, ndim;
  std::vector<ssize_t> shape, strides;
};
template <typename T, int flags = 0>
struct array_t : object {
  buffer_info request() const;
  T* mutable_data(...);
  const T* data(...) const;
  ssize_t size() const;
};
namespace literals {
arg operator""_a(const char* name, size_t size);
}
namespace detail {
template <typename T>
struct type_caster;
}
template <typename... Types>
struct overload_cast_to {
  template <typename R>
  auto operator()(R (*function)(Types...)) const -> decltype(function);
  template <typename R, typename C>
  auto operator()(R (C::*method)(Types...)) const -> decltype(method);
  template <typename R, typename C>
  auto operator()(R (C::*method)(Types...) const) const -> decltype(method);
};
template <typename... Types>
constexpr overload_cast_to<Types...> overload_cast{};
enum class return_value_policy { automatic, copy, move, reference, take_ownership };
struct gil_scoped_release {};
struct gil_scoped_acquire {};
template <typename... T>
struct call_guard {};
template <size_t nurse, size_t patient>
struct keep_alive {};
template <typename... T>
struct init {};
template <typename T, typename... Bases>
struct class_ {
  template <typename... Extra>
  class_(module_& module, const char* name, const Extra&... extra);
  template <typename F, typename... Extra>
  class_& def(const char* name, F&& function, const Extra&... extra);
  template <typename... Types, typename... Extra>
  class_& def(init<Types...> constructor, const Extra&... extra);
  template <typename... Arguments>
  class_& def_readwrite(const char* name, const Arguments&... arguments);
  template <typename... Arguments>
  class_& def_readonly(const char* name, const Arguments&... arguments);
  template <typename... Arguments>
  class_& def_property_readonly(const char* name, const Arguments&... arguments);
  template <typename... Arguments>
  class_& def_static(const char* name, const Arguments&... arguments);
};
template <typename T>
struct enum_ {
  template <typename... Extra>
  enum_(module_& module, const char* name, const Extra&... extra);
  enum_& value(const char* name, T value);
  enum_& export_values();
};
}  // namespace pybind11
namespace py = pybind11;

#define TORCH_EXTENSION_NAME extension
#define PYBIND11_MODULE(name, variable) static void dtypecheck_module(::pybind11::module_& variable)
