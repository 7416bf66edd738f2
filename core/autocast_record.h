// autocast_record.h: what autocast decided for each op call of a run, derived from the op calls
// alone: autocast calls an op again with the operands that it cast, so the outer and the inner call
// show what it did, and the casts between them what that cost.
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
  std::optional<uint64_t> casts;      // of all its calls; none: not known
  std::optional<uint64_t>
      cache_hits;   // operands that needed a cast and were found in autocast's cache
  std::string why;  // untouched: why
};

// In the order of Run::calls. What the casts cost that it made is in cast_bill.h.
std::vector<AutocastRecord> autocast_records(const Run& run);

}  // namespace dtypecheck
