// Any bytes give an answer or an InputError, however they are cut, and nothing of them comes out
// that could repaint a terminal.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "explain/answer.h"
#include "platform/error.h"
#include "platform/printable.h"

using namespace dtypecheck;

// The first byte says where the log is cut, the rest is the log.
static std::string answers_to(std::string_view log, size_t cut) {
  explain::LogScanner scanner;
  scanner.feed(log.substr(0, cut));
  scanner.feed(log.substr(std::min(cut, log.size())));
  scanner.finish();
  const explain::Answer answer = explain::explain(scanner);
  return explain::to_text(answer) + explain::to_json(answer);
}

static void require_printable(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (printable(line) != line) std::abort();
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  if (size_bytes == 0) return 0;
  const std::string_view log(reinterpret_cast<const char*>(data) + 1, size_bytes - 1);
  try {
    require_printable(answers_to(log, data[0] * size_t{16}));
  } catch (const InputError&) {
  }
  return 0;
}
