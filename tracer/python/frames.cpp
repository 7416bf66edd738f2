#include "tracer/python/frames.h"

#include <unistd.h>

#include <algorithm>

#include "tracer/python/notebook_cells.h"
#include "tracer/python/state.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

constexpr size_t kMaxFrames = 512;

void classify(Frames& frames) {
  for (size_t i = 0; i < frames.size(); ++i) {
    const Object* caller = i + 1 < frames.size() ? frames[i + 1].code : nullptr;
    const int known = known_class(frames[i].code);
    frames[i].code_class =
        known >= 0 ? static_cast<CodeClass>(known) : classify_code(frames[i].code, caller);
  }
}

std::string absolute_file(std::string file) {
  if (file.empty() || file[0] == '/' || file[0] == '<') return file;
  const std::string path = first_folder() + "/" + file;
  return access(path.c_str(), R_OK) == 0 ? path : file;
}

std::string bare_name(Object* code) {
  if (layout.minor >= 11) {
    const Ref qualified = attribute(code, "co_qualname");
    const std::string name = text_of(qualified.get());
    if (!name.empty()) return name;
  }
  return text_of(code_name(code));
}

// Looks through functools.wraps for the function that `code` belongs to.
Ref function_of(Object* found, const Object* code) {
  Ref function = Ref::share(found);
  if (found != nullptr && type_name(type_of(found)) == "classmethod")
    function = attribute(found, "__func__");
  for (int i = 0; i < 8 && is_exactly(function.get(), api.PyFunction_Type); ++i) {
    if (api.PyFunction_GetCode(function.get()) == code) return function;
    const Ref dict = attribute(function.get(), "__dict__");
    function = Ref::share(dict_item(dict.get(), "__wrapped__"));
  }
  return Ref();
}

Object* cell_contents(Object* value) {
  return is_exactly(value, api.PyCell_Type) ? load<Object*>(value, kCellContents) : value;
}

// "GradScaler.unscale_" of a method; empty otherwise.
std::string name_through_self(const PythonFrame& frame) {
  Object* self = first_argument(frame);
  if (self == nullptr) return std::string();
  Object* type = is_type(self) ? self : type_of(self);  // a class method has its class there
  const Ref function = function_of(api._PyType_Lookup(type, code_name(frame.code)), frame.code);
  const Ref qualified = attribute(function.get(), "__qualname__");
  return text_of(qualified.get());
}

void add_names(std::vector<Variable>& out, Object* code, const char* attribute_name,
               const char* frame, size_t& slot, bool cells) {
  const Ref names = attribute(code, attribute_name);
  const auto known = out.size();
  for (std::ptrdiff_t i = 0; i < sequence_size(names.get()); ++i) {
    Variable v{text_of(sequence_item(names.get(), i)), nullptr};
    // From 3.11 on a local that is a cell has one slot, its own.
    const bool has_slot = !cells || layout.minor < 11 ||
                          std::none_of(
                              out.begin(), out.begin() + static_cast<std::ptrdiff_t>(known),
                              [&v](const Variable& o) { return o.name == v.name; });
    if (!has_slot) continue;
    v.value = cell_contents(frame_local(frame, slot++));
    out.push_back(v);
  }
}

std::vector<Variable> dict_variables(Object* dict) {
  std::vector<Variable> out;
  for (const auto& [key, value] : Items(dict)) out.push_back({text_of(key), value});
  return out;
}

}  // namespace

Frames own_frames() {
  const void* thread = api.PyGILState_GetThisThreadState();
  return frames_from(thread == nullptr ? nullptr : innermost_frame(thread));
}

Frames frames_from(const char* frame) {
  Frames frames;
  for (; frame != nullptr && frames.size() < kMaxFrames; frame = previous_frame(frame)) {
    if (is_internal_frame(frame)) continue;
    PythonFrame f;
    f.frame = frame;
    f.code = frame_code(frame);
    f.instr = frame_instr(frame);
    if (is_exactly(f.code, api.PyCode_Type)) frames.push_back(std::move(f));
  }
  classify(frames);
  return frames;
}

Frames traceback_frames(Object* traceback) {
  Frames frames;
  for (Ref tb = Ref::share(traceback);
       tb && tb.get() != api._Py_NoneStruct && frames.size() < kMaxFrames;
       tb = attribute(tb.get(), "tb_next")) {
    PythonFrame f;
    f.owner = attribute(tb.get(), "tb_frame");
    if (!is_exactly(f.owner.get(), api.PyFrame_Type)) break;
    const Ref line = attribute(tb.get(), "tb_lineno");
    f.line = static_cast<int>(as_integer(line.get(), 0));
    f.frame = frame_of_object(f.owner.get());
    f.code = frame_code(f.frame);
    if (is_exactly(f.code, api.PyCode_Type)) frames.push_back(std::move(f));
  }
  std::reverse(frames.begin(), frames.end());
  classify(frames);
  return frames;
}

Line line_of(Object* code, const void* instr) {
  Line line;
  const std::string file = text_of(code_filename(code));
  const std::string cell = cell_name(file);
  line.file = cell.empty() ? absolute_file(file) : cell;
  line.function = bare_name(code);
  const int offset = instruction_offset(code, instr);
  line.line = api.PyCode_Addr2Line(code, offset);
  int first = 0, column = 0, last = 0, end_column = 0;
  const bool has_extent = api.code_location != nullptr &&
                          api.code_location(code, offset, &first, &column, &last, &end_column) != 0;
  if (has_extent && first == line.line && last >= first && column >= 0 && end_column >= 0) {
    line.column = column + 1;
    line.end_column = end_column + 1;
    line.more_lines = last - first;
  }
  return line;
}

Line line_of(const PythonFrame& frame) {
  Line line = line_of(frame.code, frame.instr);
  if (frame.line > 0 && frame.line != line.line) {
    line.line = frame.line;
    line.column = line.end_column = line.more_lines = 0;
  }
  if (layout.minor < 11) {
    const std::string name = name_through_self(frame);
    if (!name.empty()) line.function = name;
  }
  return line;
}

bool is_function_frame(const PythonFrame& frame) {
  const Ref flags = attribute(frame.code, "co_flags");
  return (as_integer(flags.get(), 0) & kOptimized) != 0;
}

std::vector<Variable> locals_of(const PythonFrame& frame) {
  if (!is_function_frame(frame)) {
    Object* locals = load<Object*>(frame.frame, layout.frame_locals);
    return dict_variables(locals != nullptr ? locals : globals_of(frame));
  }
  std::vector<Variable> out;
  size_t slot = 0;
  add_names(out, frame.code, "co_varnames", frame.frame, slot, false);
  add_names(out, frame.code, "co_cellvars", frame.frame, slot, true);
  add_names(out, frame.code, "co_freevars", frame.frame, slot, false);
  out.erase(
      std::remove_if(out.begin(), out.end(), [](const Variable& v) { return v.value == nullptr; }),
      out.end());
  return out;
}

Object* first_argument(const PythonFrame& frame) {
  const Ref count = attribute(frame.code, "co_argcount");
  if (as_integer(count.get(), 0) == 0) return nullptr;
  return cell_contents(frame_local(frame.frame, slot_of_first(frame.code)));
}

Object* globals_of(const PythonFrame& frame) {
  return load<Object*>(frame.frame, layout.frame_globals);
}

KeyFrames key_frames(const Frames& frames) {
  KeyFrames key;
  const PythonFrame* standard_library = nullptr;
  for (const PythonFrame& f : frames) {
    if (f.kind() == CodeKind::kUser && key.user == nullptr) key.user = &f;
    if ((f.kind() == CodeKind::kUser || f.kind() == CodeKind::kLibrary) && key.inner == nullptr)
      key.inner = &f;
    if (f.kind() == CodeKind::kStandardLibrary && standard_library == nullptr)
      standard_library = &f;
  }
  if (key.inner == nullptr) key.inner = standard_library;
  return key;
}

}  // namespace dtypecheck::tracer::python
