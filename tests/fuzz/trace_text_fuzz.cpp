// Any text gives a run or an InputError, and a run that was parsed prints as text that parses to
// the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "platform/error.h"
#include "trace/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  using namespace dtypecheck;
  std::string text;
  try {
    const std::string_view input(reinterpret_cast<const char*>(data), size_bytes);
    text = to_text(parse_trace_text(input, "fuzz").run);
  } catch (const InputError&) {
    return 0;
  }
  if (to_text(parse_trace_text(text, "dump").run) != text) std::abort();
  return 0;
}
