// stub.h: the data of stub.S, in the memory of the process that it is copied into.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dtypecheck::attaching {

enum class StubState : uint32_t { kWaiting = 0, kCalling = 1, kReturned = 2, kNotLoaded = 3 };

struct StubData {
  uint64_t original;  // where a call goes on
  uint64_t slot;      // through which LibTorch calls
  uint64_t expected, value;
  uint64_t found;  // in the slot, when `value` was to be stored there
  uint64_t dlopen;
  uint64_t path;      // of the library
  uint64_t offset;    // of the function in it
  uint64_t function;  // its address, where the library is there already; else 0
  uint64_t arguments[4];
  int64_t result;
  uint32_t taken;
  uint32_t state;  // StubState
};
static_assert(offsetof(StubData, arguments) == 72 && offsetof(StubData, result) == 104 &&
              offsetof(StubData, taken) == 112 && offsetof(StubData, state) == 116);

}  // namespace dtypecheck::attaching
