#include "tracer/python/requests.h"

#include <algorithm>
#include <vector>

#include "core/precision_words.h"
#include "tracer/python/frames.h"
#include "tracer/python/module_tree.h"
#include "tracer/python/tensors.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

constexpr size_t kMostFrames = 48;
constexpr size_t kMostLooked = 2000;  // entries of a frame's variables and of what they hold
constexpr size_t kMostNamed = 24;     // of these, that are written down
constexpr size_t kMostBytes = 7000;   // of all: a string of a trace ends at 8192
constexpr unsigned long kHeapType = 1ul << 9;  // Py_TPFLAGS_HEAPTYPE: made by a class statement

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

bool is_named_like_settings(const std::string& name) {
  static constexpr const char* kParts[] = {"arg",  "opt",   "conf",   "cfg",   "param",
                                           "self", "setti", "plugin", "train", "strategy"};
  const std::string text = lowered(name);
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](const char* part) { return contains(text, part); });
}

bool spells_16_bits(const std::string& value) { return precision_in(value) != Dtype::kUndefined; }

bool names_configuration(const std::string& value) {
  return value.size() <= 512 && value.find('\n') == value.npos && is_configuration(value);
}

// What a variable says of a precision, as text; "" where it says nothing.
std::string said_by(const std::string& name, Object* value, int depth) {
  if (is_exactly(value, api.PyUnicode_Type)) {
    const std::string text = text_of(value);
    const bool is_bare = text == "16";
    if (spells_16_bits(text) && (!is_bare || is_named_like_precision(name))) return text;
    if (text == "auto" && is_named_like_precision(name)) return text;
    return names_configuration(text) ? text : "";
  }
  const std::string type = type_name(type_of(value));
  if (type == "dtype" && (api.PyType_GetFlags(type_of(value)) & kHeapType) == 0) {
    const Ref text(api.PyObject_Str(value));  // torch's own: runs no Python
    if (!text) return api.PyErr_Clear(), "";
    const std::string said = text_of(text.get());
    return spells_16_bits(said) ? said : "";
  }
  if (!is_named_like_precision(name)) return "";
  // Deep in a configuration there are many switches, and what each is about is not known.
  if (type == "bool" && depth <= 1) return api.PyObject_IsTrue(value) != 0 ? "True" : "False";
  if (type == "int" && as_integer(value, 0) == 16) return "16";
  return "";
}

// An enum's member, by its name.
std::string said_by_member(Object* value) {
  const Ref dict = instance_dict(value);
  const std::string member = text_of(dict_item(dict.get(), "_name_"));
  return spells_16_bits(member) ? member : "";
}

class Collector {
 public:
  explicit Collector(bool is_users) : is_users_(is_users) {}

  void look(const std::string& name, Object* value, int depth) {
    if (value == nullptr || ++looked_ > kMostLooked || out_.size() >= kMostNamed) return;
    const std::string said = said_by(name.substr(name.rfind('.') + 1), value, depth);
    if (!said.empty()) return add(name, said);
    if (is_instance(value, api.PyDict_Type)) {
      if (depth < kMostDepth && (is_named_like_settings(name) || depth > 0))
        enter(name, value, depth);
      return;
    }
    if (!has_attributes(value)) return;
    const std::string member = said_by_member(value);
    if (!member.empty()) return add(name, member);
    const bool is_worth =
        is_named_like_settings(name) || is_named_like_precision(name) || (is_users_ && depth == 0);
    if (depth >= (is_module(value) ? 1 : kMostDepth) || !(is_worth || depth > 0)) return;
    const Ref dict = instance_dict(value);
    // OmegaConf keeps its nodes in _content, and a node its value in _val.
    Object* content = dict_item(dict.get(), "_content");
    if (is_instance(content, api.PyDict_Type)) return enter(name, content, depth);
    Object* node = dict_item(dict.get(), "_val");
    if (node != nullptr) return look(name, node, depth + 1);
    enter(name, dict.get(), depth);
  }

  const std::vector<std::string>& out() const { return out_; }

 private:
  static constexpr int kMostDepth = 3;

  static bool has_attributes(const Object* object) {
    if (is_type(object) || is_tensor(object)) return false;
    return (api.PyType_GetFlags(type_of(object)) & kHeapType) != 0;
  }

  void enter(const std::string& name, Object* dict, int depth) {
    for (const auto& [key, value] : Items(dict)) {
      if (looked_ > kMostLooked) return;
      const std::string field = text_of(key);
      if (!field.empty() && field.size() < 64) look(name + "." + field, value, depth + 1);
    }
  }

  void add(const std::string& name, const std::string& said) {
    const std::string entry = name + "=" + said;
    if (entry.find('\t') == entry.npos && std::find(out_.begin(), out_.end(), entry) == out_.end())
      out_.push_back(entry);
  }

  bool is_users_;
  size_t looked_ = 0;
  std::vector<std::string> out_;
};

void add_frame(const PythonFrame& frame, std::string& text) {
  const Line line = line_of(frame);
  std::string row = line.file + ":" + std::to_string(line.line) + "\t" + line.function;
  Collector collector(frame.kind() == CodeKind::kUser);
  for (const Variable& v : locals_of(frame)) collector.look(v.name, v.value, 0);
  // What a script parses at its top level is a global of its functions.
  if (frame.kind() == CodeKind::kUser && is_function_frame(frame)) {
    for (const auto& [key, value] : Items(globals_of(frame))) {
      const std::string name = text_of(key);
      if (!name.empty() && name.rfind("__", 0) != 0) collector.look(name, value, 1);
    }
  }
  for (const std::string& entry : collector.out()) row += "\t" + entry;
  if (text.size() + row.size() + 1 <= kMostBytes) text += row + "\n";
}

void add_frames(const Frames& frames, std::string& text) {
  size_t count = 0;
  for (const PythonFrame& frame : frames) {
    const bool counts = frame.kind() == CodeKind::kUser || frame.kind() == CodeKind::kLibrary;
    if (counts && ++count <= kMostFrames) add_frame(frame, text);
  }
}

// The main thread waits for the GIL, which we hold: its frames stand still.
Frames main_frames() {
  const Ref main = Ref::share(imported_item("threading", "_main_thread"));
  const Ref fields = main ? instance_dict(main.get()) : Ref();
  const long long id = as_integer(dict_item(fields.get(), "_ident"), 0);
  Object* function = api.PySys_GetObject("_current_frames");
  if (id == 0 || function == nullptr) return {};
  const Ref all(api.PyObject_CallObject(function, nullptr));
  if (!all) return api.PyErr_Clear(), Frames();
  for (const auto& [key, frame] : Items(all.get())) {
    if (as_integer(key, 0) == id && is_exactly(frame, api.PyFrame_Type))
      return frames_from(frame_of_object(frame));
  }
  return {};
}

void (*g_default_seen)() = nullptr;
using WithOne = Object* (*)(Object* self, Object* argument);
WithOne g_set_default = nullptr;

Object* set_default_dtype(Object* self, Object* dtype) {
  Object* result = g_set_default(self, dtype);
  try {
    if (result != nullptr) g_default_seen();
  } catch (...) {  // no memory: the program has its dtype, and nothing is said of it
  }
  return result;
}

}  // namespace

std::string requests_here(std::string* place) {
  std::string text;
  const Interpreter interpreter;
  if (!interpreter) return text;
  const Frames frames = own_frames();
  const KeyFrames key = key_frames(frames);
  const PythonFrame* first = key.user != nullptr ? key.user : key.inner;
  if (first != nullptr) {
    const Line line = line_of(*first);
    *place = line.file + ":" + std::to_string(line.line);
  }
  add_frames(frames, text);
  if (key.user == nullptr) add_frames(main_frames(), text);
  return text;
}

bool watch_default_dtype(void (*seen)()) {
  const Interpreter interpreter;
  if (!interpreter || g_set_default != nullptr) return true;
  Method* method = method_of(imported_item("torch._C", "_set_default_dtype"), "_set_default_dtype");
  if (method == nullptr || (method->flags & ~kStaticMethod) != kOneArgument) return false;
  g_default_seen = seen;
  g_set_default = reinterpret_cast<WithOne>(method->function);
  method->function = reinterpret_cast<void*>(set_default_dtype);
  return true;
}

}  // namespace dtypecheck::tracer::python
