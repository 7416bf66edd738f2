// lock_diff.h: what changed dtype between two locks, in words and by module. Order, counts and
// timing are in neither; the device is told once and is no change, so that a run on a CPU and one
// on a GPU compare.
#pragma once

#include <string>
#include <vector>

#include "judging/lock.h"

namespace dtypecheck::judging {

// Modules in which the same changed.
struct LockChange {
  std::vector<std::string> modules;  // "unet.down_blocks.*.attn (6 modules)"
  std::vector<std::string> lines;    // "weight: Float → Half", "new: forward aten::mm …"
};

struct LockDiff {
  std::vector<LockChange> changes;
  std::vector<std::string> only_before, only_after;  // modules, folded
  std::string runtime;  // "LibTorch 2.6.0, cpu → LibTorch 2.11.0, cpu"; "" where it is the same
  std::string devices;  // "cpu → cuda"; "" where they are the same
  size_t changed = 0;   // modules
  size_t missing = 0;
  size_t added = 0;
  size_t same = 0;

  bool empty() const { return changed + missing + added == 0; }
};

// Throws InputError where the two have no module in common: these are not two runs of one model.
// The names stand for them in that message.
LockDiff diff_locks(Lock before, Lock after, const std::string& before_name,
                    const std::string& after_name);

std::string to_text(const LockDiff& diff, const std::string& before_name,
                    const std::string& after_name);

}  // namespace dtypecheck::judging
