#include "tracer/native/frame_rule.h"

#include <string.h>

// Of libgcc, exported but in no public header: the table entry (FDE) of the function that `pc` lies
// in.
struct dwarf_eh_bases {
  void* text_base;
  void* data_base;
  void* function;
};
extern "C" const void* _Unwind_Find_FDE(void* pc, dwarf_eh_bases* bases);

namespace dtypecheck::tracer::native {
namespace {

constexpr uint64_t kFp = 6, kSp = 7, kReturn = 16;  // DWARF's register numbers on x86-64

// Reads DWARF's numbers; past the end it reads zeros.
class Bytes {
 public:
  Bytes(const uint8_t* begin, const uint8_t* end) : p_(begin), end_(end) {}

  bool empty() const { return p_ >= end_; }
  const uint8_t* position() const { return p_; }
  uint8_t byte() { return empty() ? 0 : *p_++; }
  void skip(uint64_t count) { p_ += count < left() ? count : left(); }

  template <typename T>
  T number() {
    T value = 0;
    if (left() >= sizeof value) memcpy(&value, p_, sizeof value);
    skip(sizeof value);
    return value;
  }
  uint64_t uleb() {
    int shift = 0;
    return leb(&shift);
  }
  int64_t sleb() {
    int shift = 0;
    const uint64_t value = leb(&shift);
    const bool negative = shift < 64 && (value >> (shift - 1) & 1) != 0;
    return static_cast<int64_t>(negative ? value | ~uint64_t{0} << shift : value);
  }
  Bytes block() {
    const uint64_t size = uleb();
    const Bytes inner(p_, p_ + (size < left() ? size : left()));
    skip(size);
    return inner;
  }

 private:
  uint64_t left() const { return static_cast<uint64_t>(end_ - p_); }
  uint64_t leb(int* shift) {
    uint64_t value = 0;
    uint8_t b;
    do {
      b = byte();
      if (*shift < 64) value |= static_cast<uint64_t>(b & 0x7f) << *shift;
      *shift += 7;
    } while ((b & 0x80) != 0);
    return value;
  }

  const uint8_t* p_;
  const uint8_t* end_;
};

// A CIE or FDE: a length, then that many bytes.
Bytes record_at(const uint8_t* p) {
  uint32_t length;
  memcpy(&length, p, sizeof length);
  return Bytes(p + 4, p + 4 + length);
}

// Bytes of a pointer in an encoding of the tables; 0 for one that has no fixed size.
int pointer_bytes(uint8_t encoding) {
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      return 8;
    case 0x02:
    case 0x0a:
      return 2;
    case 0x03:
    case 0x0b:
      return 4;
    default:
      return 0;
  }
}

// What the FDEs of an object file share.
struct Cie {
  uint64_t code_align = 1;
  int64_t data_align = 1;
  uint8_t pointer_encoding = 0;
  bool has_data = false;   // FDEs have augmentation data
  bool is_usable = false;  // not a signal's frame, and understood
  Bytes instructions = Bytes(nullptr, nullptr);
};

Cie parse_cie(const uint8_t* p) {
  Cie cie;
  Bytes bytes = record_at(p);
  bytes.skip(4);  // the id
  const uint8_t version = bytes.byte();
  const char* augmentation = reinterpret_cast<const char*>(bytes.position());
  bytes.skip(strlen(augmentation) + 1);
  cie.code_align = bytes.uleb();
  cie.data_align = bytes.sleb();
  const uint64_t return_register = version == 1 ? bytes.byte() : bytes.uleb();
  cie.is_usable = return_register == kReturn && (*augmentation == 0 || *augmentation == 'z');
  cie.has_data = *augmentation == 'z';
  Bytes data = cie.has_data ? bytes.block() : Bytes(nullptr, nullptr);
  for (const char* a = augmentation; *a != 0; ++a) {
    if (*a == 'R') cie.pointer_encoding = data.byte();
    if (*a == 'L') data.byte();
    if (*a == 'P') {
      const int size = pointer_bytes(data.byte());
      cie.is_usable = cie.is_usable && size != 0;
      data.skip(size);
    }
    if (*a == 'S') cie.is_usable = false;
  }
  cie.instructions = bytes;
  return cie;
}

// Where the caller's registers are at one instruction.
struct State {
  enum Where : uint8_t { kSame, kAtCfa, kAtFp, kUndefined, kElsewhere };
  struct Register {
    Where where = kSame;
    int64_t offset = 0;
  };
  FrameRule::Base base = FrameRule::kUnknown;
  int64_t offset = 0;
  Register fp, return_address;

  void set(uint64_t number, Register value) {
    if (number == kFp) fp = value;
    if (number == kReturn) return_address = value;
  }
  void set_base(uint64_t number) {
    base = number == kSp   ? FrameRule::kStackPointer
           : number == kFp ? FrameRule::kFramePointer
                           : FrameRule::kUnknown;
  }
};

constexpr uint8_t kOpDeref = 0x06, kOpFp = 0x70 + kFp;  // DWARF expressions: *top, and fp + sleb

// The one expression that compilers write for the CFA of a function that realigns its stack.
void set_cfa_expression(State* state, Bytes expression) {
  state->base = FrameRule::kUnknown;
  if (expression.byte() != kOpFp) return;
  state->offset = expression.sleb();
  if (expression.byte() == kOpDeref && expression.empty()) state->base = FrameRule::kAtFramePointer;
}

// "Saved at the address that the expression gives".
State::Register register_expression(Bytes expression) {
  if (expression.byte() != kOpFp) return {State::kElsewhere, 0};
  const int64_t offset = expression.sleb();
  return expression.empty() ? State::Register{State::kAtFp, offset}
                            : State::Register{State::kElsewhere, 0};
}

class Interpreter {
 public:
  Interpreter(const Cie& cie, uint64_t function, uint64_t target)
      : cie_(cie), location_(function), target_(target) {
    run(cie.instructions);
    initial_ = state_;
  }

  // Runs up to the target; false when an instruction is not known.
  bool run(Bytes code) {
    while (!code.empty() && location_ <= target_) {
      const uint8_t op = code.byte();
      const uint8_t low = op & 0x3f;
      bool known = true;
      switch (op >> 6) {
        case 1:
          location_ += low * cie_.code_align;
          break;
        case 2:
          state_.set(low, saved_at_cfa(static_cast<int64_t>(code.uleb())));
          break;
        case 3:
          restore(low);
          break;
        default:
          known = run_extended(low, code);
      }
      if (!known) return false;
    }
    return true;
  }

  const State& state() const { return state_; }

 private:
  State::Register saved_at_cfa(int64_t factored) const {
    return {State::kAtCfa, factored * cie_.data_align};
  }
  void restore(uint64_t number) {
    if (number == kFp) state_.fp = initial_.fp;
    if (number == kReturn) state_.return_address = initial_.return_address;
  }
  void define_cfa(uint64_t number, int64_t offset) {
    state_.set_base(number);
    state_.offset = offset;
  }

  bool run_extended(uint8_t op, Bytes& code) {
    switch (op) {
      case 0x00:
        return true;  // nop
      case 0x01:
        return false;  // set_loc: written by no compiler for this machine
      case 0x02:
        location_ += code.byte() * cie_.code_align;
        return true;
      case 0x03:
        location_ += code.number<uint16_t>() * cie_.code_align;
        return true;
      case 0x04:
        location_ += code.number<uint32_t>() * cie_.code_align;
        return true;
      case 0x0a:
        return remember();
      case 0x0b:
        return recall();
      case 0x2e:
        code.uleb();
        return true;  // size of pushed arguments
      default:
        return run_cfa(op, code) || run_register(op, code);
    }
  }
  bool run_cfa(uint8_t op, Bytes& code) {
    const uint64_t number = op == 0x0c || op == 0x0d || op == 0x12 ? code.uleb() : 0;
    switch (op) {
      case 0x0c:
        define_cfa(number, static_cast<int64_t>(code.uleb()));
        return true;
      case 0x0d:
        state_.set_base(number);
        return true;
      case 0x0e:
        state_.offset = static_cast<int64_t>(code.uleb());
        return true;
      case 0x0f:
        set_cfa_expression(&state_, code.block());
        return true;
      case 0x12:
        define_cfa(number, code.sleb() * cie_.data_align);
        return true;
      case 0x13:
        state_.offset = code.sleb() * cie_.data_align;
        return true;
      default:
        return false;
    }
  }
  bool run_register(uint8_t op, Bytes& code) {
    const uint64_t number = code.uleb();
    const State::Register elsewhere = {State::kElsewhere, 0};
    switch (op) {
      case 0x05:
        state_.set(number, saved_at_cfa(static_cast<int64_t>(code.uleb())));
        return true;
      case 0x06:
        restore(number);
        return true;
      case 0x07:
        state_.set(number, {State::kUndefined, 0});
        return true;
      case 0x08:
        state_.set(number, {State::kSame, 0});
        return true;
      case 0x09:
      case 0x14:
        code.uleb();
        state_.set(number, elsewhere);
        return true;
      case 0x10:
        state_.set(number, register_expression(code.block()));
        return true;
      case 0x11:
        state_.set(number, saved_at_cfa(code.sleb()));
        return true;
      case 0x15:
        code.sleb();
        state_.set(number, elsewhere);
        return true;
      case 0x16:
        code.block();
        state_.set(number, elsewhere);
        return true;
      default:
        return false;
    }
  }
  bool remember() {
    if (depth_ == kDepth) return false;
    remembered_[depth_++] = state_;
    return true;
  }
  bool recall() {
    if (depth_ == 0) return false;
    state_ = remembered_[--depth_];
    return true;
  }

  static constexpr int kDepth = 8;
  const Cie& cie_;
  uint64_t location_, target_;
  State state_, initial_;
  State remembered_[kDepth];
  int depth_ = 0;
};

FrameRule to_rule(const State& state) {
  if (state.return_address.where == State::kUndefined) return FrameRule::kOutermost;
  const bool returns_from_stack =
      state.return_address.where == State::kAtCfa && state.return_address.offset == -8;
  const bool fits = state.offset == static_cast<int32_t>(state.offset) &&
                    state.fp.offset == static_cast<int16_t>(state.fp.offset);
  if (!returns_from_stack || !fits || state.fp.where == State::kElsewhere) return FrameRule();
  const FrameRule::Saved saved = state.fp.where == State::kAtCfa  ? FrameRule::kSavedAtCfa
                                 : state.fp.where == State::kAtFp ? FrameRule::kSavedAtFramePointer
                                                                  : FrameRule::kUnchanged;
  const int64_t saved_bytes = saved == FrameRule::kUnchanged ? -8 : state.fp.offset;
  return FrameRule(state.base, static_cast<int32_t>(state.offset), saved,
                   static_cast<int16_t>(saved_bytes));
}

}  // namespace

FrameRule find_frame_rule(uint64_t return_address) {
#ifndef __x86_64__
  return FrameRule();
#endif
  // The call itself, not what follows it: that may be another function, or another state.
  const uint64_t target = return_address - 1;
  dwarf_eh_bases bases = {};
  const void* fde = _Unwind_Find_FDE(reinterpret_cast<void*>(target), &bases);
  if (fde == nullptr) return FrameRule::kOutermost;

  const uint8_t* p = static_cast<const uint8_t*>(fde);
  Bytes bytes = record_at(p);
  const int32_t back_to_cie = bytes.number<int32_t>();
  const Cie cie = parse_cie(p + 4 - back_to_cie);
  const int pointer = pointer_bytes(cie.pointer_encoding);
  if (!cie.is_usable || pointer == 0) return FrameRule();
  bytes.skip(2 * pointer);  // begin and size of the function
  if (cie.has_data) bytes.block();

  Interpreter interpreter(cie, reinterpret_cast<uint64_t>(bases.function), target);
  return interpreter.run(bytes) ? to_rule(interpreter.state()) : FrameRule();
}

}  // namespace dtypecheck::tracer::native
