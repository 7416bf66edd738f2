#include "compare/ranks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "compare/align.h"
#include "compare/distance.h"
#include "compare/parameters.h"
#include "ops/ops.h"

namespace dtypecheck::compare {
namespace {

using Parts = std::vector<const Digest*>;

bool is_shard(const Digest& digest) { return digest.cut.find('@') != std::string::npos; }
bool is_partial(const Digest& digest) { return digest.cut.find("Partial") != std::string::npos; }

// Those of which the rank holds something, and one where none does.
Parts without_empty(const Parts& parts) {
  Parts held;
  for (const Digest* part : parts)
    if (part->count > 0 || !is_flat(*part)) held.push_back(part);
  return held.empty() ? Parts{parts.front()} : held;
}

// Copies of a part once, where there are as many of each; else what agrees does so by chance.
Parts without_copies(const Parts& parts) {
  std::map<std::tuple<std::string, uint64_t, double, double, double>, Parts> copies;
  for (const Digest* part : parts)
    copies[{part->cut, part->finite, part->mean, part->root_mean_square, part->largest}].push_back(
        part);
  Parts once;
  for (const auto& [numbers, same] : copies) {
    if (same.size() != copies.begin()->second.size()) return parts;
    once.push_back(same.front());
  }
  return once;
}

// How many parts the batch is in: so many different tensors of the program's own the ranks give to
// one layer. Those of tensor parallelism are given the same. 0: no layer was seen.
size_t parts_of_batch(const DigestedProcess& first,
                      const std::function<Parts(size_t call, size_t operand)>& parts_of) {
  std::set<uint32_t> made;
  size_t most = 0;
  for (size_t call = 0; call < first.calls.size(); ++call) {
    const DigestedCall& at = first.calls[call];
    if (at.step != first.calls.front().step) break;
    made.insert(at.results.begin(), at.results.end());
    const auto digest = [&](uint32_t index) {
      return index == 0 ? nullptr : &first.digests[index - 1];
    };
    const bool is_layer = std::ranges::any_of(at.operands, [&](uint32_t index) {
      return index != 0 && !digest(index)->parameter.empty();
    });
    if (!is_layer || at.site.phase != Phase::kForward) continue;
    for (size_t k = 0; k < at.operands.size(); ++k) {
      const Digest* given = digest(at.operands[k]);
      if (given && given->parameter.empty() && !is_shard(*given) && given->base == 0 &&
          !made.contains(at.operands[k]))
        most = std::max(most, without_copies(parts_of(call, k)).size());
    }
  }
  return most;
}

// Which tensors are gradients of the loss: a rank's are of its part of the batch. In the backward
// pass there are others, computed of what the forward pass kept.
class OfLoss {
 public:
  explicit OfLoss(const DigestedProcess& process) : process_(process) {
    for (const DigestedCall& call : process.calls) add(call);
  }

  bool is_gradient(uint32_t index) const { return is_in(gradients_, index); }
  // What the forward pass kept within an op, or a gradient of a compiled region.
  bool is_unseen(uint32_t index) const {
    return process_.digests[index - 1].parameter.empty() && !is_in(made_, index);
  }

 private:
  void add(const DigestedCall& call) {
    const std::string base(ops::parse_op_name(call.op).base);
    const bool is_begin = base.ends_with("ones_like") && call.site.phase == Phase::kForward;
    const bool is_backward =
        call.site.phase == Phase::kBackward &&
        (base.find("backward") != base.npos || has(call, gradients_) || has(call, begins_));
    // Autograd sums the gradients of what several ops use in no node of its own: the phase is not
    // known there.
    const bool is_sum = call.site.phase == Phase::kForward && has(call, gradients_);
    made_.insert(call.results.begin(), call.results.end());
    if (is_begin) begins_.insert(call.results.begin(), call.results.end());
    if (is_backward || is_sum) gradients_.insert(call.results.begin(), call.results.end());
  }

  bool has(const DigestedCall& call, const std::set<uint32_t>& which) const {
    return std::ranges::any_of(call.operands, [&](uint32_t index) { return is_in(which, index); });
  }
  // It or what it is a view of.
  bool is_in(const std::set<uint32_t>& which, uint32_t index) const {
    while (index != 0 && !which.contains(index)) index = process_.digests[index - 1].base;
    return index != 0;
  }

  const DigestedProcess& process_;
  std::set<uint32_t> begins_, gradients_, made_;
};

// `share`: what of each number is one of the whole's.
Digest joined(const Digest& of_first, const Parts& parts, double share) {
  Digest all = of_first;
  all.count = all.finite = 0;
  all.largest = 0;
  all.places.clear();
  all.parts = static_cast<uint32_t>(parts.size());
  const bool is_number =
      std::ranges::all_of(parts, [](const Digest* part) { return part->count <= 1; });
  // The loss of a rank is one of its part of the batch; how the ranks' are put together is not
  // known.
  all.is_unknown = is_partial(all) || (is_number && all.cut.empty());
  double sum = 0, squares = 0;
  for (const Digest* part : parts) {
    all.is_mixed = all.is_mixed || part->dtype != of_first.dtype;
    if (unit_roundoff(part->dtype) > unit_roundoff(all.dtype)) all.dtype = part->dtype;
    const auto finite = static_cast<double>(part->finite);
    all.count += part->count;
    all.finite += part->finite;
    all.largest = std::max(all.largest, share * part->largest);
    sum += share * part->mean * finite;
    squares += share * share * part->root_mean_square * part->root_mean_square * finite;
  }
  if (is_partial(all)) all.count = of_first.count;  // each has a summand of every element
  const double finite = std::max<double>(static_cast<double>(all.finite), 1);
  all.mean = sum / finite;
  all.root_mean_square = std::sqrt(squares / finite);
  return all;
}

// A parameter that lies on one rank, which need not be the first. What is not in the order of the
// sizes has other elements at the places.
Digest as_whole(const Digest& held, const Digest& of_first) {
  Digest whole = held;
  whole.base = of_first.base;
  if (whole.cut.ends_with("strides")) whole.places.clear();
  return whole;
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
  const DigestedProcess first = with_all_parameters(ranks);
  DigestedProcess all = first;
  std::vector<Alignment> alignments;
  for (const auto& [rank, process] : ranks) alignments.push_back(align(first, *process, true));
  const auto parts_of = [&](size_t call, size_t k, auto list) {
    Parts parts;
    size_t at = 0;
    for (const auto& [rank, process] : ranks) {
      const size_t other = alignments[at++].to_b[call];
      if (other == kAlone || (process->calls[other].*list).size() <= k) continue;
      const uint32_t part = (process->calls[other].*list)[k];
      if (part != 0) parts.push_back(&process->digests[part - 1]);
    }
    return parts;
  };
  // The loss of a rank is the mean of its part of the batch, so that its gradients are larger. What
  // is cut was averaged.
  const size_t parts_given = parts_of_batch(
      first, [&](size_t call, size_t k) { return parts_of(call, k, &DigestedCall::operands); });
  const double of_gradient = 1 / static_cast<double>(parts_given == 0 ? ranks.size() : parts_given);
  const OfLoss of_loss(first);
  std::set<uint32_t> done{0};
  for (size_t call = 0; call < first.calls.size(); ++call) {
    const Phase phase = first.calls[call].site.phase;
    for (const auto list : {&DigestedCall::operands, &DigestedCall::results}) {
      for (size_t k = 0; k < (first.calls[call].*list).size(); ++k) {
        const uint32_t index = (first.calls[call].*list)[k];
        if (done.contains(index)) continue;
        const Parts parts = parts_of(call, k, list);
        // Not all need hold something of a parameter.
        if (parts.size() != ranks.size() && (parts.empty() || first.calls[call].owner.empty())) {
          Digest& alone = all.digests[index - 1];  // a rank's own number says nothing of the others
          alone.is_unknown = alone.is_unknown || alone.count <= 1;
          continue;
        }
        done.insert(index);
        const Parts once = without_copies(without_empty(parts));
        const bool is_gradient = phase != Phase::kOptimizer && of_loss.is_gradient(index);
        if (once.size() > 1 || is_partial(*once.front())) {
          all.digests[index - 1] =
              joined(first.digests[index - 1], once, is_gradient ? of_gradient : 1);
          if (phase == Phase::kBackward && of_loss.is_unseen(index))
            all.digests[index - 1].is_unknown = true;
        } else if (is_flat(*once.front())) {
          all.digests[index - 1] = as_whole(*once.front(), first.digests[index - 1]);
        }
      }
    }
  }
  return all;
}

}  // namespace dtypecheck::compare
