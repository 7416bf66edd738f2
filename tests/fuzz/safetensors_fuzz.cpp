// Any bytes are a safetensors file or an InputError, and every tensor of a file lies within it.
#include "runtime/safetensors.h"
#include "target.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const GivenFile given(input);
  const runtime::SafetensorsFile file(given.path());
  uint64_t sum = 0, bytes = 0;
  for (const auto& tensor : file.tensors()) {
    bytes += tensor.bytes.size();
    for (const std::byte byte : tensor.bytes) sum += static_cast<uint64_t>(byte);
  }
  require(bytes <= input.size() && sum <= 255 * bytes);
}

}  // namespace dtypecheck::fuzz
