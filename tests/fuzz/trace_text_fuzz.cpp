// Any text gives a run or an InputError, and a run that was parsed prints as text that parses to
// the same.
#include "target.h"
#include "trace/text.h"

namespace dtypecheck::fuzz {

static void require_reads_back(const std::string& text) noexcept {
  require(to_text(parse_trace_text(text, "dump").run) == text);
}

void test_input(std::string_view input) {
  require_reads_back(to_text(parse_trace_text(input, "fuzz").run));
}

}  // namespace dtypecheck::fuzz
