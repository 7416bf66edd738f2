#include "rules/engine/lost_epsilon.h"

#include <algorithm>

#include "rules/engine/vanishing_number.h"

namespace dtypecheck::rules {

const OpCall* epsilon_lost(const RunIndex& index, const OpCall& call, const Findings& out) {
  const auto adds_nothing = [&](const OpCall& one) {
    return one.id < call.id && one.site.line.file == call.site.line.file &&
           one.site.line.function == call.site.line.function &&
           out.is_reported_by(eps_underflow, one);
  };
  for (const OpCall* made : index.with_makers(call)) {
    if (adds_nothing(*made)) return made;
    for (const OpCallId id : index.consumers(*made)) {  // in place
      const OpCall& reader = index.run().calls[id - 1];
      const bool writes = !reader.operands.empty() && reader.operands.front().is_written;
      if (writes && adds_nothing(reader)) return &reader;
    }
  }
  return nullptr;
}

const OpCall* bound_lost(const RunIndex& index, const OpCall& call) {
  const auto makers = index.with_makers(call);
  const auto found = std::ranges::find_if(makers, [&](const OpCall* made) {
    return made != &call && is_users_own(made->site) && lost_bound(*made) != nullptr;
  });
  return found == makers.end() ? nullptr : *found;
}

}  // namespace dtypecheck::rules
