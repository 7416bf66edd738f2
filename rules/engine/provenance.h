// provenance.h: where a tensor's dtype came from, followed back through the calls that made it.
#pragma once

#include <string>

#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

struct DtypeSource {
  // The earliest call on the way that mixed dtypes and answered in this one, and the operand that
  // brought it in; nullptr when the dtype was never mixed in.
  const OpCall* promotion = nullptr;
  const Operand* promoted_by = nullptr;
  // The cast or factory that the way ends at; nullptr when it ends at a load or is not known.
  const OpCall* maker = nullptr;
  // The parameter that handed its dtype on: an embedding's table, say. The maker is then its own.
  const Operand* parameter = nullptr;
};
DtypeSource dtype_source(const RunIndex& index, const Operand& operand);

// The parameter that an operand is, also when a view or transpose of it was passed; nullptr: none.
const Operand* parameter_behind(const RunIndex& index, const Operand& operand);

}  // namespace dtypecheck::rules
