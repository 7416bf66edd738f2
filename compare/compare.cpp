#include "compare/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "compare/align.h"
#include "compare/distance.h"
#include "compare/expected.h"
#include "compare/gradients.h"
#include "compare/named.h"
#include "compare/parameters.h"
#include "compare/ranks.h"
#include "compare/side.h"
#include "compare/wrappers.h"
#include "core/dtype_set.h"
#include "ops/ops.h"
#include "platform/error.h"

namespace dtypecheck::compare {
namespace {

constexpr double kTiny = 1e-12;      // nearer than this is not apart
constexpr double kOtherData = 0.05;  // tensors of later steps, whose makers were not seen
constexpr size_t kMostBetween = 16;  // ops walked through between two that are aligned
constexpr size_t kMostRounding = 3;
constexpr double kRoundingsOfTable = 64;  // of the sine of an angle of hundreds

// How what a rank holds is cut, where a parameter is.
std::set<std::string> cuts_of(const DigestedProcess& process) {
  std::set<std::string> cuts;
  for (const Digest& digest : process.digests)
    if (!digest.parameter.empty()) cuts.insert(digest.cut);
  return cuts;
}

// What stands between an operand and the aligned calls that it comes from.
struct Between {
  std::vector<size_t> alone;    // calls of this run alone
  std::vector<size_t> aligned;  // where they end
  double roundoff = 0;          // the lowest dtype on the way
  bool has_sum = false;         // of two tensors
};

class Comparer {
 public:
  Comparer(const DigestedProcess& a, const DigestedProcess& b, Comparison& out)
      : a_(a), b_(b), alignment_(align(a, b)), out_(out) {}

  void run() {
    for (const Side* side : {&a_, &b_})
      for (const Digest& digest : side->process.digests)
        lowest_ = std::max(lowest_, unit_roundoff(digest.dtype));
    is_divided_ = cuts_of(a_.process) != cuts_of(b_.process);
    note_steps();
    compare_named();
    result_distance_.assign(a_.process.calls.size(), 0);
    carried_a_.assign(a_.process.digests.size() + 1, 0);
    carried_b_.assign(b_.process.digests.size() + 1, 0);
    size_t aligned = 0, in_modules = 0, next_b = 0;
    for (size_t i = 0; i < a_.process.calls.size(); ++i) {
      const size_t j = alignment_.to_b[i];
      if (j == kAlone) {
        carry(a_, i, carried_a_, unseen_rounding(a_, i));
        if (is_compared(a_, i)) out_.calls.push_back({.a = i, .b = {}});
        continue;
      }
      ++aligned;
      in_modules += is_in_module(a_, i);
      for (; next_b < j; ++next_b)
        if (alignment_.to_a[next_b] == kAlone)
          carry(b_, next_b, carried_b_, unseen_rounding(b_, next_b));
      const size_t places = out_.places.size(), rounding = out_.rounding.size(),
                   unknown = out_.not_judged;
      const double given = compare(i, j);
      place_calls_.resize(out_.places.size(), i);
      const auto verdict = out_.places.size() > places       ? Pair::Verdict::kAdds
                           : out_.rounding.size() > rounding ? Pair::Verdict::kRounds
                           : out_.not_judged > unknown       ? Pair::Verdict::kUnknown
                                                             : Pair::Verdict::kAgrees;
      out_.calls.push_back({i, j, given, result_distance_[i], verdict});
      const double most =
          std::max({given_beside_weights_, result_distance_[i], carried(a_, i, carried_a_, false),
                    carried(b_, j, carried_b_, false)});
      // Of elements that a rounding moved to their neighbours a sample may miss one in sixteen.
      const double missed = most > 0 ? roundoff_of_results(i) / 4 : 0;
      carry(a_, i, carried_a_, std::max(most, missed));
      carry(b_, j, carried_b_, std::max(most, missed));
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
          "more op calls of modules are in one run alone than in both: these may be two models");
    sort_rounding();
  }

 private:
  // The most that anything was apart which the operands were computed from. A distance is a sample,
  // and an error that lies in a few elements may not be in it; it comes out where they are summed.
  // What a weight is apart moves all elements that come of it, and shows in the first results.
  double carried(const Side& side, size_t call, const std::vector<double>& by_digest,
                 bool of_weights = true) const {
    double most = 0;
    const DigestedCall& at = side.process.calls[call];
    for (size_t place = 0; place < at.operands.size(); ++place) {
      uint32_t index = at.operands[place];
      if (index == 0) continue;
      const Digest& operand = side.digest(index);
      if (!of_weights && is_weight(operand)) continue;
      double apart = weight_apart_before(at.step, operand.parameter);
      while (side.made_by.count(index) == 0 && side.digest(index).base != 0)
        index = side.digest(index).base;
      apart = std::max(apart, by_digest[index]);
      const bool has_result = !at.results.empty() && at.results[0] != 0;
      most = std::max(most, apart * (has_result ? share_in_result(at.op, place, operand,
                                                                  side.digest(at.results[0]))
                                                : 1));
    }
    return most;
  }

  // What an optimizer's step did to it. One that divides by a gradient's size makes a step of a
  // rounding, where the gradient is next to nothing. What is added, as a bias is, counts by its
  // size: the gradient of a key's bias is all rounding, and so is the bias.
  double weight_apart_before(uint32_t step, const std::string& parameter) const {
    constexpr double kDivided = 2;
    const auto found = weights_apart_.find(parameter);
    if (found == weights_apart_.end()) return 0;
    double most = 0;
    for (const auto& [after, apart] : found->second)
      if (after < step) most = std::max(most, apart);
    return kDivided * most;
  }

  void carry(const Side& side, size_t call, std::vector<double>& by_digest, double most) const {
    most = std::max(most, carried(side, call, by_digest, false));
    for (const uint32_t index : side.process.calls[call].results)
      if (index != 0) by_digest[index] = std::max(by_digest[index], most);
  }

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
    first_step_ = out_.steps.front();
    if (a != b) out_.notes.push_back("one run has digests of steps that the other has none of");
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
        return place_of(side.process.calls[i], Cause::kBetween, 0, 0);
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
      check_given(a, a.operands[k], b.operands[k], operands[at].distance);
      if (!is_between_ && operands[at].distance > kTiny)
        check_between(i, j, a.operands[k], b.operands[k], operands[at].distance);
      ++at;
    }
    const bool was_between = is_between_;
    is_between_ = false;
    const bool knows_operands =
        std::find(a.operands.begin(), a.operands.end(), 0) == a.operands.end();
    const double from_before = std::max(carried(a_, i, carried_a_), carried(b_, j, carried_b_));
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

  static bool is_weight(const Digest& digest) {
    return !digest.parameter.empty() && !digest.is_gradient;
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

  double worst_result(const DigestedCall& a, const DigestedCall& b) const {
    double worst = 0;
    for (size_t k = 0; k < std::min(a.results.size(), b.results.size()); ++k) {
      if (a.results[k] == 0 || b.results[k] == 0) continue;
      worst =
          std::max(worst, distance(a_.digest(a.results[k]), b_.digest(b.results[k])).value_or(0));
    }
    return worst;
  }

  // Weights and data that the runs begin with.
  void check_given(const DigestedCall& call, uint32_t ia, uint32_t ib, double apart) {
    const Digest& a = a_.digest(ia);
    const Digest& b = b_.digest(ib);
    if (!a_.is_begun_with(ia) || !b_.is_begun_with(ib) || call.site.phase == Phase::kOptimizer)
      return;
    const double rounded = 4 * std::max(unit_roundoff(a.dtype), unit_roundoff(b.dtype));
    Inputs& inputs = out_.inputs;
    if (call.step == first_step_ && !a.parameter.empty()) {
      if (!seen_.insert(a.parameter).second) return;
      ++inputs.weights;
      if (apart <= rounded) return;
      if (apart <= 4 * lowest_) {
        ++inputs.weights_rounded;
        return;
      }
      if (inputs.weights_apart++ == 0) inputs.weight = a.parameter;
      inputs.weights_distance = std::max(inputs.weights_distance, apart);
      return;
    }
    if (!a.parameter.empty() || call.site.phase == Phase::kBackward) return;
    if (!given_.insert(ia).second) {
      for (GivenApart& given : given_apart_)
        given.is_table = given.is_table || (given.index == ia && call.step != given.call->step);
      return;
    }
    ++inputs.tensors;
    if (a.dtype != b.dtype && apart > kTiny && apart <= rounded) {
      Divergence place = place_of(call, Cause::kRounding, apart, 0);
      place.dtype_a = dtype_name(a.dtype);
      place.dtype_b = dtype_name(b.dtype);
      place.is_kept_lower = true;
      out_.rounding.push_back(std::move(place));
    }
    const double computed = std::max(
        kTiny, kRoundingsOfTable * std::max(unit_roundoff(a.dtype), unit_roundoff(b.dtype)));
    if (apart <= (call.step == first_step_ ? computed : std::max(computed, kOtherData))) return;
    given_apart_.push_back({&call, ia, false});
  }

  // A call whose results agree, or all that is computed from them does: a mask of -1e10 and one of
  // -inf are the same behind a softmax, and two algorithms are apart on their way to one result.
  // What uses a result stands behind what made it. A gradient that is apart is a difference, though
  // the optimizer may make nothing of its scale.
  void leave_out_what_makes_no_difference() {
    const std::vector<DigestedCall>& calls = a_.process.calls;
    std::unordered_map<uint32_t, bool> uses;  // of a digest that is used: all to no effect
    std::vector<bool> makes_none(calls.size());
    for (size_t call = calls.size(); call-- > 0;) {
      const bool is_used = std::all_of(
          calls[call].results.begin(), calls[call].results.end(),
          [&](uint32_t result) { return result != 0 && uses.count(result) != 0 && uses[result]; });
      makes_none[call] = agrees(call) || (!calls[call].results.empty() && is_used);
      for (const auto* list : {&calls[call].operands, &calls[call].results}) {
        if (list == &calls[call].operands && is_of_shape(calls[call].op)) continue;
        for (uint32_t index : *list) {
          const bool is_none = makes_none[call] && !is_other_gradient(call, index);
          if (index != 0 && list == &calls[call].results) index = a_.digest(index).base;
          while (index != 0) {
            bool& use = uses.try_emplace(index, true).first->second;
            use = use && is_none;
            index = a_.made_by.count(index) ? 0 : a_.digest(index).base;
          }
        }
      }
    }
    for (size_t k = out_.places.size(); k-- > 0;) {
      if (!makes_none[place_calls_[k]] || writes_state(calls[place_calls_[k]])) continue;
      out_.places.erase(out_.places.begin() + static_cast<std::ptrdiff_t>(k));
      for (Pair& pair : out_.calls)
        if (pair.a == place_calls_[k]) pair.verdict = Pair::Verdict::kAgrees;
      ++out_.agree;
    }
    Inputs& inputs = out_.inputs;
    for (const GivenApart& given : given_apart_) {
      // What a program keeps from step to step, a hidden state say, is apart for what was before.
      const bool is_of_before =
          std::any_of(out_.places.begin(), out_.places.end(),
                      [&](const Divergence& place) { return place.step < given.call->step; });
      if (uses[given.index] || is_of_before || inputs.tensors_apart++ > 0) continue;
      inputs.where = given.call->op;
      inputs.site = given.call->site;
      inputs.step = given.call->step;
      inputs.is_table = given.is_table;
    }
  }

  // An optimizer's average, which the first step divides by what it was begun with, and later ones
  // do not.
  static bool writes_state(const DigestedCall& call) {
    return call.site.phase == Phase::kOptimizer && ops::parse_op_name(call.op).in_place;
  }

  bool is_other_gradient(size_t call, uint32_t index) const {
    const std::vector<uint32_t>& a = a_.process.calls[call].operands;
    const auto at = std::find(a.begin(), a.end(), index) - a.begin();
    if (index == 0 || !a_.digest(index).is_gradient || alignment_.to_b[call] == kAlone)
      return false;
    const std::vector<uint32_t>& b = b_.process.calls[alignment_.to_b[call]].operands;
    if (static_cast<size_t>(at) >= std::min(a.size(), b.size()) || b[at] == 0) return false;
    return distance(a_.digest(index), b_.digest(b[at])).value_or(0) > kOtherData;
  }

  // It makes nothing of the numbers, as the gradient of a loss by itself is 1.
  static bool is_of_shape(const std::string& op) {
    return ops::parse_op_name(op).base.ends_with("_like");
  }

  bool agrees(size_t call) const {
    if (alignment_.to_b[call] == kAlone) return false;
    if (is_of_shape(a_.process.calls[call].op)) return false;
    const std::vector<uint32_t>& a = a_.process.calls[call].results;
    const std::vector<uint32_t>& b = b_.process.calls[alignment_.to_b[call]].results;
    if (a.size() != b.size()) return false;
    for (size_t k = 0; k < a.size(); ++k) {
      if (a[k] == 0 || b[k] == 0) return false;
      const auto apart = distance(a_.digest(a[k]), b_.digest(b[k]));
      if (!apart || *apart > 4 * unit_roundoff(a_.digest(a[k]).dtype)) return false;
    }
    return true;
  }

  Between between(const Side& side, const std::vector<size_t>& to, size_t maker) const {
    Between found;
    std::vector<size_t> waiting{maker};
    std::set<size_t> seen;
    while (!waiting.empty() && seen.size() < kMostBetween) {
      const size_t call = waiting.back();
      waiting.pop_back();
      if (call == kAlone || !seen.insert(call).second) continue;
      if (to[call] != kAlone) {
        found.aligned.push_back(call);
        continue;
      }
      found.alone.push_back(call);
      const DigestedCall& made = side.process.calls[call];
      found.has_sum = found.has_sum || ops::parse_op_name(made.op).base == "add";
      for (const auto* list : {&made.operands, &made.results})
        for (uint32_t index : *list)
          if (index != 0)
            found.roundoff = std::max(found.roundoff, unit_roundoff(side.digest(index).dtype));
      for (uint32_t index : made.operands)
        if (index != 0) waiting.push_back(side.maker(index, made.step));
    }
    return found;
  }

  // Else these are not the same tensor, but of two calls of one op with equal shapes.
  bool meet(const Between& in_a, const Between& in_b) const {
    if (in_a.aligned.empty() || in_b.aligned.empty()) return true;
    return std::any_of(in_a.aligned.begin(), in_a.aligned.end(), [&](size_t at) {
      return std::find(in_b.aligned.begin(), in_b.aligned.end(), alignment_.to_b[at]) !=
             in_b.aligned.end();
    });
  }

  std::vector<std::string> names_of_ops(const Side& side, std::vector<size_t> calls) const {
    std::sort(calls.begin(), calls.end());
    std::vector<std::string> names;
    for (const size_t call : calls) {
      const DigestedCall& made = side.process.calls[call];
      std::string name = made.op;
      if (ops::facts_of(made.op) & ops::kCast && !made.results.empty() && made.results[0] != 0)
        name += " to " + dtype_name(side.digest(made.results[0]).dtype);
      const std::string where = recorded_place(made.site);
      if (!where.empty()) name += " at " + where;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
  }

  // Is the operand further apart than where it was made?
  void check_between(size_t i, size_t j, uint32_t ia, uint32_t ib, double apart) {
    const DigestedCall& call = a_.process.calls[i];
    const Digest& a = a_.digest(ia);
    const Digest& b = b_.digest(ib);
    if (!is_floating(a.dtype) || !is_floating(b.dtype)) return;
    const size_t made_a = a_.maker(ia, call.step);
    const size_t made_b = b_.maker(ib, b_.process.calls[j].step);
    if (made_a == kAlone && made_b == kAlone) return;
    const bool is_weight = !(made_a == kAlone ? a : b).parameter.empty();
    if ((made_a == kAlone || made_b == kAlone) && !is_weight)
      return check_unseen(call, made_a == kAlone ? b_ : a_, std::min(made_a, made_b), a, b, apart);
    if (made_a != kAlone && alignment_.to_b[made_a] == made_b) return;
    const Between in_a = between(a_, alignment_.to_b, made_a);
    const Between in_b = between(b_, alignment_.to_a, made_b);
    if (in_a.alone.empty() && in_b.alone.empty()) return;
    // Branches of the backward pass run in another order, and the gradient of what several ops use
    // is summed as they come.
    if (call.site.phase == Phase::kBackward && (!meet(in_a, in_b) || in_a.has_sum != in_b.has_sum))
      return;
    double worst = 0;
    for (const size_t at : in_a.aligned) worst = std::max(worst, result_distance_[at]);
    for (const size_t at : in_b.aligned)
      worst = std::max(worst, result_distance_[alignment_.to_a[at]]);
    const double of_a = std::max(in_a.roundoff, unit_roundoff(a.dtype));
    const double of_b = std::max(in_b.roundoff, unit_roundoff(b.dtype));
    const bool adds = apart > 4 * (worst + 4 * std::max(of_a, of_b));
    if (!adds && (apart <= 4 * worst || of_a == of_b)) return;
    Divergence place = place_of(call, adds ? Cause::kBetween : Cause::kRounding, apart, worst);
    place.dtype_a = dtype_name(a.dtype);
    place.dtype_b = dtype_name(b.dtype);
    place.only_a = names_of_ops(a_, in_a.alone);
    place.only_b = names_of_ops(b_, in_b.alone);
    if (!adds) return out_.rounding.push_back(std::move(place));
    out_.places.push_back(std::move(place));
    is_between_ = true;
  }

  // The other run shows nothing that made it: torch.compile did, or it was given. The rounding of
  // what stands there is taken to be that of as many ops.
  void check_unseen(const DigestedCall& call, const Side& side, size_t maker, const Digest& a,
                    const Digest& b, double apart) {
    const auto& to = &side == &a_ ? alignment_.to_b : alignment_.to_a;
    const Between seen = between(side, to, maker);
    if (call.site.phase != Phase::kForward || seen.alone.empty() || seen.aligned.empty() ||
        seen.alone.size() + seen.aligned.size() >= kMostBetween)
      return;
    double worst = 0;
    for (const size_t at : seen.aligned)
      worst = std::max(worst, result_distance_[&side == &a_ ? at : to[at]]);
    const double roundoff =
        std::max({seen.roundoff, unit_roundoff(a.dtype), unit_roundoff(b.dtype)});
    const double roundings = 4 * std::sqrt(static_cast<double>(seen.alone.size()));
    if (apart <= 4 * (worst + roundings * roundoff)) return;
    Divergence place = place_of(call, Cause::kBetween, apart, worst);
    place.dtype_a = dtype_name(a.dtype);
    place.dtype_b = dtype_name(b.dtype);
    auto& only = &side == &a_ ? place.only_a : place.only_b;
    only = names_of_ops(side, seen.alone);
    (&side == &a_ ? place.only_b
                  : place.only_a) = {"what was not recorded, as in a compiled region"};
    out_.places.push_back(std::move(place));
    is_between_ = true;
  }

  static Divergence place_of(const DigestedCall& call, Cause cause, double apart, double given) {
    Divergence place;
    place.cause = cause;
    place.op = call.op;
    place.site = call.site;
    place.step = call.step;
    place.distance = apart;
    place.given = given;
    return place;
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
        ++out_.left_out;
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
      if (out_.inputs.random.empty()) out_.inputs.random = a.op, out_.inputs.random_site = a.site;
      return;
    }
    if ((!is_judged && !adds) || (adds && !knows_operands)) {
      ++out_.not_judged;
      return;
    }
    if (adds || (worst > 4 * given + kTiny && worst_a && worst_a->dtype != worst_b->dtype)) {
      Divergence place = place_of(a, adds ? Cause::kAdds : Cause::kRounding, worst, given);
      place.dtype_a = dtype_name(worst_a->dtype);
      place.dtype_b = dtype_name(worst_b->dtype);
      place.has_other_number = has_other_number_;
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
    std::stable_sort(out_.rounding.begin(), out_.rounding.end(),
                     [](const Divergence& x, const Divergence& y) {
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
  std::pair<Names, Names> names_;              // of each run
  std::vector<double> result_distance_;        // of aligned calls of the first run
  std::vector<double> carried_a_, carried_b_;  // by digest
  std::map<std::string, std::vector<std::pair<uint32_t, double>>> weights_apart_;  // after a step
  std::set<std::string> seen_;
  std::set<uint32_t> given_;
  struct GivenApart {
    const DigestedCall* call;
    uint32_t index;
    bool is_table;
  };
  std::vector<GivenApart> given_apart_;
  std::vector<size_t> place_calls_;  // of each place
  double given_beside_weights_ = 0;  // of the op call that was compared last
  double lowest_ = 0;                // unit roundoff of the lowest dtype of either run
  uint32_t first_step_ = 0;
  bool is_divided_ = false;  // ranks of the two hold other parts
  bool is_between_ = false;
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
  const bool is_recorded =
      std::any_of(processes.begin(), processes.end(),
                  [](const DigestedProcess& process) { return process.is_recorded; });
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
      fmt::format("{} ranks of {} are put together: what differs among them is compared by its "
                  "sums, and what has one number not at all",
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
