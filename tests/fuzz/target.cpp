#include "target.h"

#include <cstdint>

#include "platform/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  try {
    dtypecheck::fuzz::test_input({reinterpret_cast<const char*>(data), size_bytes});
  } catch (const dtypecheck::InputError&) {
  }
  return 0;
}
