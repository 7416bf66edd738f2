#include "compare/ranks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compare/align.h"
#include "compare/distance.h"

namespace dtypecheck::compare {
namespace {

using Parts = std::vector<const Digest*>;

bool are_equal(const Parts& parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [&](const Digest* part) { return distance(*parts.front(), *part) == 0.0; });
}

// `share`: what of each number is one of the whole's.
Digest joined(const Parts& parts, double share) {
  Digest all = *parts.front();
  all.count = all.finite = 0;
  all.largest = 0;
  all.places.clear();
  all.parts = static_cast<uint32_t>(parts.size());
  double sum = 0, squares = 0;
  for (const Digest* part : parts) {
    const auto finite = static_cast<double>(part->finite);
    all.count += part->count;
    all.finite += part->finite;
    all.largest = std::max(all.largest, share * part->largest);
    sum += share * part->mean * finite;
    squares += share * share * part->root_mean_square * part->root_mean_square * finite;
  }
  const double finite = std::max<double>(static_cast<double>(all.finite), 1);
  all.mean = sum / finite;
  all.root_mean_square = std::sqrt(squares / finite);
  return all;
}

}  // namespace

std::map<int, const DigestedProcess*> ranks_of(const std::vector<DigestedProcess>& processes) {
  std::map<int, const DigestedProcess*> ranks;
  for (const DigestedProcess& process : processes) {
    if (!process.is_recorded || process.is_merged || process.rank < 0 || process.calls.empty())
      continue;
    const DigestedProcess*& kept = ranks[process.rank];
    if (!kept || process.calls.size() > kept->calls.size()) kept = &process;
  }
  return ranks;
}

DigestedProcess put_together(const std::map<int, const DigestedProcess*>& ranks) {
  const DigestedProcess& first = *ranks.begin()->second;
  DigestedProcess all = first;
  std::vector<Alignment> alignments;
  for (const auto& [rank, process] : ranks) alignments.push_back(align(first, *process));
  std::set<uint32_t> done{0};
  // The loss of a rank is the mean of its part of the batch, so that its gradients are larger.
  const double of_gradient = 1 / static_cast<double>(ranks.size());
  for (size_t call = 0; call < first.calls.size(); ++call) {
    const double share = first.calls[call].site.phase == Phase::kBackward ? of_gradient : 1;
    const auto join = [&](const std::vector<uint32_t> DigestedCall::* list) {
      for (size_t k = 0; k < (first.calls[call].*list).size(); ++k) {
        const uint32_t index = (first.calls[call].*list)[k];
        if (done.contains(index)) continue;
        Parts parts;
        size_t at = 0;
        for (const auto& [rank, process] : ranks) {
          const size_t other = alignments[at++].to_b[call];
          if (other == kAlone || (process->calls[other].*list).size() <= k) continue;
          const uint32_t part = (process->calls[other].*list)[k];
          if (part != 0) parts.push_back(&process->digests[part - 1]);
        }
        if (parts.size() != ranks.size()) continue;
        done.insert(index);
        if (!are_equal(parts)) all.digests[index - 1] = joined(parts, share);
      }
    };
    join(&DigestedCall::operands);
    join(&DigestedCall::results);
  }
  return all;
}

}  // namespace dtypecheck::compare
