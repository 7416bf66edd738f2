#include "compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "compare/align.h"
#include "compare/between.h"
#include "compare/carried.h"
#include "compare/distance.h"
#include "compare/expected.h"
#include "compare/given_inputs.h"
#include "compare/gradients.h"
#include "compare/named.h"
#include "compare/no_effect.h"
#include "compare/parameters.h"
#include "compare/ranks.h"
#include "compare/side.h"
#include "compare/wrappers.h"
#include "core/dtype_set.h"
#include "ops/ops.h"
#include "platform/error.h"

namespace dtypecheck::compare {
namespace {

constexpr size_t kMostRounding = 3;

// How what a rank holds is cut, where a parameter is.
std::set<std::string> cuts_of(const DigestedProcess& process) {
  std::set<std::string> cuts;
  for (const Digest& digest : process.digests)
    if (!digest.parameter.empty()) cuts.insert(digest.cut);
  return cuts;
}

class Comparer {
 public:
  Comparer(const DigestedProcess& a, const DigestedProcess& b, Comparison& out)
      : a_(a), b_(b), alignment_(align(a, b)), out_(out) {}

  void run() {
    is_divided_ = cuts_of(a_.process) != cuts_of(b_.process);
    note_steps();
    compare_named();
    result_distance_.assign(a_.process.calls.size(), 0);
    size_t aligned = 0, in_modules = 0, next_b = 0;
    for (size_t i = 0; i < a_.process.calls.size(); ++i) {
      const size_t j = alignment_.to_b[i];
      if (j == kAlone) {
        carried_a_.out_of(i, unseen_rounding(a_, i));
        if (is_compared(a_, i)) out_.calls.push_back({.a = i, .b = {}});
        continue;
      }
      ++aligned;
      in_modules += is_in_module(a_, i);
      for (; next_b < j; ++next_b)
        if (alignment_.to_a[next_b] == kAlone)
          carried_b_.out_of(next_b, unseen_rounding(b_, next_b));
      const size_t places = out_.places.size(), rounding = out_.rounding.size(),
                   unknown = out_.not_judged;
      const double given = compare(i, j);
      place_calls_.resize(out_.places.size(), i);
      const auto verdict = out_.places.size() > places       ? Pair::Verdict::kAdds
                           : out_.rounding.size() > rounding ? Pair::Verdict::kRounds
                           : out_.not_judged > unknown       ? Pair::Verdict::kUnknown
                                                             : Pair::Verdict::kAgrees;
      out_.calls.push_back({i, j, given, result_distance_[i], verdict});
      const double most = std::max({given_beside_weights_, result_distance_[i],
                                    carried_a_.into(i, false), carried_b_.into(j, false)});
      // Of elements that a rounding moved to their neighbours a sample may miss one in sixteen.
      const double missed = most > 0 ? roundoff_of_results(i) / 4 : 0;
      carried_a_.out_of(i, std::max(most, missed));
      carried_b_.out_of(j, std::max(most, missed));
    }
    leave_out_what_makes_no_difference();
    const double far_apart = std::max(kOtherData, kRoundingsOfTable * lowest_);
    if (out_.inputs.agree())
      if (auto place = gradient_apart(a_, b_, alignment_, names_, far_apart, out_))
        out_.places.insert(out_.places.begin(), std::move(*place));
    for (size_t j = 0; j < b_.process.calls.size(); ++j)
      if (alignment_.to_a[j] == kAlone && is_compared(b_, j))
        out_.calls.push_back({.a = {}, .b = j});
    out_.alone_a = count_alone(a_, alignment_.to_b, false);
    out_.alone_b = count_alone(b_, alignment_.to_a, false);
    out_.first_alone_a = first_alone(a_, alignment_.to_b);
    out_.first_alone_b = first_alone(b_, alignment_.to_a);
    if (aligned == 0) {
      throw InputError(
          fmt::format("{} and {} have no op call in common: expected two runs of one "
                      "program; dtypecheck diff --dtypes compares their dtypes",
                      out_.file_a, out_.file_b));
    }
    if (!is_divided_ &&  // what gathers the shards of a layer is called in the layer
        count_alone(a_, alignment_.to_b, true) + count_alone(b_, alignment_.to_a, true) >
            in_modules)
      out_.notes.push_back(
          "more op calls of modules are in only one run than in both: these may be two models");
    sort_rounding();
  }

 private:
  // Of tensors that were put together sums alone are known, which a rounding hardly moves.
  double unseen_rounding(const Side& side, size_t call) const {
    double lowest = 0;
    if (is_divided_)
      for (const uint32_t index : side.process.calls[call].results)
        if (index != 0) lowest = std::max(lowest, unit_roundoff(side.digest(index).dtype));
    return lowest > unit_roundoff(Dtype::kFloat) ? lowest : 0;
  }

  double roundoff_of_results(size_t i) const {
    double lowest = 0;
    for (const uint32_t index : a_.process.calls[i].results)
      if (index != 0) lowest = std::max(lowest, unit_roundoff(a_.digest(index).dtype));
    return lowest;
  }

  void note_steps() {
    std::set<uint32_t> a, b;
    for (const DigestedCall& call : a_.process.calls) a.insert(call.step);
    for (const DigestedCall& call : b_.process.calls) b.insert(call.step);
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out_.steps));
    if (out_.steps.empty())
      throw InputError(
          fmt::format("{} and {} have no step in common that was digested; record both "
                      "with the same --values=STEPS",
                      out_.file_a, out_.file_b));
    note_missing(a, b, out_.file_b);
    note_missing(b, a, out_.file_a);
  }

  void note_missing(const std::set<uint32_t>& steps, const std::set<uint32_t>& others,
                    const std::string& file) {
    std::vector<uint32_t> missing;
    std::set_difference(steps.begin(), steps.end(), others.begin(), others.end(),
                        std::back_inserter(missing));
    if (missing.empty()) return;
    out_.notes.push_back(
        fmt::format("{} has no digests of {}{}, which the other run has", file,
                    missing.size() == 1 ? "step " : "steps from ", missing.front(),
                    missing.size() == 1 ? "" : fmt::format(" to {}", missing.back())));
  }

  void note_random(const DigestedCall& call) {
    Inputs& inputs = out_.inputs;
    if (!inputs.random.empty()) return;
    inputs.random = call.op;
    inputs.random_site = call.site;
    inputs.random_step = call.step;
  }

  bool is_compared(const Side& side, size_t call) const {
    return std::binary_search(out_.steps.begin(), out_.steps.end(), side.process.calls[call].step);
  }

  // Of the forward pass: not what DistributedDataParallel does, say.
  static bool is_in_module(const Side& side, size_t call) {
    const Site& site = side.process.calls[call].site;
    return site.phase == Phase::kForward && !site.module.empty();
  }

  // Steps that both have.
  size_t count_alone(const Side& side, const std::vector<size_t>& to, bool only_in_modules) const {
    size_t alone = 0;
    for (size_t i = 0; i < to.size(); ++i)
      alone +=
          to[i] == kAlone && (!only_in_modules || is_in_module(side, i)) && is_compared(side, i);
    return alone;
  }

  std::optional<Divergence> first_alone(const Side& side, const std::vector<size_t>& to) const {
    for (size_t i = 0; i < to.size(); ++i)
      if (to[i] == kAlone && is_compared(side, i))
        return Divergence::at(side.process.calls[i], Cause::kBetween, 0, 0);
    return std::nullopt;
  }

  // How far apart the operands are.
  double compare(size_t i, size_t j) {
    const DigestedCall& a = a_.process.calls[i];
    const DigestedCall& b = b_.process.calls[j];
    std::vector<OperandPair> operands;
    bool known = a.operands.size() == b.operands.size() && a.results.size() == b.results.size();
    for (size_t k = 0; known && k < a.operands.size(); ++k)
      known = add_operand(a.operands[k], b.operands[k], operands);
    if (!known) {
      result_distance_[i] = worst_result(a, b);
      ++out_.not_judged;
      return most_apart(operands);
    }
    size_t at = 0;
    // What was there, as memory that nobody had written, is gone.
    const bool overwrites = (ops::facts_of(a.op) & ops::kOverwrites) != 0;
    for (size_t k = 0; k < a.operands.size(); ++k) {
      if (a.operands[k] == 0 || b.operands[k] == 0) continue;
      if (overwrites && k == 0) {
        operands[at++].distance = 0;
        continue;
      }
      if (is_other_number(a.operands[k], b.operands[k], operands[at].distance)) {
        operands[at++].distance = 0;  // what follows from it is the op's own
        has_other_number_ = true;
        continue;
      }
      given_.check(a, a.operands[k], b.operands[k], operands[at].distance);
      if (!is_between_ && operands[at].distance > kTiny)
        note_between(between_.find(i, j, a.operands[k], b.operands[k], operands[at].distance));
      ++at;
    }
    const bool was_between = is_between_;
    is_between_ = false;
    const bool knows_operands =
        std::find(a.operands.begin(), a.operands.end(), 0) == a.operands.end();
    const double from_before = std::max(carried_a_.into(i), carried_b_.into(j));
    judge_results(i, a, b, operands, from_before, was_between, knows_operands);
    has_other_number_ = false;
    return most_apart(operands);
  }

  // An epsilon, a factor: of the program, and not what rounding moved.
  bool is_other_number(uint32_t ia, uint32_t ib, double apart) const {
    const Digest& a = a_.digest(ia);
    const Digest& b = b_.digest(ib);
    return a.count == 1 && a.parts + b.parts == 2 && a.parameter.empty() && a_.is_given(ia) &&
           b_.is_given(ib) &&
           apart > kRoundingsOfTable * std::max(unit_roundoff(a.dtype), unit_roundoff(b.dtype));
  }

  double most_apart(const std::vector<OperandPair>& operands) {
    double most = 0;
    given_beside_weights_ = 0;
    for (const OperandPair& pair : operands) {
      most = std::max(most, pair.distance);
      if (!is_weight(*pair.a))
        given_beside_weights_ = std::max(given_beside_weights_, pair.distance);
    }
    return most;
  }

  bool add_operand(uint32_t a, uint32_t b, std::vector<OperandPair>& operands) {
    if (a == 0 || b == 0) {
      ++out_.left_out;
      return a == b;
    }
    const auto apart = distance(a_.digest(a), b_.digest(b));
    if (apart) operands.push_back({&a_.digest(a), &b_.digest(b), *apart});
    return apart.has_value();
  }

  void note_between(std::optional<Divergence> place) {
    if (!place) return;
    is_between_ = place->cause == Cause::kBetween;
    (is_between_ ? out_.places : out_.rounding).push_back(*std::move(place));
  }

  double worst_result(const DigestedCall& a, const DigestedCall& b) const {
    double worst = 0;
    for (size_t k = 0; k < std::min(a.results.size(), b.results.size()); ++k) {
      if (a.results[k] == 0 || b.results[k] == 0) continue;
      worst =
          std::max(worst, distance(a_.digest(a.results[k]), b_.digest(b.results[k])).value_or(0));
    }
    return worst;
  }

  void leave_out_what_makes_no_difference() {
    const NoEffect no_effect = find_no_effect(a_, b_, alignment_);
    for (size_t k = out_.places.size(); k-- > 0;) {
      if (!no_effect.calls[place_calls_[k]] || writes_state(a_.process.calls[place_calls_[k]]))
        continue;
      out_.places.erase(out_.places.begin() + static_cast<std::ptrdiff_t>(k));
      for (Pair& pair : out_.calls)
        if (pair.a == place_calls_[k]) pair.verdict = Pair::Verdict::kAgrees;
      ++out_.agree;
    }
    given_.note_apart(no_effect.digests);
  }

  // An optimizer's average, which the first step divides by what it was begun with, and later ones
  // do not.
  static bool writes_state(const DigestedCall& call) {
    return call.site.phase == Phase::kOptimizer && ops::parse_op_name(call.op).in_place;
  }

  void judge_results(size_t i, const DigestedCall& a, const DigestedCall& b,
                     const std::vector<OperandPair>& operands, double from_before, bool was_between,
                     bool knows_operands) {
    const double given = most_apart(operands);
    // The elements of a gradient differ by orders of magnitude, so that a few of them tell less.
    const double sampled = a.site.phase == Phase::kForward ? 2 : 4;
    double worst = 0;
    const Digest* worst_a = nullptr;
    const Digest* worst_b = nullptr;
    bool is_judged = true, adds = false;
    for (size_t k = 0; k < a.results.size(); ++k) {
      if (a.results[k] == 0 || b.results[k] == 0) {
        out_.left_out += a.results[k] != b.results[k];  // else it may be none: no bias is trained
        continue;
      }
      const Digest& result_a = a_.digest(a.results[k]);
      const Digest& result_b = b_.digest(b.results[k]);
      const auto apart = distance(result_a, result_b);
      if (!apart) {
        is_judged = false;
        continue;
      }
      if (*apart >= worst) worst = *apart, worst_a = &result_a, worst_b = &result_b;
      const auto expected = expected_distance(a.op, a.site.phase, operands, result_a, result_b);
      if (!expected)
        is_judged = is_judged && *apart <= kTiny;
      else
        adds = adds || *apart > std::max({*expected, sampled * from_before, kTiny});
    }
    result_distance_[i] = worst;
    if (adds && is_random(a.op)) {
      note_random(a);
      return;
    }
    if ((!is_judged && !adds) || (adds && !knows_operands)) {
      ++out_.not_judged;
      return;
    }
    if (adds || (worst > 4 * given + kTiny && worst_a && worst_a->dtype != worst_b->dtype)) {
      Divergence place = Divergence::at(a, adds ? Cause::kAdds : Cause::kRounding, worst, given);
      place.dtype_a = dtype_name(worst_a->dtype);
      place.dtype_b = dtype_name(worst_b->dtype);
      place.has_other_number = has_other_number_;
      if (!b.off) place.off_a = a.off;
      if (!a.off) place.off_b = b.off;
      (adds ? out_.places : out_.rounding).push_back(std::move(place));
    }
    if (!adds && !was_between) ++out_.agree;
  }

  void compare_named() {
    names_ = {names_in(a_.process), names_in(b_.process)};
    const auto& [a, b] = names_;
    std::map<std::pair<uint32_t, NumberKind>, Named> all;
    for (const auto& [key, index] : a) {
      const auto found = b.find(key);
      if (found == b.end()) continue;
      const auto apart = distance(a_.digest(index), b_.digest(found->second));
      if (!apart) continue;
      if (std::get<1>(key) == NumberKind::kWeight)
        weights_apart_[std::get<2>(key)].emplace_back(std::get<0>(key), *apart);
      Named& named = all[{std::get<0>(key), std::get<1>(key)}];
      named.step = std::get<0>(key);
      named.kind = std::get<1>(key);
      if (named.count++ == 0 || *apart > named.distance) {
        named.distance = *apart;
        named.worst = std::get<2>(key);
      }
    }
    for (auto& [key, named] : all) out_.named.push_back(std::move(named));
  }

  // Of the first step's forward pass before what follows from it, and then most first.
  void sort_rounding() {
    std::set<std::tuple<std::string, std::string>> seen;
    std::vector<Divergence> most;
    std::ranges::stable_sort(out_.rounding, [](const Divergence& x, const Divergence& y) {
      return std::tuple(x.step, x.site.phase, y.distance - y.given) <
             std::tuple(y.step, y.site.phase, x.distance - x.given);
    });
    for (Divergence& place : out_.rounding) {
      if (most.size() < kMostRounding && seen.emplace(place.site.module, place.op).second)
        most.push_back(std::move(place));
    }
    out_.rounding = std::move(most);
  }

  const Side a_, b_;
  Alignment alignment_;
  Comparison& out_;
  std::pair<Names, Names> names_;        // of each run
  std::vector<double> result_distance_;  // of aligned calls of the first run
  WeightsApart weights_apart_;
  Carried carried_a_{a_, weights_apart_}, carried_b_{b_, weights_apart_};
  const double lowest_ = std::max(lowest_roundoff(a_.process), lowest_roundoff(b_.process));
  GivenInputs given_{a_, b_, lowest_, out_};
  const OpsBetween between_{a_, b_, alignment_, result_distance_};
  std::vector<size_t> place_calls_;  // of each place
  double given_beside_weights_ = 0;  // of the op call that was compared last
  bool is_divided_ = false;          // ranks of the two hold other parts
  bool is_between_ = false;          // ops of one run alone explain the call that is compared
  bool has_other_number_ = false;
};

}  // namespace

const DigestedProcess& main_process(const std::vector<DigestedProcess>& processes,
                                    const std::string& name) {
  const DigestedProcess* best = nullptr;
  bool is_merged = false;
  for (const DigestedProcess& process : processes) {
    is_merged = is_merged || process.is_merged;
    if (!process.is_recorded || process.is_merged || process.calls.empty()) continue;
    const bool is_better = !best || std::pair(process.rank, best->calls.size()) <
                                        std::pair(best->rank, process.calls.size());
    if (is_better) best = &process;
  }
  if (best) return *best;
  if (is_merged)
    throw InputError(
        fmt::format("{}: a merged trace has no digests of values; name the traces that "
                    "it was made of",
                    name));
  const bool is_recorded = std::ranges::any_of(
      processes, [](const DigestedProcess& process) { return process.is_recorded; });
  throw InputError(is_recorded
                       ? fmt::format("{}: no op call of a step has digests: it ended before its "
                                     "first step, or before those of --values",
                                     name)
                       : fmt::format("{}: no digests of values; record it with --values", name));
}

static std::vector<DigestedProcess> split(const std::vector<DigestedProcess>& processes) {
  std::vector<DigestedProcess> all;
  for (const DigestedProcess& process : processes) all.push_back(by_parameter(process));
  return all;
}

// Of a run that has not as many ranks as the other, or whose ranks hold other parts, all of them.
static DigestedProcess whole(const std::vector<DigestedProcess>& processes,
                             const std::vector<DigestedProcess>& others, const std::string& name,
                             Comparison& comparison) {
  const DigestedProcess& main = main_process(processes, name);
  const auto ranks = ranks_of(processes), other_ranks = ranks_of(others);
  if (ranks.size() < 2 || main.rank < 0) return main;
  if (ranks.size() == other_ranks.size() && cuts_of(main) == cuts_of(*other_ranks.begin()->second))
    return main;
  comparison.notes.push_back(
      fmt::format("{} ranks of {} are put together: tensors that differ among them are compared by "
                  "their sums, and single numbers are not compared",
                  ranks.size(), name));
  return put_together(ranks);
}

static void leave_out_workspaces(DigestedProcess& process) {
  for (const DigestedCall& call : process.calls)
    if ((ops::facts_of(call.op) & ops::kGivenWorkspace) != 0 && !call.operands.empty() &&
        call.operands.back() != 0)
      process.digests[call.operands.back() - 1].is_unknown = true;
}

// Op calls as they are to be compared.
static Comparison compare_calls(const std::vector<DigestedProcess>& a,
                                const std::vector<DigestedProcess>& b, const std::string& name_a,
                                const std::string& name_b) {
  Comparison comparison;
  comparison.compared_a = whole(a, b, name_a, comparison);
  comparison.compared_b = whole(b, a, name_b, comparison);
  DigestedProcess& first = comparison.compared_a;
  DigestedProcess& other = comparison.compared_b;
  leave_out_workspaces(first);
  leave_out_workspaces(other);
  unify_names(first, other);
  comparison.file_a = first.file;
  comparison.file_b = other.file;
  for (const DigestedProcess* process : {&first, &other}) {
    if (!process->damaged.empty())
      comparison.notes.push_back(fmt::format("{}: {}", process->file, process->damaged));
    if (process->is_full)
      comparison.notes.push_back(fmt::format("{} had no room for further digests", process->file));
  }
  Comparer(first, other, comparison).run();
  comparison.drifts_a = drifts_among_ranks(a);
  comparison.drifts_b = drifts_among_ranks(b);
  return comparison;
}

Comparison compare_values(const std::vector<DigestedProcess>& a,
                          const std::vector<DigestedProcess>& b, const std::string& name_a,
                          const std::string& name_b) {
  const bool is_split = has_flat(a) || has_flat(b);
  return compare_calls(is_split ? split(a) : a, is_split ? split(b) : b, name_a, name_b);
}

}  // namespace dtypecheck::compare
