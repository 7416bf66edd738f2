// A program that says where it was called from: "label begin file_offset address path", one line a
// call. A test looks up the line that the address has to resolve to by the comment with the label.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "torch/wrapper.h"

static bool in_map(const char* line, uint64_t address, uint64_t* begin, uint64_t* offset) {
  uint64_t end = 0;
  return sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, begin, &end, offset) == 3 &&
         *begin <= address && address < end;
}

static void print_mapping(const char* label, uint64_t address) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[1024];
  uint64_t begin = 0, offset = 0;
  while (maps && fgets(line, sizeof line, maps)) {
    if (!in_map(line, address, &begin, &offset)) continue;
    printf("%s %" PRIx64 " %" PRIx64 " %" PRIx64 " %s", label, begin, offset, address,
           strchr(line, '/'));
  }
  if (maps) fclose(maps);
  fflush(stdout);
}

__attribute__((noinline)) void report(const char* label) {
  print_mapping(label, reinterpret_cast<uint64_t>(__builtin_return_address(0)));
}

[[noreturn]] __attribute__((noinline)) static void report_and_leave(const char* label) {
  print_mapping(label, reinterpret_cast<uint64_t>(__builtin_return_address(0)));
  exit(0);
}

namespace sdxl {

struct Block {
  __attribute__((noinline)) int forward(int x) const;
};

__attribute__((always_inline)) static inline void helper(const char* label) {
  report(label);  // at: inlined
  asm volatile("");
}

int Block::forward(int x) const {
  report("plain");  // at: plain
  helper("inlined");
  at::wrapped_op("wrapped");  // at: wrapped
  const int y = at::outlined_op("outlined", x);
  const auto lambda = [](int v) __attribute__((noinline)) {
    report("lambda");  // at: lambda
    return v + 1;
  };
  return lambda(y);
}

__attribute__((noinline)) static void leave() {
  report_and_leave("last");  // at: last
}

}  // namespace sdxl

int main() {
  if (sdxl::Block().forward(1) == 2) sdxl::leave();
  return 1;
}
