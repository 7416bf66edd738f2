// dump_tensorboard.h: the health of a run (trace --health) as an event file of TensorBoard.
#pragma once

#include <string>

#include "core/run.h"

namespace dtypecheck::cli {

// Written by the tensorboard package of this Python. Throws InputError where that is not installed,
// and where the run has no health.
void write_tensorboard(const Run& run, const std::string& folder, const std::string& python);

}  // namespace dtypecheck::cli
