// Any bytes give a run or an InputError, and a run that was read has a text that reads back as
// itself.
#include "core/provenance.h"
#include "target.h"
#include "trace/reader.h"
#include "trace/text.h"
#include "trace/with_checks.h"

namespace dtypecheck::fuzz {

static void require_reads_back(const std::string& text) noexcept {
  require(to_text(parse_trace_text(text, "dump").run) == text);
}

// Checksums are made right, or nothing behind them would ever be reached.
void test_input(std::string_view input) {
  Run run;
  const std::string bytes = test::with_checks(std::string(input));
  read_trace_bytes(bytes.data(), bytes.size(), "fuzz.dtrace", run);
  require_reads_back(to_text(run));
  const ProvenanceIndex provenance(run);
  for (const OpCall& call : run.calls) {
    require(call.parent < call.id);
    for (const Operand& operand : call.operands) provenance.trace_back(call, operand);
  }
}

}  // namespace dtypecheck::fuzz
