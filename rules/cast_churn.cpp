// Finds: a tensor that is cast and cast back with nothing done in between; a frozen weight that is
// cast to the same dtype in every step.
// Misses: round trips through more than one other op; those that a library begins, whose line
// nobody can change (the cast bill has them); weights that no gradient and no optimizer ever
// changes though they ask for one; frozen weights of a model whose others a line writes in a loop.
// Silent on purpose: what moves next to nothing; gradients, which autograd casts; weights that the
// program steps, or keeps an average in.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/cast_bill.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"

namespace dtypecheck::rules {
namespace {

// Moved a step: below, a cast costs little more than its call, and the step hardly notices.
constexpr double kWorthBytes = 1 << 18;

// Casts of one kind at one line.
struct Churn {
  std::vector<const Cast*> casts;
  CastCost cost;
};
using ChurnPlace = std::tuple<uint32_t, std::string_view, int, Dtype, Dtype>;
using Churns = std::map<ChurnPlace, Churn>;
using FrozenModel = std::tuple<uint32_t, std::string, Dtype, Dtype>;

void add(const Cast& cast, const CastCost& cost, Churns& to) {
  const SourceLine& line = cast.call->site.line;
  Churn& churn = to[{cast.call->process, line.file, line.line, cast.change.from, cast.change.to}];
  churn.casts.push_back(&cast);
  churn.cost += cost;
}

std::string cost_text(const CastCost& cost) {
  const std::string text = bytes_text(cost.moved_bytes());
  if (cost.gpu_ns) return text + fmt::format(" and {} of the GPU", nanoseconds_text(*cost.gpu_ns));
  if (cost.cpu_ns) return text + fmt::format(" and {} of the CPU", nanoseconds_text(*cost.cpu_ns));
  return text;
}

class Casts {
 public:
  Casts(const RunIndex& index, Findings& out)
      : index_(index), out_(out), casts_(casts_of(index.run())) {
    for (const Cast& cast : casts_) by_call_[cast.call->id] = &cast;
    for (const OpCall& call : index.run().calls) {
      for (const Operand& operand : call.operands) {
        if (!is_parameter(operand)) continue;
        named_[alike(call, operand)].insert(operand.parameter);
        if (operand.requires_grad) trained_roots_.insert(root_of(call, operand));
      }
    }
    for (const OpCall& call : index.run().calls)
      for (const Operand& operand : call.operands)
        if (operand.is_written && operand.is_floating() && !is_load(call)) add_write(call, operand);
  }

  void check() {
    for (const Cast& cast : casts_) {
      if (cast.is_once || !index_.is_judged(*cast.call)) continue;
      const Cast* before = cast_before(cast);
      if (before != nullptr) {
        CastCost both = before->cost;
        both += cast.cost;
        add(*before, both, round_trips_);
      } else if (is_frozen_weight(cast)) {
        const bool is_by_autocast = cast.reason == CastReason::kAutocast;
        add(cast, cast.cost, is_by_autocast ? autocast_weights_ : weights_);
      }
    }
    for (const auto& [place, churn] : round_trips_) report_round_trip(churn);
    report_autocast_weights();
    for (const auto& [place, churn] : weights_) report_weights(churn);
  }

  // What autocast casts of a frozen model in each step has one cause, at however many lines.
  void report_autocast_weights() {
    std::map<FrozenModel, Churn> models;
    std::set<FrozenModel> worth;
    for (const auto& [place, churn] : autocast_weights_) {
      for (const Cast* cast : churn.casts) {
        const DtypeChange& change = cast->change;
        const FrozenModel model{cast->call->process, root_of(*cast->call, *change.source).second,
                                change.from, change.to};
        models[model].casts.push_back(cast);
        models[model].cost += cast->cost;
        if (is_worth(churn.cost)) worth.insert(model);
      }
    }
    for (const FrozenModel& model : worth) report_weights(models.at(model));
  }

 private:
  using Root = std::pair<uint32_t, std::string>;                      // process, model
  using Kind = std::pair<uint32_t, uint64_t>;                         // process, dtypes
  using Line = std::tuple<uint32_t, std::string_view, int>;           // process, file, line
  using Alike = std::tuple<uint32_t, std::string, uint64_t, size_t>;  // model, dtypes, rank

  static Root root_of(const OpCall& call, const Operand& operand) {
    return {call.process, root_module(owner_module(operand.parameter))};
  }
  static Kind kind_of(const OpCall& call, const Operand& operand) {
    return {call.process, operand.dtypes.bits()};
  }
  static Line line_of(const OpCall& call) {
    return {call.process, call.site.line.file, call.site.line.line};
  }
  static Alike alike(const OpCall& call, const Operand& operand) {
    return {call.process, root_of(call, operand).second, operand.dtypes.bits(),
            operand.shape.size()};
  }

  // Equal calls are stored once, with the tensor of the first, be it a parameter or what has no
  // name, as a model's own token: a line that writes more often than once a step writes others too.
  // These are of the same model, as far as that one has enough of them, and were made or moved by
  // the same line; where neither is known they may be any of the dtype. What asks for a gradient is
  // told apart, and is none of the frozen ones; nor are the statistics that a norm keeps.
  void add_write(const OpCall& call, const Operand& operand) {
    const bool is_named = is_parameter(operand);
    if (is_named) written_.insert({call.process, operand.parameter});
    const uint64_t steps = call.last_step - call.first_step + 1;
    if (operand.requires_grad || call.count <= steps || index_.has(call, ops::kNorm)) return;
    const OpCall* maker = index_.run().call(operand.origin);
    const bool is_kept = maker != nullptr && is_load(*maker);
    if (!is_named && !is_kept) return;
    if (is_kept && maker->site.line.known()) written_lines_.insert(line_of(*maker));
    const bool is_made_alone = !is_named && index_.has(*maker, ops::kFactory);
    const bool has_more = is_named && call.count > steps * named_[alike(call, operand)].size();
    if (is_named) written_roots_.insert(root_of(call, operand));
    if (is_made_alone || has_more) written_kinds_.insert(kind_of(call, operand));
  }

  bool is_written(const OpCall& call, const Operand& operand) const {
    const OpCall* maker = index_.run().call(operand.origin);
    return written_.contains({call.process, operand.parameter}) ||
           written_roots_.contains(root_of(call, operand)) ||
           written_kinds_.contains(kind_of(call, operand)) ||
           (maker != nullptr && written_lines_.contains(line_of(*maker))) ||
           is_made_in_steps(operand);
  }

  // `p.data = …` writes nothing, and gives the parameter another tensor.
  bool is_made_in_steps(const Operand& operand) const {
    if (operand.origin == kNoOpCall) return false;
    const OpCall& maker = index_.run().calls[operand.origin - 1];
    return !is_load(maker) && maker.last_step > maker.first_step;
  }

  static bool is_load(const OpCall& call) { return call.site.phase == Phase::kLoad; }
  static bool is_backward(const OpCall& call) { return call.site.phase == Phase::kBackward; }

  // The cast that this one takes back, where nobody else wanted its result.
  const Cast* cast_before(const Cast& cast) const {
    const auto found = by_call_.find(cast.change.source->origin);
    if (found == by_call_.end() || is_backward(*cast.call)) return nullptr;
    const Cast& before = *found->second;
    const bool is_back =
        before.change.from == cast.change.to && before.change.to == cast.change.from;
    if (!is_back || before.is_once || is_backward(*before.call)) return nullptr;
    if (!is_users_own(before.call->site)) return nullptr;
    const auto consumers = index_.consumers(*before.call);
    const bool is_all = std::all_of(consumers.begin(), consumers.end(), [&](OpCallId id) {
      const OpCall& consumer = index_.run().calls[id - 1];
      const auto other = by_call_.find(id);
      return is_backward(consumer) || consumer.autocast.is_wrapper ||
             (other != by_call_.end() && other->second->change.to == cast.change.to);
    });
    return is_all && !may_be_read_between(before, cast) ? &before : nullptr;
  }

  // Equal calls are stored once, with where the operands of the first came from: a line between the
  // casts that is given such a tensor may have read the copy in another call.
  bool may_be_read_between(const Cast& before, const Cast& after) const {
    const SourceLine& from = before.call->site.line;
    const SourceLine& to = after.call->site.line;
    const Operand& copy = *after.change.source;
    const auto is_like_copy = [&](const Operand& operand) {
      return operand.dtypes == copy.dtypes && operand.shape == copy.shape &&
             operand.origin != copy.origin;
    };
    return from.file == to.file &&
           std::any_of(
               index_.run().calls.begin(), index_.run().calls.end(), [&](const OpCall& call) {
                 const SourceLine& line = call.site.line;
                 return line.line > from.line && line.line < to.line &&
                        line.function == from.function && line.file == from.file &&
                        call.process == before.call->process &&
                        std::any_of(call.operands.begin(), call.operands.end(), is_like_copy);
               });
  }

  bool is_frozen_weight(const Cast& cast) const {
    const OpCall& call = *cast.call;
    const Operand& source = *cast.change.source;
    if (!is_parameter(source) || source.requires_grad || is_backward(call)) return false;
    if (source.kind != TensorKind::kDense) return false;
    if (call.count < 2 || call.last_step == call.first_step) return false;
    return !is_written(call, source);
  }

  static bool is_worth(const CastCost& cost) { return cost.moved_bytes() >= kWorthBytes; }

  void report(const Churn& churn, const std::string& message, const Details& details) {
    if (!is_worth(churn.cost)) return;
    const OpCall& first = *largest(churn).call;
    out_.add(first, message, [&] { return details; });
    for (const Cast* cast : churn.casts)
      if (cast->call != &first) out_.relate(first.id, *cast->call);
  }

  static const Cast& largest(const Churn& churn) {
    return **std::max_element(
        churn.casts.begin(), churn.casts.end(),
        [](const Cast* a, const Cast* b) { return a->cost.moved_bytes() < b->cost.moved_bytes(); });
  }

  // The module that has all of them; of calls that are stored with the first one's tensor, its
  // model. What is trained stays as it is, under whichever name the module has it, too.
  std::string cast_once(const Churn& churn, const std::vector<std::string>& names) const {
    const Cast& first = largest(churn);
    const bool is_all = names.size() > 1 && static_cast<double>(names.size()) >= churn.cost.casts;
    const std::string common = common_module(names);
    const std::string module =
        is_all && !common.empty() ? common : root_module(owner_module(names.front()));
    const std::string cast = to_dtype(*first.call, first.change.to);
    const bool is_trained = trained_roots_.contains(root_of(*first.call, *first.change.source));
    if (is_in_cpp(*first.call) || !is_trained) return module + cast;
    return fmt::format("for p in {}.parameters(): p.data = p.data if p.requires_grad else p.data{}",
                       module, cast);
  }

  void report_round_trip(const Churn& churn) {
    const DtypeChange& change = largest(churn).change;
    const std::string from = dtype_name(change.from), to = dtype_name(change.to);
    report(churn, fmt::format("{} is cast to {} and back", from, to),
           {.odd = change.source->name,
            .why = fmt::format("nothing else reads the {} copy; both casts move {} a step", to,
                               cost_text(churn.cost)),
            .fix = "leave out both casts"});
  }

  void report_weights(const Churn& churn) {
    const Cast& first = largest(churn);
    const DtypeChange& change = first.change;
    std::set<std::string> all;
    for (const Cast* cast : churn.casts) all.insert(cast->change.source->parameter);
    const std::vector<std::string> names(all.begin(), all.end());
    const std::string others =
        names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "";
    const std::string who = first.reason == CastReason::kAutocast
                                ? "autocast keeps the cast of no weight that requires no gradient"
                                : "the line casts it each time";
    const std::string& parameter = change.source->parameter;
    report(churn,
           fmt::format("a frozen {} weight is cast to {} in every step", dtype_name(change.from),
                       dtype_name(change.to)),
           {.odd = change.source->name,
            .why = fmt::format("{}{} never change{}; {}; {:.0f} casts a step move {}", parameter,
                               others, names.size() > 1 ? "" : "s", who, churn.cost.casts,
                               cost_text(churn.cost)),
            .fix = "cast it once, before the first step: " + cast_once(churn, names)});
  }

  const RunIndex& index_;
  Findings& out_;
  std::vector<Cast> casts_;
  std::map<OpCallId, const Cast*> by_call_;
  std::set<std::pair<uint32_t, std::string>> written_;  // process, parameter
  std::map<Alike, std::set<std::string>> named_;        // parameters that any call names
  std::set<Root> written_roots_, trained_roots_;
  std::set<Kind> written_kinds_;
  std::set<Line> written_lines_;
  Churns round_trips_, weights_, autocast_weights_;
};

void check_run(const RunIndex& index, Findings& out) { Casts(index, out).check(); }

}  // namespace

const Rule cast_churn = {
    .doc = {.id = "cast-churn",
            .severity = Severity::kNote,
            .summary = "a tensor is cast back and forth, or a frozen weight in every step",
            .why = "Each cast reads and writes the whole tensor for nothing: the value could have "
                   "kept its dtype, or been cast once.",
            .fix = "Leave out casts that are undone; cast frozen weights once, before the "
                   "first step: unet.to(torch.bfloat16).",
            .example = R"(
process steps=9
op aten::linear input=BFloat16[8,512] weight=Float[512,512]%unet.proj.weight -> BFloat16[8,512] at train.py:9 phase forward step 1-9 count 9 autocast cpu:BFloat16 wrapper
op aten::_to_copy self=Float[512,512]%unet.proj.weight -> BFloat16[512,512] at train.py:9 phase forward step 1-9 count 9 parent #1
# EXPECT train.py:9: note: a frozen Float weight is cast to BFloat16 in every step [cast-churn]
# EXPECT-FIX unet.to(torch.bfloat16)
op aten::_to_copy self=BFloat16[512,512] -> Float[512,512] at train.py:12 phase forward step 1-9 count 9
# EXPECT train.py:12: note: BFloat16 is cast to Float and back [cast-churn]
op aten::_to_copy self=Float[512,512]<#3 -> BFloat16[512,512] at train.py:13 phase forward step 1-9 count 9
# A weight that is trained is another one in each step.
op aten::_to_copy self=Float[512,512]%lora.down.weight^^ -> BFloat16[512,512] at train.py:15 phase forward step 1-9 count 9
)"},
    .check_run = check_run,
    .costs_only = true,
};

}  // namespace dtypecheck::rules
