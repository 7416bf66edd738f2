// Any bytes give a run or an InputError, and a run that was read has a text that reads back as
// itself.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/provenance.h"
#include "platform/error.h"
#include "trace/reader.h"
#include "trace/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  using namespace dtypecheck;
  Run run;
  try {
    read_trace_bytes(data, size_bytes, "fuzz.dtrace", run);
  } catch (const InputError&) {
    return 0;
  }
  const std::string text = to_text(run);
  if (to_text(parse_trace_text(text, "dump").run) != text) std::abort();
  const ProvenanceIndex provenance(run);
  for (const OpCall& call : run.calls) {
    if (call.parent >= call.id) std::abort();
    for (const Operand& operand : call.operands) provenance.of(call, operand);
  }
  return 0;
}
