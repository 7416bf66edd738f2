// python_offsets.h: where the fields lie that are read without the GIL, one table for each CPython
// up to 3.12.
//
// From 3.13 on CPython publishes its own offsets at the start of _PyRuntime; the order of that list
// is below for the versions whose list is known. All numbers are of 64-bit builds with the GIL.
// self_test() has the last word.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtypecheck::tracer::python {

// How a thread state leads to its innermost frame.
enum class FrameChain : uint8_t {
  kFrameObjects,  // 3.8 to 3.10: PyThreadState.frame, a chain of PyFrameObject
  kCFrame,        // 3.11, 3.12: PyThreadState.cframe->current_frame, a chain of _PyInterpreterFrame
  kCurrent,       // from 3.13: PyThreadState.current_frame, the same chain
};

struct Layout {
  FrameChain chain;
  uint8_t minor;  // 3.minor
  // PyThreadState, _PyCFrame
  uint16_t thread_frame;
  uint16_t cframe_current;
  // PyFrameObject (kFrameObjects) or _PyInterpreterFrame
  uint16_t frame_code;
  uint16_t frame_previous;
  uint16_t frame_instr;
  uint16_t frame_globals;
  uint16_t frame_locals;
  uint16_t frame_owner;  // 0: there are no frames of the interpreter's own in the chain
  uint16_t frame_localsplus;
  // PyFrameObject from 3.11 on
  uint16_t object_frame;
  uint16_t object_embedded;  // 0: not known
  // PyCodeObject
  uint16_t code_filename;
  uint16_t code_name;
  uint16_t code_flags;
  uint16_t code_nlocals;  // these three up to 3.10
  uint16_t code_varnames;
  uint16_t code_cellvars;
  uint16_t code_instructions;  // from 3.11 on
  // PyASCIIObject
  uint16_t text_length;
  uint16_t text_state;
  uint16_t text_ascii_size;
};

inline constexpr uint16_t kCellContents = 16;
inline constexpr uint16_t kTupleItems = 24;
inline constexpr long long kOptimized = 1;  // CO_OPTIMIZED: a function's code, with numbered locals
inline constexpr uint8_t kFirstInternalOwner =
    3;  // FRAME_OWNED_BY_CSTACK, in 3.14 FRAME_OWNED_BY_INTERPRETER
// References in frames carry tag bits from 3.14 on: 1 "not counted", 3 "a small integer, no
// object".
inline constexpr uint64_t kTagBits = 3;

constexpr Layout frame_objects(uint8_t minor, uint16_t lasti, uint16_t localsplus) {
  Layout l{};
  l.chain = FrameChain::kFrameObjects;
  l.minor = minor;
  l.thread_frame = 24;
  l.frame_previous = 24;
  l.frame_code = 32;
  l.frame_globals = 48;
  l.frame_locals = 56;
  l.frame_instr = lasti;
  l.frame_localsplus = localsplus;
  l.code_flags = 36;
  l.code_nlocals = 28;
  l.code_varnames = 72;
  l.code_cellvars = 88;
  l.code_filename = 104;
  l.code_name = 112;
  l.text_length = 16;
  l.text_state = 32;
  l.text_ascii_size = 48;
  return l;
}
inline constexpr Layout kLayout38 = frame_objects(8, 104, 360);
inline constexpr Layout kLayout39 = frame_objects(9, 104, 360);
inline constexpr Layout kLayout310 = frame_objects(10, 96, 352);

constexpr Layout layout311() {
  Layout l{};
  l.chain = FrameChain::kCFrame;
  l.minor = 11;
  l.thread_frame = 56;
  l.cframe_current = 8;
  l.frame_globals = 8;
  l.frame_locals = 24;
  l.frame_code = 32;
  l.frame_previous = 48;
  l.frame_instr = 56;
  l.frame_localsplus = 72;
  l.object_frame = 24;
  l.object_embedded = 48;
  l.code_flags = 48;
  l.code_filename = 112;
  l.code_name = 120;
  l.code_instructions = 184;
  l.text_length = 16;
  l.text_state = 32;
  l.text_ascii_size = 48;
  return l;
}
inline constexpr Layout kLayout311 = layout311();

constexpr Layout layout312() {
  Layout l = layout311();
  l.minor = 12;
  l.cframe_current = 0;
  l.frame_code = 0;
  l.frame_previous = 8;
  l.frame_globals = 24;
  l.frame_locals = 40;
  l.frame_owner = 70;
  l.code_instructions = 192;
  l.text_ascii_size = 40;
  return l;
}
inline constexpr Layout kLayout312 = layout312();

// What 3.13 publishes, so that the hot walk can have it as constants; when it publishes something
// else, that holds.
constexpr Layout layout313() {
  Layout l = layout312();
  l.chain = FrameChain::kCurrent;
  l.minor = 13;
  l.thread_frame = 72;
  l.object_embedded = 0;
  l.code_instructions = 200;
  return l;
}
inline constexpr Layout kLayout313 = layout313();

// The published list is eight characters and then 64-bit words. These are the indices, in words
// from its start, of those that are used here; the list of a new version has to be looked up in its
// pycore_debug_offsets.h.
struct PublishedIndices {
  uint8_t minor;
  uint8_t thread_current_frame;
  uint8_t frame_previous, frame_executable, frame_instr, frame_localsplus, frame_owner;
  uint8_t code_filename, code_name, code_instructions;
  uint8_t text_state, text_length, text_ascii_size;
};
inline constexpr char kPublishedCookie[] = "xdebugpy";
inline constexpr size_t kPublishedVersion = 1;  // PY_VERSION_HEX
inline constexpr size_t kPublishedFreeThreaded = 2;
inline constexpr PublishedIndices kPublished[] = {
    {13, 23, 29, 30, 31, 32, 33, 35, 36, 43, 68, 69, 70},
    {14, 26, 32, 33, 34, 35, 36, 40, 41, 48, 78, 79, 80},
};
// Not in the list, and the same in 3.13 and 3.14: f_funcobj, f_globals, f_builtins, f_locals follow
// f_executable and previous; PyFrameObject is header, f_back, f_frame; co_flags follows co_consts,
// co_names and co_exceptiontable.
inline constexpr uint16_t kPublishedFrameGlobals = 24;
inline constexpr uint16_t kPublishedFrameLocals = 40;
inline constexpr uint16_t kPublishedObjectFrame = 24;
inline constexpr uint16_t kPublishedCodeFlags = 48;

}  // namespace dtypecheck::tracer::python
