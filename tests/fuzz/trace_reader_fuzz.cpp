// Any bytes give a run or an InputError, and a run that was read has a text that reads back as
// itself.
#include "core/provenance.h"
#include "target.h"
#include "trace/reader.h"
#include "trace/text.h"

namespace dtypecheck::fuzz {

static void require_reads_back(const std::string& text) noexcept {
  require(to_text(parse_trace_text(text, "dump").run) == text);
}

void take(std::string_view input) {
  Run run;
  read_trace_bytes(reinterpret_cast<const uint8_t*>(input.data()), input.size(), "fuzz.dtrace",
                   run);
  require_reads_back(to_text(run));
  const ProvenanceIndex provenance(run);
  for (const OpCall& call : run.calls) {
    require(call.parent < call.id);
    for (const Operand& operand : call.operands) provenance.of(call, operand);
  }
}

}  // namespace dtypecheck::fuzz
