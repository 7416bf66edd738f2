// frame_rule.h: how to get from one frame of the stack to its caller's, read once from the unwind
// tables.
//
// The tables (.eh_frame) say for each instruction where the caller's stack pointer and saved
// registers are. To interpret them costs about a microsecond; the answer for a return address never
// changes and fits in one word. x86-64; elsewhere every rule is kUnknown.
#pragma once

#include <cstdint>

namespace dtypecheck::tracer::native {

// The canonical frame address (CFA) is the stack pointer in the caller after the return. The return
// address lies in the word below it.
class FrameRule {
 public:
  enum Base : uint8_t {
    kUnknown,        // something that is not covered here: unwind for good
    kOutermost,      // no caller
    kStackPointer,   // CFA = sp + offset
    kFramePointer,   // CFA = fp + offset
    kAtFramePointer  // CFA = *(fp + offset): a function that realigns its stack
  };
  enum Saved : uint8_t {
    kUnchanged,           // the caller's is still in the register; *(CFA + saved_bytes) is readable
    kSavedAtCfa,          // it is *(CFA + saved_bytes)
    kSavedAtFramePointer  // it is *(fp + saved_bytes)
  };

  constexpr FrameRule(Base base = kUnknown) : word_(base) {}
  FrameRule(Base base, int32_t offset_bytes, Saved saved, int16_t saved_bytes)
      : word_(base | saved << 8 | static_cast<uint32_t>(static_cast<uint16_t>(saved_bytes)) << 16 |
              static_cast<uint64_t>(static_cast<uint32_t>(offset_bytes)) << 32) {}
  // It is stored in one atomic word. Shifts, not a struct laid over it: a struct goes through
  // memory on the hot path.
  static constexpr FrameRule from_word(uint64_t word) {
    FrameRule rule;
    rule.word_ = word;
    return rule;
  }
  constexpr uint64_t word() const { return word_; }

  constexpr Base base() const { return static_cast<Base>(word_ & 0xff); }
  constexpr Saved saved() const { return static_cast<Saved>(word_ >> 8 & 0xff); }
  constexpr int64_t saved_bytes() const { return static_cast<int16_t>(word_ >> 16 & 0xffff); }
  constexpr int64_t offset_bytes() const { return static_cast<int64_t>(word_) >> 32; }

 private:
  uint64_t word_;
};

// Cold: takes the unwinder's lock. A return address without unwind tables has no caller that could
// be found: kOutermost.
FrameRule find_frame_rule(uint64_t return_address);

}  // namespace dtypecheck::tracer::native
