// dump_perfetto.h: a run as a time line for the Perfetto UI (https://ui.perfetto.dev), in the JSON
// that chrome://tracing reads too.
#pragma once

#include <ostream>

#include "core/run.h"

namespace dtypecheck::cli {

// With times (trace --timeline): ops by thread, kernels by stream, steps, as they were. Without:
// the first call of each signature in the order in which they were first seen, inside of what
// called it; the names of the tracks say that widths are no times.
void write_perfetto(const Run& run, std::ostream& out);

}  // namespace dtypecheck::cli
