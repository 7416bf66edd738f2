// frame_rule.h: how to get from one frame of the stack to its caller's, read once from the unwind
// tables.
//
// The tables (.eh_frame) say for each instruction where the caller's stack pointer and saved
// registers are. To interpret them costs about a microsecond; the answer for a return address never
// changes and fits in one word. x86-64; elsewhere every rule is kUnknown.
#pragma once

#include <cstdint>

namespace dtypecheck {
namespace tracer {
namespace native {

// The canonical frame address (CFA) is the stack pointer in the caller after the return. The return
// address lies in the word below it.
struct FrameRule {
  enum Base : uint8_t {
    kUnknown,        // something that is not covered here: unwind for good
    kOutermost,      // no caller
    kStackPointer,   // CFA = sp + offset
    kFramePointer,   // CFA = fp + offset
    kAtFramePointer  // CFA = *(fp + offset): a function that realigns its stack
  };
  enum Saved : uint8_t {
    kUnchanged,           // the caller's frame pointer is still in the register
    kSavedAtCfa,          // it is *(CFA + saved_words * 8)
    kSavedAtFramePointer  // it is *(fp + saved_words * 8)
  };

  Base base;  // FrameRule() is kUnknown
  Saved saved;
  int16_t saved_words;
  int32_t offset_bytes;
};
static_assert(sizeof(FrameRule) == 8, "it is stored in one atomic word");

// Cold: takes the unwinder's lock. A return address without unwind tables has no caller that could
// be found: kOutermost.
FrameRule find_frame_rule(uint64_t return_address);

}  // namespace native
}  // namespace tracer
}  // namespace dtypecheck
