// dump.h: the formats of `dtypecheck dump` that have files of their own.
#pragma once

#include <iosfwd>
#include <string>

#include "core/run.h"

namespace dtypecheck::cli {

// The bytes of a database of SQLite, whose schema docs/scale.md explains. It is made in the folder
// for temporary files. Throws InputError.
void write_sqlite(const Run& run, std::ostream& out);

// A time line for the Perfetto UI (https://ui.perfetto.dev), in the JSON that chrome://tracing
// reads too: ops by thread, kernels by stream, steps, of a run that was timed (trace --timeline).
void write_perfetto(const Run& run, std::ostream& out);

// The health of a run (trace --health) as an event file of TensorBoard, written by the tensorboard
// package of this Python. Throws InputError where that is not installed, and where the run has no
// health.
void write_tensorboard(const Run& run, const std::string& folder, const std::string& python);

}  // namespace dtypecheck::cli
