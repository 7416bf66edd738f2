// autocast_record.h: what autocast decided for each op call of a run, worked out from the op calls
// alone: it calls an op again with what it cast, so the call around and the call inside tell what
// it did, and the casts between them what that cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/run.h"

namespace dtypecheck {

enum class AutocastDecision : uint8_t {
  kLowerPrecision,  // ran in the region's dtype
  kFloat,           // ran in Float, which its list asks for
  kPromote,         // ran in the widest dtype of its operands
  kUntouched,       // ran as it was called
};
const char* decision_name(
    AutocastDecision decision);  // "lower precision", "float32", "promote", "untouched"

// An op call that autocast handled, or did not reach.
struct AutocastRecord {
  OpCallId call = kNoOpCall;
  AutocastDecision decision = AutocastDecision::kUntouched;
  std::string device;                 // whose region is meant
  std::optional<Dtype> region_dtype;  // none: no region was open for the device
  SourceLine entered;                 // where the innermost region was entered; may be unknown
  std::optional<uint64_t> casts;      // of all its calls; none: cannot be told
  std::optional<uint64_t>
      cache_hits;   // operands that needed a cast and were found in autocast's cache
  std::string why;  // untouched: why
};

// Casts that autocast made at one place, from one dtype to another.
struct AutocastCast {
  Site site;
  Dtype from = Dtype::kUndefined;
  Dtype to = Dtype::kUndefined;
  std::vector<std::string> weights;  // parameters among what was cast
  uint64_t count = 0;                // all calls
  double per_step = 0;               // casts
  double bytes_per_step = 0;         // written, with the shapes of the first calls
  double weights_per_step =
      0;  // casts of parameters and other leaves; each was cast in earlier steps, too
  bool repeats = false;   // weights that are cast again in every step, for autocast forgets them at
                          // a region's end
  bool uncached = false;  // and in each use: a weight that requires no gradient is never kept
};

struct AutocastSummary {
  std::vector<AutocastRecord> calls;  // in the order of Run::calls
  std::vector<AutocastCast> casts;    // most bytes first
};

AutocastSummary summarize_autocast(const Run& run);

}  // namespace dtypecheck
