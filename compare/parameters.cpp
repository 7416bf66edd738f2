#include "compare/parameters.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace dtypecheck::compare {
namespace {

class Splitter {
 public:
  explicit Splitter(const DigestedProcess& process) : all_(process) {
    all_.calls.clear();
    note_gradients(process.calls);
    for (const Digest& digest : all_.digests) owners_.push_back(digest.parameter);
  }

  DigestedProcess split(const std::vector<DigestedCall>& calls) {
    for (const DigestedCall& call : calls) {
      const std::vector<std::string> owners = owners_of(call);
      if (owners.empty()) all_.calls.push_back(call);
      for (size_t place = 0; place < owners.size(); ++place)
        add(call, owners[place], place, owners.size());
    }
    return std::move(all_);
  }

 private:
  using Numbers = std::tuple<uint64_t, double, double, double, uint32_t, uint32_t>;
  static Numbers numbers_of(const Digest& of) {
    return {of.count, of.mean, of.root_mean_square, of.largest, of.shape, of.base};
  }

  // A gradient that an optimizer's op is given before any op is given its weight, has no name
  // there.
  void note_gradients(const std::vector<DigestedCall>& calls) {
    std::map<Numbers, uint32_t> waiting;
    uint32_t read = 0, step = 0;
    for (const DigestedCall& call : calls) {
      if (call.step != std::exchange(step, call.step)) waiting.clear();
      uint32_t last = read;
      for (const auto list : {&DigestedCall::operands, &DigestedCall::results})
        for (const uint32_t index : call.*list) last = std::max(last, index);
      for (; read < last; ++read)
        if (all_.digests[read].is_gradient) name_gradient(waiting, all_.digests[read]);
      if (call.site.phase != Phase::kOptimizer) continue;
      for (const uint32_t index : call.operands)
        if (index != 0 && all_.digests[index - 1].parameter.empty())
          waiting.try_emplace(numbers_of(all_.digests[index - 1]), index);
    }
  }

  void name_gradient(const std::map<Numbers, uint32_t>& waiting, const Digest& gradient) {
    const auto found = gradient.largest > 0 ? waiting.find(numbers_of(gradient)) : waiting.end();
    if (found == waiting.end()) return;
    Digest& given = all_.digests[found->second - 1];
    given.parameter = gradient.parameter;
    given.cut = gradient.cut;
    given.is_gradient = true;
  }

  // Of the places in its lists; empty where one is not known.
  std::vector<std::string> owners_of(const DigestedCall& call) const {
    if (call.site.phase != Phase::kOptimizer) return {};
    std::set<std::string> seen;
    for (const uint32_t index : call.operands)
      if (index != 0 && !owners_[index - 1].empty()) seen.insert(owners_[index - 1]);
    const size_t count = seen.size();
    if (count == 0 || call.results.size() % count != 0 || !are_numbers(call, in_lists(call, count)))
      return {};
    std::vector<std::string> owners(count);
    for (size_t k = 0; k < in_lists(call, count); ++k) {
      const uint32_t index = call.operands[k];
      std::string& owner = owners[k % count];
      if (index == 0 || owners_[index - 1].empty() || owner == owners_[index - 1]) continue;
      if (!owner.empty()) return {};
      owner = owners_[index - 1];
    }
    const bool is_known =
        std::ranges::none_of(owners, [](const std::string& owner) { return owner.empty(); });
    return is_known ? owners : std::vector<std::string>();
  }

  // Lists of one element for each parameter stand before what all are given: a factor, say.
  static size_t in_lists(const DigestedCall& call, size_t count) {
    return call.operands.size() / count * count;
  }
  bool are_numbers(const DigestedCall& call, size_t from) const {
    return std::all_of(call.operands.begin() + static_cast<std::ptrdiff_t>(from),
                       call.operands.end(), [&](uint32_t index) {
                         return index == 0 ||
                                (all_.digests[index - 1].count == 1 && owners_[index - 1].empty());
                       });
  }

  void add(const DigestedCall& call, const std::string& owner, size_t place, size_t count) {
    DigestedCall& one = all_.calls.emplace_back(call);
    one.owner = owner;
    one.operands.clear();
    one.results.clear();
    const size_t in_lists_of_call = in_lists(call, count);
    for (size_t k = 0; k < call.operands.size(); ++k)
      if (k >= in_lists_of_call || k % count == place) one.operands.push_back(call.operands[k]);
    for (size_t k = place; k < call.results.size(); k += count)
      one.results.push_back(call.results[k]);
    const auto owned = std::ranges::find_if(
        one.operands, [&](uint32_t index) { return index != 0 && owners_[index - 1] == owner; });
    const Digest of_owner = all_.digests[*owned - 1];
    for (const auto list : {&one.operands, &one.results})
      for (const uint32_t index : *list) note_owner(index, owner, of_owner.cut, of_owner.count);
  }

  // A number that all parameters are given belongs to none.
  void note_owner(uint32_t index, const std::string& owner, const std::string& cut,
                  uint64_t elements) {
    if (index == 0) return;
    Digest& digest = all_.digests[index - 1];
    if (digest.count != elements || (elements == 1 && digest.cut.empty())) return;
    if (owners_[index - 1].empty()) owners_[index - 1] = owner;
    if (digest.cut.empty()) digest.cut = cut;
  }

  DigestedProcess all_;
  std::vector<std::string> owners_;  // by digest: the parameter that it is of
};

// Puts together op calls of several processes, with their digests in the order of these.
class Merger {
 public:
  explicit Merger(const DigestedProcess& first) : all_(first), to_(first.digests.size() + 1) {
    all_.digests.clear();
    all_.calls.clear();
  }

  void add(const DigestedProcess& first, const DigestedCall& call) {
    uint32_t last = 0;
    for (const auto list : {&call.operands, &call.results})
      for (const uint32_t index : *list) last = std::max(last, index);
    take_until(first, last);
    DigestedCall& own = all_.calls.emplace_back(call);
    for (auto list : {&own.operands, &own.results})
      for (uint32_t& index : *list) index = to_[index];
  }

  void add_other(const DigestedProcess& other, const DigestedCall& call) {
    DigestedCall& own = all_.calls.emplace_back(call);
    for (auto list : {&own.operands, &own.results}) {
      for (uint32_t& index : *list) {
        if (index == 0) continue;
        all_.digests.push_back(other.digests[index - 1]);
        all_.digests.back().base = 0;
        index = static_cast<uint32_t>(all_.digests.size());
      }
    }
  }

  DigestedProcess merged(const DigestedProcess& first) {
    take_until(first, static_cast<uint32_t>(first.digests.size()));
    return std::move(all_);
  }

 private:
  void take_until(const DigestedProcess& first, uint32_t last) {
    for (; taken_ < last; ++taken_) {
      all_.digests.push_back(first.digests[taken_]);
      all_.digests.back().base = to_[all_.digests.back().base];
      to_[taken_ + 1] = static_cast<uint32_t>(all_.digests.size());
    }
  }

  DigestedProcess all_;
  std::vector<uint32_t> to_;  // index + 1 of the first process' digests, to that in all
  uint32_t taken_ = 0;
};

// Behind which op call of the process others' of the step go.
std::map<uint32_t, size_t> last_of_steps(const DigestedProcess& process) {
  std::map<uint32_t, size_t> last, last_of_optimizer;
  for (size_t call = 0; call < process.calls.size(); ++call) {
    last[process.calls[call].step] = call;
    if (process.calls[call].site.phase == Phase::kOptimizer)
      last_of_optimizer[process.calls[call].step] = call;
  }
  for (const auto& [step, call] : last_of_optimizer) last[step] = call;
  return last;
}

using Owned = std::set<std::pair<uint32_t, std::string>>;  // step and parameter

Owned owned_in(const DigestedProcess& process) {
  Owned owned;
  for (const DigestedCall& call : process.calls)
    if (!call.owner.empty()) owned.emplace(call.step, call.owner);
  return owned;
}

}  // namespace

bool is_flat(const Digest& digest) { return digest.cut.starts_with("Flat("); }

bool has_flat(const std::vector<DigestedProcess>& processes) {
  return std::ranges::any_of(processes, [](const DigestedProcess& process) {
    return std::ranges::any_of(process.digests, is_flat);
  });
}

DigestedProcess by_parameter(const DigestedProcess& process) {
  return Splitter(process).split(process.calls);
}

DigestedProcess with_all_parameters(const std::map<int, const DigestedProcess*>& ranks) {
  const DigestedProcess& first = *ranks.begin()->second;
  Owned owned = owned_in(first);
  std::map<uint32_t, std::vector<std::pair<const DigestedProcess*, size_t>>> missing;  // by step
  for (const auto& [rank, process] : ranks) {
    for (size_t call = 0; call < process->calls.size(); ++call) {
      const DigestedCall& at = process->calls[call];
      if (!at.owner.empty() && !owned.contains({at.step, at.owner}))
        missing[at.step].emplace_back(process, call);
    }
    owned.merge(owned_in(*process));
  }
  if (missing.empty()) return first;
  const std::map<uint32_t, size_t> last = last_of_steps(first);
  Merger merger(first);
  for (size_t call = 0; call < first.calls.size(); ++call) {
    merger.add(first, first.calls[call]);
    const uint32_t step = first.calls[call].step;
    if (last.at(step) != call) continue;
    for (const auto& [process, other] : missing[step])
      merger.add_other(*process, process->calls[other]);
  }
  return merger.merged(first);
}

}  // namespace dtypecheck::compare
