// layout.h: the layout of the CPython at hand, and the loads that use it.
#pragma once

#include <string>

#include "tracer/python/python_api.h"
#include "tracer/python/python_offsets.h"

namespace dtypecheck::tracer::python {

extern Layout layout;

// False with one line in why_not when the CPython at hand is of no version that has a table.
bool is_known_version(std::string* why_not);
// Sets `layout`. After load_api().
bool choose_layout(std::string* why_not);

// Compares what is read through `layout` with what CPython itself says of the calling thread's
// frames. GIL held.
bool self_test(std::string* why_not);

// The loads. `At` is `layout`, or, in the hot walk, the one of the tables that equals it, which
// makes every offset a constant.
template <const Layout& At = layout>
inline const char* innermost_frame(const void* thread) {
  const char* frame = load<const char*>(thread, At.thread_frame);
  if (At.chain == FrameChain::kCFrame && frame != nullptr) {
    frame = load<const char*>(frame, At.cframe_current);
  }
  return frame;
}
template <const Layout& At = layout>
inline const char* previous_frame(const char* frame) {
  return load<const char*>(frame, At.frame_previous);
}
// Frames that CPython itself puts between a C function and the Python code that it calls.
template <const Layout& At = layout>
inline bool is_internal_frame(const char* frame) {
  return At.frame_owner != 0 && static_cast<uint8_t>(frame[At.frame_owner]) >= kFirstInternalOwner;
}
template <const Layout& At = layout>
inline const char* skip_internal(const char* frame) {
  while (frame != nullptr && is_internal_frame<At>(frame)) frame = previous_frame<At>(frame);
  return frame;
}
inline Object* untagged(uint64_t reference) {
  return (reference & kTagBits) == kTagBits ? nullptr
                                            : reinterpret_cast<Object*>(reference & ~kTagBits);
}
template <const Layout& At = layout>
inline Object* frame_code(
    const char* frame) {  // a code object's reference is never the tagged integer
  return reinterpret_cast<Object*>(load<uint64_t>(frame, At.frame_code) & ~kTagBits);
}
// A pointer into the code from 3.11 on; before, the index of the instruction.
template <const Layout& At = layout>
inline const void* frame_instr(const char* frame) {
  if (At.chain == FrameChain::kFrameObjects) {
    return reinterpret_cast<const void*>(
        static_cast<intptr_t>(load<int32_t>(frame, At.frame_instr)));
  }
  return load<const void*>(frame, At.frame_instr);
}
template <const Layout& At = layout>
inline Object* frame_local(const char* frame, size_t slot) {
  return untagged(load<uint64_t>(frame, At.frame_localsplus + 8 * slot));
}
template <const Layout& At = layout>
inline Object* code_filename(const Object* code) {
  return load<Object*>(code, At.code_filename);
}
template <const Layout& At = layout>
inline Object* code_name(const Object* code) {
  return load<Object*>(code, At.code_name);
}

// The frame of a frame object (PyEval_GetFrame, tb_frame).
inline const char* frame_of_object(Object* object) {
  if (layout.chain == FrameChain::kFrameObjects) return reinterpret_cast<const char*>(object);
  return load<const char*>(object, layout.object_frame);
}

// The byte offset that PyCode_Addr2Line takes.
int instruction_offset(const Object* code, const void* instr);

}  // namespace dtypecheck::tracer::python
