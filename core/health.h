// health.h: numbers of the modules of a run over its steps (trace --health), as trace/format.h has
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/codes.h"
#include "core/op_call.h"

namespace dtypecheck {

const char* health_role_name(HealthRole role);  // "activations"

// In one step.
struct HealthPoint {
  uint32_t step = 0;
  double largest = 0;  // magnitude of what is finite
  double zero = 0;     // share that is 0; of weights in 16 bits, that did not move
  double beyond = 0;   // share that is NaN or infinite

  bool operator==(const HealthPoint&) const = default;
};

struct HealthRow {
  uint32_t process = 0;  // index into Run::processes
  HealthRole role = HealthRole::kActivation;
  Dtype dtype = Dtype::kUndefined;
  std::string module;               // "" outside of modules: the line of `call` says where
  OpCallId call = kNoOpCall;        // that gave the first of them, or stepped it
  std::vector<HealthPoint> points;  // in the order of the steps

  bool operator==(const HealthRow&) const = default;
};

// A step that was looked at.
struct HealthStep {
  uint32_t process = 0;
  uint32_t step = 0;
  uint32_t skipped = 0;   // steps that a GradScaler left out until then
  uint32_t left_out = 0;  // tensors that were not looked at
  double scale = 0;       // of the loss; 0: there is no GradScaler

  bool operator==(const HealthStep&) const = default;
};

struct Run;

// The health of the run as one: where a process goes on with the training of one that was there
// before it (a run that was resumed in the same folder), its steps are counted on, and a row goes
// on in the row of the same module, role and dtype.
struct Health {
  std::vector<HealthRow> rows;
  std::vector<HealthStep> steps;
  std::vector<uint32_t> resumed_at;  // steps behind which a process went on
};
Health health_of(const Run& run);

// "unet.mid_block"; of a row outside of modules "train.py:41 (mul)".
std::string place_of(const HealthRow& row, const Run& run);

}  // namespace dtypecheck
