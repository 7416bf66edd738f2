// Reads the calling thread's frames through `layout` and compares them with what CPython's own
// functions say. The layout may be wrong (a patched CPython, a debug build), so memory is read with
// care.
#include <algorithm>

#include "tracer/python/careful_reader.h"
#include "tracer/python/layout.h"
#include "tracer/python/text.h"

namespace dtypecheck::tracer::python {

namespace {

constexpr int kFramesCompared = 64;
constexpr size_t kBytesSize = 16;  // of a bytes object
constexpr size_t kBytesContents = 32;

size_t frame_header_size() { return layout.frame_localsplus; }

// The thread's innermost frame, each step checked before it is taken.
const char* careful_innermost(const CarefulReader& reader, const void* thread) {
  if (!reader.readable(thread, layout.thread_frame + 8u)) return nullptr;
  const void* first = load<const void*>(thread, layout.thread_frame);
  if (layout.chain == FrameChain::kCFrame && !reader.readable(first, layout.cframe_current + 8u)) {
    return nullptr;
  }
  const char* frame = innermost_frame(thread);
  return reader.readable(frame, frame_header_size()) ? frame : nullptr;
}

const char* skip_internal(const CarefulReader& reader, const char* frame) {
  while (frame != nullptr && is_internal_frame(frame)) {
    frame = previous_frame(frame);
    if (frame != nullptr && !reader.readable(frame, frame_header_size())) return nullptr;
  }
  return frame;
}

bool is_tuple_at(const Object* code, uint16_t offset, const char* name) {
  return load<Object*>(code, offset) == attribute(const_cast<Object*>(code), name).get();
}

// Up to 3.10: the tuples of names. From 3.11 on: the instructions, which lie in the code object
// itself.
bool code_contents_agree(const CarefulReader& reader, Object* code) {
  if (layout.chain == FrameChain::kFrameObjects) {
    return is_tuple_at(code, layout.code_varnames, "co_varnames") &&
           is_tuple_at(code, layout.code_cellvars, "co_cellvars") &&
           load<int32_t>(code, layout.code_nlocals) ==
               as_integer(attribute(code, "co_nlocals").get(), -1);
  }
  const Ref copy = attribute(code, "_co_code_adaptive");
  if (!copy) return false;
  const size_t size = std::min<size_t>(load<size_t>(copy.get(), kBytesSize), 256);
  const char* instructions = reinterpret_cast<const char*>(code) + layout.code_instructions;
  const char* copied = reinterpret_cast<const char*>(copy.get()) + kBytesContents;
  return reader.readable(instructions, size) && std::memcmp(instructions, copied, size) == 0;
}

bool code_agrees(const CarefulReader& reader, Object* code) {
  if (!reader.readable_object(code, api.PyCode_Type) || !reader.readable(code, 192)) return false;
  return code_filename(code) == attribute(code, "co_filename").get() &&
         code_name(code) == attribute(code, "co_name").get() &&
         load<int32_t>(code, layout.code_flags) ==
             as_integer(attribute(code, "co_flags").get(), -1) &&
         code_contents_agree(reader, code);
}

// A module's frame has its names in a dict; a function's has none, or one that locals() left there.
bool names_agree(const CarefulReader& reader, const char* frame, Object* object, Object* code) {
  Object* names = load<Object*>(frame, layout.frame_locals);
  const bool is_function = (as_integer(attribute(code, "co_flags").get(), 0) & kOptimized) != 0;
  if (!is_function) return names == attribute(object, "f_locals").get();
  return names == nullptr || reader.readable_object(names, api.PyDict_Type);
}

bool frame_agrees(const CarefulReader& reader, const char* frame, Object* object) {
  const Ref code = attribute(object, "f_code");
  const Ref globals = attribute(object, "f_globals");
  if (frame_of_object(object) != frame || frame_code(frame) != code.get()) return false;
  if (!code_agrees(reader, code.get())) return false;
  if (load<Object*>(frame, layout.frame_globals) != globals.get()) return false;
  if (!names_agree(reader, frame, object, code.get())) return false;
  const int line =
      api.PyCode_Addr2Line(code.get(), instruction_offset(code.get(), frame_instr(frame)));
  return line == api.PyFrame_GetLineNumber(object);
}

// A frame object embeds a frame without its locals, so its size tells where they begin.
bool locals_begin_agrees() {
  const auto basic_size = load<int64_t>(api.PyFrame_Type, 32);
  switch (layout.chain) {
    case FrameChain::kFrameObjects:
      return basic_size == layout.frame_localsplus + 8;
    case FrameChain::kCFrame:
      return basic_size == layout.object_embedded + layout.frame_localsplus;
    case FrameChain::kCurrent:
      return layout.frame_localsplus > layout.frame_owner;
  }
  return false;
}

bool chain_agrees(const CarefulReader& reader) {
  Ref object = Ref::share(api.PyEval_GetFrame());
  const char* frame = careful_innermost(reader, api.PyGILState_GetThisThreadState());
  for (int i = 0; i < kFramesCompared; ++i) {
    frame = skip_internal(reader, frame);
    if (frame == nullptr || !frame_agrees(reader, frame, object.get())) return false;
    object = attribute(object.get(), "f_back");
    frame = previous_frame(frame);
    const bool last = !object || object.get() == api._Py_NoneStruct;
    // Below the outermost frame lies one of the interpreter's own, in the versions that have those.
    if (frame == nullptr) return last && layout.frame_owner == 0;
    if (!reader.readable(frame, frame_header_size())) return false;
    if (last) return skip_internal(reader, frame) == nullptr;
  }
  return true;
}

}  // namespace

bool self_test(std::string* why_not) {
  const std::string version(api.Py_GetVersion(), std::strcspn(api.Py_GetVersion(), " "));
  if (api.PyEval_GetFrame() == nullptr) {
    *why_not = "CPython " + version +
               " runs no code in the thread of the first op; Python lines are not recorded";
    return false;
  }
  const CarefulReader reader;
  if (locals_begin_agrees() && chain_agrees(reader) && learn_text_layout()) return true;
  *why_not =
      "CPython " + version + "'s frames are not laid out as known; Python lines are not recorded";
  return false;
}

}  // namespace dtypecheck::tracer::python
