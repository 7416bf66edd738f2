// Stands for a header of LibTorch: what lies under include/torch/ is not the user's.
#pragma once

void report(const char* label);

namespace at {

__attribute__((always_inline)) inline void wrapped_op(const char* label) {
  report(label);
  asm volatile("");
}

template <typename T>
__attribute__((noinline)) T outlined_op(const char* label, T value) {
  report(label);
  asm volatile("");
  return value;
}

}  // namespace at
