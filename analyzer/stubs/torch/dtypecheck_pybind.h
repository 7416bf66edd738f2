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
};
using module = module_;
struct gil_scoped_release {};
struct gil_scoped_acquire {};
template <typename... T>
struct call_guard {};
template <typename... T>
struct init {};
template <typename T, typename... Bases>
struct class_ {
  class_(module_& module, const char* name);
  template <typename F, typename... Extra>
  class_& def(const char* name, F&& function, const Extra&... extra);
  template <typename... Types, typename... Extra>
  class_& def(init<Types...> constructor, const Extra&... extra);
};
}  // namespace pybind11
namespace py = pybind11;

#define TORCH_EXTENSION_NAME extension
#define PYBIND11_MODULE(name, variable) static void dtypecheck_module(::pybind11::module_& variable)
