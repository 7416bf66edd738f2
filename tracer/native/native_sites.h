// native_sites.h: which line of a C++ program runs an op, cheaply enough to ask at each op.
//
// A real unwind costs microseconds. The return address into the user's code, however, always lies on the stack above us, so
// a scan of the stack for words that point into executable mappings of user code gives a key of a few words that is equal
// whenever the call chain is equal. Only for a key seen for the first time is the stack unwound for good.
// What is user code: the program itself and every library that is not LibTorch's, the C/C++ run time's or ours.
//
// C++17, either C++ ABI, no LibTorch. Nothing here throws.
#pragma once

#include <cstdint>

namespace dtypecheck {
namespace tracer {
namespace native {

struct Mapping {
  uint64_t begin, end, file_offset;
  char path[512];
};

// Reads the mappings (dl_iterate_phdr). Call again after dlopen brought new libraries (rescan() is cheap when none did).
void start();
void rescan();

// Hot: no allocation, no lock. 0 when no word of user code was found between here and `limit_bytes` up the stack.
uint64_t scan_key(uint32_t limit_bytes = 16384);

// Cold: unwinds, and gives the return addresses of the innermost user frames, nearest first. Returns how many (<= room).
int unwind(uint64_t* addresses, int room);

// The mapping that an address lies in; false when none does.
bool find_mapping(uint64_t address, Mapping* out);

}  // namespace native
}  // namespace tracer
}  // namespace dtypecheck
