// checkpoint.h: all that a training run needs to go on as if it had never stopped.
#pragma once

#include <ATen/core/Generator.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/optimizer.h"
#include "runtime/training_data.h"

namespace dtypecheck::runtime {

struct TrainingState {
  std::vector<TrainedTensor>& trained;
  AdamW& optimizer;
  GradScaler& scaler;
  Ema& average;
  TrainingData& data;
  at::Generator& random;
};

// What a run was started with and must be resumed with, by name: "rank": "4".
using RunOptions = std::map<std::string, std::string>;

// A safetensors file, written aside and moved into place. Throws InputError.
void save_checkpoint(const std::string& path, int64_t step, const RunOptions& options,
                     const TrainingState& state);

// Returns the step. Throws InputError when the file is none of these, or of a run with other
// options or other tensors.
int64_t load_checkpoint(const std::string& path, const RunOptions& options, TrainingState& state);

}  // namespace dtypecheck::runtime
