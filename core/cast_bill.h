// cast_bill.h: what the casts of a run cost, by line and by module, and who asked for them. Only
// this file says what a cast is, how many bytes it moves and what caused it: autocast's table, the
// module map and cast-churn ask here.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/run.h"

namespace dtypecheck {

// What was read and written by an op call that only changes a dtype: _to_copy, or copy_ into a
// tensor of another dtype. The operands are the call's own.
struct DtypeChange {
  Dtype from = Dtype::kUndefined;
  Dtype to = Dtype::kUndefined;
  const Operand* source = nullptr;
};
std::optional<DtypeChange> dtype_change(const OpCall& call);

// What caused it. The cast of a gradient has the cause of the cast in forward.
enum class CastReason : uint8_t {
  kAsked,      // the program: .to(), .half(), copy_() of its own
  kAutocast,   // autocast, for an op of its lists
  kPromotion,  // an op whose operands disagree
  kOp,         // another op, inside of itself
  kGradient,   // autograd, for no cast that was seen in forward
};
constexpr CastReason kLastCastReason = CastReason::kGradient;
const char* cast_reason_name(CastReason reason);  // "asked", "autocast", "promotion", …

// Of a step, or of all of them where there are no steps, or in all before the first one.
struct CastCost {
  double casts = 0;
  double read_bytes = 0;
  double written_bytes = 0;
  std::optional<double> cpu_ns;  // in the calling threads: of some calls, for all of them
  std::optional<double> gpu_ns;  // where CUPTI was recorded

  double moved_bytes() const { return read_bytes + written_bytes; }
  CastCost& operator+=(const CastCost& other);
};

// One op call that is a cast.
struct Cast {
  const OpCall* call;
  DtypeChange change;
  CastReason reason;
  bool is_once;  // done before the first step
  CastCost cost;
};

// Casts at one place, from one dtype to another, for one reason.
struct CastLine {
  Site site;  // of the first of them
  Dtype from = Dtype::kUndefined;
  Dtype to = Dtype::kUndefined;
  CastReason reason = CastReason::kAsked;
  bool is_backward = false;
  bool is_once = false;
  uint64_t count = 0;  // all calls
  CastCost cost;
  std::vector<std::string> weights;  // parameters among what was cast
  double weights_per_step = 0;       // casts of parameters and other leaves
  bool repeats = false;              // weights that are cast again in every step
  // Of these, cast again in each use: autocast keeps no weight that requires no gradient.
  bool uncached = false;
  std::vector<std::string> uncached_weights;
  double uncached_per_step = 0;
};

struct ModuleCasts {
  std::string module;
  CastCost cost;  // its own
};

struct CastBill {
  std::vector<CastLine> lines;       // most bytes first; those before the first step at the end
  std::vector<ModuleCasts> modules;  // of the steps; most bytes first
  CastCost per_step;                 // of all lines but those before the first step
  bool has_steps = false;            // else it is of the whole run
  std::array<CastCost, static_cast<size_t>(kLastCastReason) + 1> by_reason;  // the same
  // Of the time between start and end of the processes, and of all that the GPU did for ops.
  std::optional<double> cpu_share, gpu_share;
};

// In the order of the run.
std::vector<Cast> casts_of(const Run& run);
CastBill cast_bill(const Run& run);

// "unet.mid_block": the innermost module that has all of these parameters, of which there is one.
std::string common_module(const std::vector<std::string>& parameters);

std::string bytes_text(double bytes);          // "2.7 MB"
std::string nanoseconds_text(double time_ns);  // "1.5 ms"

}  // namespace dtypecheck
