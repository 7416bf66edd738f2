// Any two traces merge or are refused, and what comes of it is a trace.
#include "platform/error.h"
#include "target.h"
#include "trace/merge.h"
#include "trace/text.h"
#include "trace/with_checks.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  TraceMerger merger;
  const size_t half = input.size() / 2 / 8 * 8;
  for (const std::string_view part : {input, input.substr(0, half), input.substr(half)}) {
    try {
      merger.add(test::with_checks(std::string(part)), "fuzz.dtrace");
    } catch (const InputError&) {
    }
  }
  const std::string bytes = merger.bytes();
  Run run;
  read_trace_bytes(bytes.data(), bytes.size(), "merged", run);
  to_text(run);
}

}  // namespace dtypecheck::fuzz
