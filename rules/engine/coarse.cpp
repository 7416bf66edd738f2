#include "rules/engine/coarse.h"

#include <algorithm>
#include <cmath>

namespace dtypecheck::rules {

static bool changes_whole_numbers(const RunIndex& index, const OpCall& maker) {
  return maker.inexact && index.has(maker, ops::kCast) && !maker.operands.empty() &&
         maker.operands.back().dtypes.within(kIntegral) &&
         std::floor(maker.inexact->from) == maker.inexact->from;
}

bool is_too_coarse(const RunIndex& index, const OpCall& call, const Operand& operand) {
  if (!operand.dtypes.within(kLowPrecision)) return false;
  const OpCall* maker = index.provenance().trace_back(call, operand).maker;
  if (maker == nullptr) return false;
  const auto& calls = index.run().calls;
  return changes_whole_numbers(index, *maker) ||
         std::any_of(calls.begin(), calls.end(), [&](const OpCall& reader) {
           return reader.inexact && reader.inexact->rounded_at == maker->id &&
                  reader.id != maker->id;
         });
}

}  // namespace dtypecheck::rules
