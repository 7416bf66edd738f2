#include "compare/align.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace dtypecheck::compare {
namespace {

// Of a table of lengths; longer pairs of lists, optimizers' mostly, are aligned by occurrence.
constexpr size_t kMostCells = 4u << 20;

using Group = std::tuple<uint32_t, Phase, std::string>;
using Token = std::pair<std::string, uint64_t>;  // op, shape of the first result or its elements

// "aten::lerp_" of "aten::_foreach_lerp_".
std::string of_one_tensor(std::string op) {
  constexpr std::string_view kOfLists = "::_foreach_";
  const size_t at = op.find(kOfLists);
  return at == op.npos ? op : op.replace(at, kOfLists.size(), "::");
}

std::map<Group, std::vector<size_t>> groups_of(const DigestedProcess& process) {
  std::map<Group, std::vector<size_t>> groups;
  for (size_t i = 0; i < process.calls.size(); ++i) {
    const DigestedCall& call = process.calls[i];
    const std::string& place =
        call.site.module.empty() ? call.site.line.function : call.site.module;
    groups[{call.step, call.site.phase, call.owner.empty() ? place : "of " + call.owner}].push_back(
        i);
  }
  return groups;
}

class Lists {
 public:
  Lists(const DigestedProcess& a, const DigestedProcess& b, bool of_one_run, Alignment& alignment)
      : a_(a), b_(b), alignment_(alignment), of_one_run_(of_one_run) {
    for (const DigestedProcess* process : {&a, &b})
      for (const Digest& digest : process->digests) has_parts_ = has_parts_ || digest.parts > 1;
  }

  void align(std::vector<size_t> a, std::vector<size_t> b) {
    while (!a.empty() && !b.empty() && same(a.back(), b.back())) {
      pair(a.back(), b.back());
      a.pop_back();
      b.pop_back();
    }
    size_t first = 0;
    for (; first < a.size() && first < b.size() && same(a[first], b[first]); ++first)
      pair(a[first], b[first]);
    a.erase(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(first));
    b.erase(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(first));
    if (a.empty() || b.empty()) return;
    a.size() > kMostCells / b.size() ? by_occurrence(a, b) : by_subsequence(a, b);
  }

 private:
  Token token(const DigestedProcess& process, size_t call) const {
    const DigestedCall& made = process.calls[call];
    const uint32_t first = made.results.empty() ? 0 : made.results.front();
    const std::string op = made.owner.empty() ? made.op : of_one_tensor(made.op);
    if (first == 0 || of_one_run_) return {op, 0};
    const Digest& digest = process.digests[first - 1];
    if (!has_parts_ && made.owner.empty()) return {op, digest.shape};
    return {op, digest.count / digest.parts <= 1 ? 1 : digest.count};
  }
  bool same(size_t a, size_t b) const { return token(a_, a) == token(b_, b); }

  void pair(size_t a, size_t b) {
    alignment_.to_b[a] = b;
    alignment_.to_a[b] = a;
  }

  void by_subsequence(const std::vector<size_t>& a, const std::vector<size_t>& b) {
    const size_t width = b.size() + 1;
    std::vector<uint32_t> length((a.size() + 1) * width);  // of what is common from there on
    for (size_t i = a.size(); i-- > 0;) {
      for (size_t j = b.size(); j-- > 0;) {
        length[i * width + j] =
            same(a[i], b[j]) ? length[(i + 1) * width + j + 1] + 1
                             : std::max(length[(i + 1) * width + j], length[i * width + j + 1]);
      }
    }
    for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
      if (same(a[i], b[j])) {
        pair(a[i++], b[j++]);
      } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) {
        ++i;
      } else {
        ++j;
      }
    }
  }

  void by_occurrence(const std::vector<size_t>& a, const std::vector<size_t>& b) {
    std::map<Token, std::vector<size_t>> waiting;
    for (size_t call : b) waiting[token(b_, call)].push_back(call);
    std::map<Token, size_t> taken;
    for (size_t call : a) {
      const auto found = waiting.find(token(a_, call));
      if (found == waiting.end()) continue;
      size_t& next = taken[found->first];
      if (next < found->second.size()) pair(call, found->second[next++]);
    }
  }

  const DigestedProcess& a_;
  const DigestedProcess& b_;
  Alignment& alignment_;
  const bool of_one_run_;   // whose ranks need not have equal parts
  bool has_parts_ = false;  // of ranks, whose shapes are not those of the whole
};

}  // namespace

Alignment align(const DigestedProcess& a, const DigestedProcess& b, bool of_one_run) {
  Alignment alignment{std::vector<size_t>(a.calls.size(), kAlone),
                      std::vector<size_t>(b.calls.size(), kAlone)};
  const auto groups = groups_of(b);
  Lists lists(a, b, of_one_run, alignment);
  for (auto& [group, calls] : groups_of(a)) {
    const auto found = groups.find(group);
    if (found != groups.end()) lists.align(calls, found->second);
  }
  return alignment;
}

}  // namespace dtypecheck::compare
