// lock_diff.h: what changed dtype between two locks, in words and by module. Order, counts and
// timing are in neither; the device is reported once and is no change, so that a run on a CPU and
// one on a GPU compare.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/judging/lock.h"

namespace dtypecheck::judging {

// One side alone: it is new, or gone. What has no dtype on a side is "" there: no autocast.
struct LockDifference {
  std::string what;  // "weight", "forward aten::mm self", "autocast"; kOpCall for a call as a whole
  std::optional<std::string> before, after;

  auto operator<=>(const LockDifference&) const = default;
};
inline constexpr const char* kOpCall = "op call";

// "weight: Float → Half", "new: forward aten::mm …"
std::string to_text(const LockDifference& difference);

// Modules in which the same changed.
struct LockChange {
  std::vector<std::string> modules;  // "unet.down_blocks.*.attn (6 modules)"
  std::vector<LockDifference> differences;
  size_t count = 0;  // of modules
};

struct LockDiff {
  std::vector<LockChange> changes;
  std::vector<std::string> only_before, only_after;  // modules, folded
  std::string runtime;  // "LibTorch 2.6.0, cpu → LibTorch 2.11.0, cpu"; "" where it is the same
  std::string devices;  // "cpu → cuda"; "" where they are the same
  std::string names;    // "actor.* → runner.model.*"; "" where modules have the same names
  // Of an eager and a compiled run, ops by the dtype of their arithmetic: "forward: BFloat16 in
  // eager, Float in compiled: aten::add, aten::mul".
  std::vector<std::string> compiled;
  size_t changed = 0;  // modules
  size_t missing = 0;
  size_t added = 0;
  size_t same = 0;

  bool empty() const { return changed + missing + added + compiled.size() == 0; }
};

// Throws InputError where the two have no module in common: these are not two runs of one model.
// The names stand for them in that message.
LockDiff diff_locks(Lock before, Lock after, const std::string& before_name,
                    const std::string& after_name);

// What most modules share comes first, and what is beyond a screen is counted, unless `all` is
// asked for.
std::string to_text(const LockDiff& diff, const std::string& before_name,
                    const std::string& after_name, bool all);
// One object; docs/ci.md has its fields.
std::string to_json(const LockDiff& diff, const std::string& before_name,
                    const std::string& after_name);

}  // namespace dtypecheck::judging
