// Any bytes are a safetensors file or an InputError, and every tensor of a file lies within it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "platform/error.h"
#include "runtime/safetensors.h"

// The reader maps a file; this one is in memory.
static std::string path_of(int file) { return "/proc/self/fd/" + std::to_string(file); }

static void look_at(const dtypecheck::runtime::SafetensorsFile& file, size_t size_bytes) {
  uint64_t sum = 0, bytes = 0;
  for (const auto& tensor : file.tensors()) {
    bytes += tensor.bytes.size();
    for (const std::byte byte : tensor.bytes) sum += static_cast<uint64_t>(byte);
  }
  if (bytes > size_bytes || sum > 255 * bytes) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  using namespace dtypecheck;
  const int file = memfd_create("fuzz", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size_bytes) != static_cast<ssize_t>(size_bytes)) std::abort();
  try {
    look_at(runtime::SafetensorsFile(path_of(file)), size_bytes);
  } catch (const InputError&) {
  }
  close(file);
  return 0;
}
