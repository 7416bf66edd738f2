// side.h: one of the two runs of a comparison, and where each of its digests was made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "compare/align.h"
#include "compare/named.h"
#include "trace/digests.h"

namespace dtypecheck::compare {

struct Side {
  explicit Side(const DigestedProcess& process)
      : process(process), weights(first_weights(process)) {
    for (size_t call = 0; call < process.calls.size(); ++call)
      for (uint32_t result : process.calls[call].results)
        if (result != 0) made_by.try_emplace(result, call);
  }

  const Digest& digest(uint32_t index) const { return process.digests[index - 1]; }

  // The call that gave the tensor, or what it is a view of, in this step; kAlone: none that was
  // seen.
  size_t maker(uint32_t index, uint32_t step) const {
    while (index != 0) {
      const auto found = made_by.find(index);
      if (found != made_by.end())
        return process.calls[found->second].step == step ? found->second : kAlone;
      index = digest(index).base;
    }
    return kAlone;
  }

  // Nothing that was digested has written it.
  bool is_given(uint32_t index) const {
    return made_by.count(index) == 0 && digest(index).base == 0;
  }

  // Or it is a weight whose shards were gathered.
  bool is_begun_with(uint32_t index) const {
    const auto first = weights.find(digest(index).parameter);
    return is_given(index) || (first != weights.end() && first->second == index);
  }

  const DigestedProcess& process;
  std::unordered_map<uint32_t, size_t> made_by;
  std::map<std::string, uint32_t> weights;  // the first digest of each
};

}  // namespace dtypecheck::compare
