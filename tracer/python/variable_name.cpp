#include "tracer/python/variable_name.h"

#include <algorithm>

#include "tracer/python/module_tree.h"
#include "tracer/python/tensors.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

constexpr unsigned long kHeapType = 1ul << 9;  // Py_TPFLAGS_HEAPTYPE: made by a class statement
constexpr size_t kMaxAttributes = 4096;

// Whether an object's attributes are worth a look: an instance of a class, and nothing that is
// looked at otherwise.
bool has_attributes(const Object* object) {
  if (is_type(object) || is_module(object) || is_instance(object, api.PyDict_Type)) return false;
  if (is_tensor(object)) return false;
  return (api.PyType_GetFlags(type_of(object)) & kHeapType) != 0;
}

bool holds(const Variable& v, const Object* module) {
  return v.value == module && v.name != "self";
}

HeldModule by_value(const std::vector<Variable>& variables, Object* module) {
  for (const Variable& v : variables) {
    if (holds(v, module)) return {module, v.name};
  }
  return {};
}

HeldModule by_tree(const std::vector<Variable>& variables, const Object* module) {
  for (const Variable& v : variables) {
    if (v.value == module || !is_module(v.value)) continue;
    if (ends_with_module(module_tree(v.value, module), module)) return {v.value, v.name};
  }
  return {};
}

HeldModule by_attribute(const std::vector<Variable>& variables, Object* module) {
  HeldModule hidden;  // under a name that is not meant to be seen
  for (const Variable& v : variables) {
    if (!has_attributes(v.value)) continue;
    const Ref dict = instance_dict(v.value);
    size_t looked = 0;
    for (const auto& [key, value] : Items(dict.get())) {
      if (looked++ == kMaxAttributes) break;
      if (value != module) continue;
      HeldModule held{module, text_of(key)};
      if (held.name.rfind('_', 0) != 0) return held;
      if (!hidden) hidden = held;
    }
  }
  return hidden;
}

std::vector<Variable> global_variables(const PythonFrame& frame) {
  std::vector<Variable> out;
  for (const auto& [key, value] : Items(globals_of(frame)))
    if (is_module(value)) out.push_back({text_of(key), value});
  return out;
}

// A frame that also has the module in a list goes through that list: its variable's name says
// nothing of which one it is.
bool goes_through_list(const std::vector<Variable>& variables, const Object* module) {
  return std::any_of(variables.begin(), variables.end(), [module](const Variable& v) {
    for (std::ptrdiff_t i = 0; i < sequence_size(v.value); ++i) {
      if (sequence_item(v.value, i) == module) return true;
    }
    return false;
  });
}

HeldModule holder_in(const PythonFrame& frame, Object* module, bool* is_vague) {
  const std::vector<Variable> locals = locals_of(frame);
  if (HeldModule held = by_value(locals, module)) {
    *is_vague = goes_through_list(locals, module);
    return held;
  }
  if (HeldModule held = by_tree(locals, module)) return held;
  if (HeldModule held = by_attribute(locals, module)) return held;
  if (!is_function_frame(frame)) return {};  // its locals are the globals
  const std::vector<Variable> globals = global_variables(frame);
  if (HeldModule held = by_value(globals, module)) return held;
  return by_tree(globals, module);
}

}  // namespace

HeldModule find_holder(const Frames& frames, size_t first, Object* module,
                       const std::function<bool(const HeldModule&)>& is_taken) {
  HeldModule last_resort;
  for (size_t i = first; i < frames.size(); ++i) {
    const CodeKind kind = frames[i].kind();
    if (kind != CodeKind::kUser && kind != CodeKind::kLibrary) continue;
    bool is_vague = false;
    HeldModule held = holder_in(frames[i], module, &is_vague);
    if (!held) continue;
    if (held.name == "self") {
      // The user's own class names its parts itself. A library's is an object that the user has a
      // name for.
      const bool is_users = kind == CodeKind::kUser;
      HeldModule outer = is_users ? HeldModule() : find_holder(frames, i + 1, held.root, is_taken);
      if (outer) return outer;
      held.name.clear();
    }
    if (!is_vague && !is_taken(held)) return held;
    if (!last_resort) last_resort = held;
  }
  return last_resort;
}

}  // namespace dtypecheck::tracer::python
