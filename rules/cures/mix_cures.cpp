// mix_cures.cpp: which changes may bring two sides together. All that a person would think of is
// proposed; what becomes of each in the rest of the run is not asked here.
#include "rules/cures/mix_cures.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/follow_links.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/half_weights.h"

namespace dtypecheck::rules {
namespace {

// The candidates for one mix, the likeliest first.
class MixCures {
 public:
  MixCures(const RunIndex& index, const JudgeOptions& options, const OpCall& call, const Mix& mix,
           const Provenance& source)
      : index_(index),
        options_(options),
        propose_(index, options),
        call_(call),
        mix_(mix),
        source_(source) {}

  std::vector<Cure> take_promotion() && {
    add(propose_.reopen_autocast(call_));
    at_promotion();
    at_maker();
    if (source_.promotion != nullptr)
      of_attribute(*source_.promotion, *source_.promoted_by, /*is_sure=*/false);
    return std::move(cures_);
  }
  std::vector<Cure> take_loss() && {
    raise_to_float(call_);
    return std::move(cures_);
  }

  std::vector<Cure> take() && {
    if (may_drop_scale(mix_.odd) || may_drop_scale(mix_.other)) return {};
    if (index_.has(call_, ops::kBackward) && of_forward_loss()) return std::move(cures_);
    if (ops::facts_of(call_.op) & ops::kLoss) raise_to_float(call_);
    of_own_backward();
    of_gradient();
    add_region_again();
    if (source_.promotion != nullptr) at_promotion();
    at_promotion_of_input();
    at_last_promotion();
    of_changed_parameter();
    of_parameter_in_double();
    of_attribute(call_, *mix_.odd.operand, /*is_sure=*/true);
    of_half_beside_bfloat16();
    of_trained_written();
    if (is_written(mix_.other)) {
      of_written();
    } else if (mix_.odd.is_parameter() && !mix_.odd.is_computed) {
      of_odd_parameter();
    } else if (is_low_in_float_layer()) {
      of_low_input();
    }
    cast_drawn();
    cast_all_odd();
    at_caller();
    if (source_.maker != nullptr && !mix_.odd.is_parameter())
      add(propose_.cast_giver(*source_.maker, mix_.other.dtype));
    if (mix_.odd.is_computed && !is_users_own(call_.site)) {
      open_autocast();
    } else {
      cast_side(mix_.odd, mix_.other.dtype);
    }
    cast_for_layers();
    at_maker();
    at_maker_of_other();
    cast_side(mix_.other, mix_.odd.dtype);
    of_attribute(call_, *mix_.odd.operand, /*is_sure=*/false);
    if (mix_.other.is_parameter()) cast_model(mix_.other, mix_.odd.dtype);
    open_autocast();
    if (mix_.other.is_parameter()) cast_parameter(mix_.other, mix_.odd.dtype);
    return std::move(cures_);
  }

 private:
  // Of 8-bit data with a scale a cast keeps the one and drops the other. Only what a line cast to 8
  // bits as it was has none.
  bool may_drop_scale(const Side& side) const {
    if (side.operand == nullptr || !kFloat8.contains(side.dtype)) return false;
    const bool has_scale =
        std::any_of(call_.operands.begin(), call_.operands.end(), [](const Operand& operand) {
          return (ops::argument_facts(operand.name) & ops::kScale) != 0;
        });
    if (has_scale) return true;
    const OpCall* maker = index_.provenance().of(call_, *side.operand).maker;
    if (maker == nullptr || !index_.has(*maker, ops::kCast) || maker->operands.empty()) return true;
    const OpCall* before = index_.run().call(maker->operands.front().origin);
    return before != nullptr && index_.has(*before, ops::kScales);
  }

  void add(Cure cure) {
    if (kFloat8.contains(cure.dtype)) return;  // nothing is cast to 8 bits without a scale
    const bool is_new = std::none_of(cures_.begin(), cures_.end(),
                                     [&](const Cure& other) { return other.text == cure.text; });
    if (is_new) cures_.push_back(std::move(cure));
  }
  void add(std::optional<Cure> cure) {
    if (cure) add(*std::move(cure));
  }

  // A backward's line cannot be changed: what its loss took at its own line can.
  bool of_forward_loss() {
    for (const Operand& operand : call_.operands) {
      const OpCall* origin = index_.run().call(operand.origin);
      if (origin == nullptr) continue;
      for (const OpCallId id : index_.consumers(*origin)) {
        const OpCall& loss = index_.run().calls[id - 1];
        if (index_.has(loss, ops::kLoss) && loss.floating_dtypes().size() > 1) raise_to_float(loss);
      }
    }
    return !cures_.empty();
  }

  // The backward of a torch.autograd.Function runs outside of the region that its forward ran in,
  // and so does what it runs again.
  void of_own_backward() {
    const std::string& function = call_.site.line.function;
    const size_t dot = function.rfind('.');
    if (function.substr(dot + 1) != "backward" || dot == function.npos) return;
    const std::string forward = function.substr(0, dot) + ".forward";
    const auto& calls = index_.run().calls;
    const bool was_in_region = std::any_of(calls.begin(), calls.end(), [&](const OpCall& other) {
      return other.process == call_.process && other.site.line.file == call_.site.line.file &&
             other.site.line.function == forward &&
             other.autocast.region_for(call_.device_type()) != nullptr;
    });
    if (was_in_region && call_.autocast.region_for(call_.device_type()) == nullptr)
      add_own_backward();
  }
  // An optimizer's states are Float, and all that it computes of a gradient meets them.
  void of_gradient() {
    const bool is_optimizers = call_.site.phase == Phase::kOptimizer && is_users_own(call_.site) &&
                               !is_in_cpp(call_) && kLowPrecision.contains(mix_.odd.dtype) &&
                               mix_.other.dtype == Dtype::kFloat && !mix_.odd.is_parameter() &&
                               !mix_.other.is_parameter();
    const bool is_of_gradient =
        source_.is_gradient ||
        std::any_of(source_.steps.begin(), source_.steps.end(), [](const ProvenanceStep& step) {
          return step.call != nullptr && step.call->site.phase == Phase::kBackward;
        });
    if (is_optimizers && is_of_gradient)
      add(propose_.rewrite(call_, Dtype::kFloat, "gradient read",
                           "read the gradient in Float, for what is computed of it"));
  }
  void add_own_backward() {
    if (is_users_own(call_.site))
      add(propose_.rewrite(call_, mix_.other.dtype, "own backward",
                           "decorate the function by custom_fwd and custom_bwd, so that its "
                           "backward runs under the autocast of its forward"));
  }
  void add_region_again() {
    auto again = propose_.reopen_autocast(call_);
    const bool is_found = again.has_value();
    add(std::move(again));
    if (is_found) add_own_backward();
  }

  // Float is what people want from a loss.
  void raise_to_float(const OpCall& inner) {
    const OpCall* loss = &inner;
    follow_links(&inner, [&](const OpCall& call) {  // cross_entropy_loss of nll_loss
      if (index_.has(call, ops::kLoss)) loss = &call;
      return index_.run().call(call.parent);
    });
    for (const Operand& operand : loss->operands) {
      const bool is_side = operand.dtypes.within(kLowPrecision) && !is_parameter(operand);
      if (is_side) add(propose_.cast_operand(*loss, operand, Dtype::kFloat, noun_of(operand)));
    }
  }

  // Raised in an earlier call and not lowered again, or replaced by a state in another dtype.
  void of_changed_parameter() {
    if (!mix_.odd.is_parameter() || source_.maker == nullptr) return;
    const SourceLine& line = source_.maker->site.line;
    if (raised_since(index_, call_, mix_.odd)) {
      Cure cure = propose_.rewrite(*source_.maker, mix_.other.dtype, "lowered again", "");
      cure.text = "cast the module back behind its use, as it was before" + at(line);
      add(std::move(cure));
    } else if (replaced_since(index_, call_, mix_.odd)) {
      add(propose_.cast_result(*source_.maker, mix_.other.dtype));
    }
  }

  // Data that are in Double because NumPy makes them so, where no model is.
  void of_numpy() {
    const OpCall* maker = source_.maker;
    if (maker == nullptr || source_.parameter != nullptr || mix_.odd.is_parameter()) return;
    const bool is_array = maker->short_op() == "lift_fresh" ||
                          (ops::is_python(maker->op) && !maker->scalars.empty() &&
                           maker->scalars.front().name == "ndarray");
    const bool is_odd = mix_.odd.dtype == Dtype::kDouble && mix_.other.dtype == Dtype::kFloat &&
                        !index_.has_parameters_in(call_.process, Dtype::kDouble);
    if (is_array && is_odd && maker->result_dtype() == Dtype::kDouble)
      add(propose_.cast_result(*maker, mix_.other.dtype));
  }

  // Of data in Double, as NumPy makes it, a model was given one parameter beside others in Float.
  void of_parameter_in_double() {
    const bool is_one = source_.parameter != nullptr && source_.maker != nullptr &&
                        mix_.odd.dtype == Dtype::kDouble && mix_.other.dtype == Dtype::kFloat;
    if (is_one && source_.maker->result_dtype() == Dtype::kDouble &&
        is_users_own(source_.maker->site))
      add(propose_.cast_result(*source_.maker, mix_.other.dtype));
  }

  // A tensor that a module made before and holds as no buffer: its casts pass by that. It is sure
  // that the module holds it where it was made in its __init__.
  void of_attribute(const OpCall& reader, const Operand& read, bool is_sure) {
    const OpCall* maker = source_.maker;
    const std::string& reads = reader.site.line.function;
    const bool is_held = maker != nullptr && maker->site.phase == Phase::kLoad &&
                         !is_parameter(read) && reads.ends_with(".forward") &&
                         is_users_own(reader.site);
    const std::string holder = reads.substr(0, reads.rfind('.')) + ".__init__";
    const bool is_made_there = is_held && maker->site.line.function == holder;
    if (!is_held || (is_sure && !is_made_there)) return;
    const OpCall& place = is_made_there ? *maker : reader;
    if (propose_.line_of(place).find("register_buffer") != std::string::npos) return;  // it is one
    Cure cure = propose_.rewrite(place, mix_.other.dtype, "buffer", "");
    cure.text = fmt::format("register {} as a buffer, which the casts of its module cast{}",
                            is_made_there ? "it" : "the " + noun_of(read), at(place.site.line));
    add(std::move(cure));
  }

  // Half and BFloat16 make Float of each other: where one of them is wanted, the other was made so.
  void of_half_beside_bfloat16() {
    const OpCall* joined = source_.maker;
    if (joined == nullptr || mix_.odd.dtype != Dtype::kFloat || mix_.odd.is_parameter()) return;
    for (const Operand& operand : joined->operands) {
      const auto dtype = operand.dtypes.single();
      const bool is_other = dtype && operand.promotes() && kLowPrecision.contains(*dtype) &&
                            *dtype != mix_.other.dtype;
      if (!is_other || !kLowPrecision.contains(mix_.other.dtype)) continue;
      const OpCall* maker = index_.provenance().of(*joined, operand).maker;
      if (maker != nullptr && maker != joined) add(propose_.cast_result(*maker, mix_.other.dtype));
    }
  }

  // Rows of a table that is trained are put back from a copy in Float: the table was lowered, and
  // no option of the command line asks for 16-bit weights.
  void of_trained_written() {
    const Operand& odd = *mix_.odd.operand;
    const bool is_trained = odd.is_written && odd.requires_grad && !mix_.odd.parameter.empty();
    if (!is_trained || !kLowPrecision.contains(mix_.odd.dtype) || mix_.other.dtype != Dtype::kFloat)
      return;
    for (const OpCall& step : index_.run().calls) {
      if (step.process != call_.process || step.site.phase != Phase::kOptimizer) continue;
      for (const Operand& operand : step.operands) {
        if (operand.parameter != mix_.odd.parameter) continue;
        if (half_weights(index_, options_, step, operand).is_asked_for())
          return cast_side(mix_.other, mix_.odd.dtype);
        for (Cure& cure : propose_.masters_of(step, &operand)) add(std::move(cure));
        return;
      }
    }
  }

  void cast_side(const Side& side, Dtype dtype) {
    const Operand& operand = *side.operand;
    if (is_recurrent_state(operand)) return cast_hidden(dtype);
    if (side.is_parameter() && !operand.parameter.empty()) return;
    if (operand.is_written || index_.has(call_, ops::kBackward)) return;
    add(propose_.cast_own_variable(call_, operand, dtype));
    if (mix_.other.is_parameter()) add(propose_.cast_for_model(call_, operand, dtype));
    add(propose_.cast_operand(call_, operand, dtype, side.noun()));
  }

  // Of a run that died over one of a batch nothing tells that the loss refuses the other.
  void cast_drawn() {
    if (mix_.odd.is_parameter() || mix_.odd.dtype != Dtype::kDouble) return;
    add(propose_.cast_drawn(call_, *mix_.odd.operand, mix_.other.dtype));
  }

  // What the next layer reads as well it would refuse as well, where all of the model has one
  // dtype.
  void cast_for_layers() {
    if (mix_.other.parameter.empty() || !is_models_dtype(mix_.other)) return;
    add(propose_.cast_variable(call_, *mix_.odd.operand, mix_.other.dtype));
  }

  // No other parameter of the model has another.
  bool is_models_dtype(const Side& side) const {
    const auto others = index_.parameter_dtypes(call_.process, side.parameter);
    return std::all_of(others.begin(), others.end(), [&](const auto& other) {
      return other.second == 0 || other.first == side.dtype;
    });
  }

  // Query and key, where a table has raised both.
  void cast_all_odd() {
    if (mix_.odd.is_parameter() || index_.has(call_, ops::kBackward)) return;
    std::vector<const Operand*> odd;
    for (const Operand& operand : call_.operands) {
      if (operand.dtypes != DtypeSet(mix_.odd.dtype) || !operand.promotes()) continue;
      if (is_parameter(operand) || operand.is_written) return;
      odd.push_back(&operand);
    }
    if (odd.size() > 1) add(propose_.cast_operands(call_, odd, mix_.other.dtype));
  }

  // What an op that is not in place writes by one inside of it, it has made itself.
  bool is_written(const Side& side) const {
    const OpCall* outer = index_.run().call(call_.parent);
    const bool is_scratch = outer != nullptr && !ops::parse_op_name(outer->op).in_place &&
                            same_tensor(*outer, *side.operand) == nullptr;
    return side.operand->is_written && side.operand->role != Role::kOut && !is_scratch;
  }

  // What is read is cast. A buffer that a line makes without saying in which dtype was not meant to
  // be Float beside a model that is not, or in a program in Double: what reads it next would refuse
  // it.
  void of_written() {
    const OpCall* maker = index_.provenance().of(call_, *mix_.other.operand).maker;
    const bool is_made = maker != nullptr && index_.has(*maker, ops::kFactory) &&
                         maker->result_dtype() == mix_.other.dtype;
    const auto made = is_made && propose_.is_named(*maker)
                          ? propose_.cast_result(*maker, mix_.odd.dtype)
                          : std::nullopt;
    const bool is_meant = kLowPrecision.contains(mix_.odd.dtype) ||
                          (mix_.odd.dtype == Dtype::kDouble &&
                           !index_.has_parameters_in(call_.process, Dtype::kFloat));
    const bool is_by_default = made && mix_.other.dtype == Dtype::kFloat && is_meant &&
                               index_.is_unasked(maker) && maker->operands.empty() &&
                               !was_lowered_by_autocast(mix_.odd) &&
                               call_.autocast.region_for(call_.device_type()) == nullptr;
    if (is_by_default) add(*made);
    cast_all_read();
    cast_side(mix_.odd, mix_.other.dtype);
    if (made) add(*made);
  }

  // "w.addmm_(up, down)": both factors are read.
  void cast_all_read() {
    std::vector<const Operand*> read;
    for (const Operand& operand : call_.operands) {
      const bool is_odd = operand.dtypes == DtypeSet(mix_.odd.dtype) && operand.promotes();
      if (is_odd && !operand.is_written) read.push_back(&operand);
    }
    if (read.size() > 1) add(propose_.cast_operands(call_, read, mix_.other.dtype));
  }

  // An inner op of a recurrent layer gets the two hidden states apart, the layer as a pair.
  void cast_hidden(Dtype dtype) {
    const OpCall* layer = index_.run().call(call_.parent);
    if (layer == nullptr) return;
    for (const Operand& operand : layer->operands) {
      if (list_name(operand.name) == "hx")
        return add(propose_.cast_operand(*layer, operand, dtype, "hidden state"));
    }
  }

  // Where the dtype came in, when that is a line that the user can edit. A mask is cast where it is
  // made; what is computed on the way is computed more exactly before the cast.
  void at_promotion() {
    of_numpy();
    const OpCall& promotion = *source_.promotion;
    const Dtype wanted = mix_.other.dtype;
    const OpCall* before = index_.run().call(source_.promoted_by->origin);
    if (source_.parameter != nullptr) {
      const ProvenanceStep* step = step_of(*source_.parameter);
      const std::string owner = owner_module(source_.parameter->parameter);
      // A line of the module's own reads it: what the module gives comes later.
      const bool is_own = promotion.site.module == owner && is_users_own(promotion.site);
      if (step != nullptr && source_.parameter->requires_grad && is_own) {
        add(propose_.cast_operand(promotion, *source_.promoted_by, wanted,
                                  noun_of(*source_.promoted_by)));
      } else if (step != nullptr && source_.parameter->requires_grad) {
        add(propose_.cast_output(*step->call, owner, wanted));
      } else if (step != nullptr) {
        add(propose_.cast_parameters(*step->call, *step->from, owner, wanted));
      }
    }
    // What is lowered where it is made may be read by a Float layer that the run did not reach.
    const bool may_be_read_in_float =
        kLowPrecision.contains(wanted) && index_.has_parameters_in(call_.process, Dtype::kFloat);
    if (before != nullptr && before == source_.maker && !may_be_read_in_float) at_maker();
    add(cast_raised_again(promotion, wanted));
    // What a library computed of its parameters no input of the module changes.
    if (!mix_.odd.is_computed || is_users_own(promotion.site)) {
      add(propose_.cast_operand(promotion, *source_.promoted_by, wanted,
                                noun_of(*source_.promoted_by)));
    }
    // A line of the user's raised one module of the model.
    const bool is_raised = source_.parameter != nullptr && source_.maker != nullptr &&
                           index_.has(*source_.maker, ops::kCast) &&
                           is_users_own(source_.maker->site);
    if (!is_raised) return;
    add(propose_.cast_result(*source_.maker, wanted));
    // It is meant to be trained there: then the rest of the model has to follow.
    for (const Operand& operand : promotion.operands) {
      const Operand* rest = index_.provenance().of(promotion, operand).parameter;
      if (rest != nullptr && rest->dtypes == DtypeSet(wanted))
        add(propose_.ask_otherwise(promotion, *rest));
    }
  }

  // A weight in the dtype of its model meets what a line before promoted, as one that computes a
  // norm in Float.
  void at_promotion_of_input() {
    if (!mix_.odd.is_parameter() || mix_.odd.is_computed || mix_.odd.parameter.empty() ||
        mix_.other.is_parameter())
      return;
    std::vector<OpCallId> reached = {mix_.other.operand->origin};
    for (size_t next = 0; next < reached.size() && next < kMaxFollowed; ++next) {
      const OpCall* made = index_.run().call(reached[next]);
      if (made == nullptr || made->result_dtype() != mix_.other.dtype) continue;
      const bool joins = index_.promotes(*made) && is_users_own(made->site) &&
                         std::any_of(made->operands.begin(), made->operands.end(), [&](auto& its) {
                           return its.dtypes == DtypeSet(mix_.odd.dtype) && its.promotes();
                         });
      for (const Operand& operand : made->operands) {
        if (operand.dtypes != DtypeSet(mix_.other.dtype) || is_parameter(operand)) continue;
        if (joins)
          return add(propose_.cast_operand(*made, operand, mix_.odd.dtype, noun_of(operand)));
        reached.push_back(operand.origin);
      }
    }
  }

  // More than one tensor of the line raises what it computes: "low + (high - low) * x". That is
  // cast when it is computed.
  std::optional<Cure> cast_raised_again(const OpCall& promotion, Dtype wanted) const {
    const OpCall* last = &promotion;
    bool is_again = false;
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (const OpCallId id : index_.consumers(*last)) {
        const OpCall& next = index_.run().calls[id - 1];
        if (next.id <= last->id || !(next.site.line == promotion.site.line) ||
            next.result_dtype() != mix_.odd.dtype)
          continue;
        is_again |=
            std::any_of(next.operands.begin(), next.operands.end(), [&](const Operand& operand) {
              return operand.origin != last->id && operand.dtypes == DtypeSet(mix_.odd.dtype) &&
                     operand.promotes() && !operand.is_wrapped_number;
            });
        last = &next;
        goes_on = true;
        break;
      }
    }
    return is_again ? propose_.cast_result(*last, wanted) : std::nullopt;
  }

  // What one module computed and another, which its forward() calls, reads beside weights: the one
  // knows its input's dtype, and the other is called elsewhere as well.
  void at_caller() {
    const OpCall* made = index_.run().call(mix_.odd.operand->origin);
    const bool is_callers = made != nullptr && made != source_.maker && !mix_.odd.is_parameter() &&
                            is_in_forward(made->site.line) && is_in_forward(call_.site.line) &&
                            made->site.line.function != call_.site.line.function;
    if (is_callers && mix_.other.is_parameter() && !index_.has(*made, ops::kCast))
      add(propose_.cast_result(*made, mix_.other.dtype));
  }

  // What is computed in Float on purpose, and meets the model's dtype at a line further on.
  void at_last_promotion() {
    const auto last =
        std::find_if(source_.steps.begin(), source_.steps.end(), [&](const ProvenanceStep& step) {
          return step.call != nullptr && step.from != nullptr && index_.promotes(*step.call) &&
                 std::any_of(step.call->operands.begin(), step.call->operands.end(),
                             [&](const Operand& met) {
                               return met.dtypes == DtypeSet(mix_.other.dtype) && met.promotes();
                             });
        });
    const bool is_further = last != source_.steps.end() && last->call != source_.promotion &&
                            is_users_own(last->call->site) && !is_parameter(*last->from);
    if (is_further)
      add(propose_.cast_operand(*last->call, *last->from, mix_.other.dtype, noun_of(*last->from)));
  }

  const ProvenanceStep* step_of(const Operand& from) const {
    const auto step = std::find_if(source_.steps.begin(), source_.steps.end(),
                                   [&](const ProvenanceStep& s) { return s.from == &from; });
    return step == source_.steps.end() ? nullptr : &*step;
  }

  // Also where a DataLoader's worker makes the batch.
  void at_maker() {
    const bool is_tensor_made = source_.maker != nullptr && source_.parameter == nullptr &&
                                (!mix_.odd.is_parameter() || mix_.odd.is_computed) && !is_learned();
    if (is_tensor_made) add(propose_.cast_result(*source_.maker, mix_.other.dtype));
  }

  // A parameter that no module holds, a prompt that is learned say, stays in the dtype that it was
  // made in: what reads it is cast.
  bool is_learned() const {
    const Operand& from = source_.promoted_by != nullptr ? *source_.promoted_by : *mix_.odd.operand;
    return from.requires_grad && index_.run().call(from.origin) == source_.maker &&
           index_.has(*source_.maker, ops::kFactory);
  }

  // "torch.lerp(p.grad, m, b)", and "m.lerp_(p.grad, b)" below: no line of the user's makes the odd
  // one, but one makes what it meets.
  void at_maker_of_other() {
    const OpCall* maker = index_.provenance().of(call_, *mix_.other.operand).maker;
    if (maker == nullptr) return;
    const bool is_here =
        maker->site.line.file == call_.site.line.file && !mix_.other.is_parameter();
    // A tensor in a weight's place that no module holds, and that had the dtype before.
    const bool was_like_it = mix_.other.parameter.empty() && index_.has(*maker, ops::kCast) &&
                             !maker->operands.empty() &&
                             maker->operands.front().dtypes == DtypeSet(mix_.odd.dtype);
    if (is_here || was_like_it) add(propose_.cast_result(*maker, mix_.odd.dtype));
  }

  void cast_parameter(const Side& side, Dtype dtype) {
    add(propose_.cast_parameters(call_, *side.operand, owner_module(side.parameter), dtype));
  }

  // All of the model where all of it has the dtype, as one that was loaded so: to cast one of its
  // layers moves the mix to the next.
  void cast_model(const Side& side, Dtype dtype) {
    const std::string root = root_module(side.parameter);
    if (root.empty() || root == owner_module(side.parameter)) return;
    if (is_models_dtype(side)) add(propose_.cast_parameters(call_, *side.operand, root, dtype));
  }

  // Trained parameters stay in Float, or become it.
  void of_odd_parameter() {
    const bool is_trained = mix_.odd.operand->requires_grad && mix_.odd.operand->is_leaf;
    if (is_trained && kLowPrecision.contains(mix_.other.dtype))
      cast_side(mix_.other, mix_.odd.dtype);
    const bool is_table =
        mix_.odd.parameter.empty() && !is_trained && mix_.odd.dtype == Dtype::kDouble;
    // A buffer in Double may be made of several tensors: it is cast where the line reads it.
    if (!is_trained && mix_.odd.dtype == Dtype::kDouble) {
      const auto cure =
          propose_.cast_operand(call_, *mix_.odd.operand, mix_.other.dtype, mix_.odd.noun());
      if (cure && cure->kind == CureKind::kCastOperand) add(*cure);
      if (source_.maker != nullptr && source_.parameter == nullptr)
        add(propose_.cast_result(*source_.maker, mix_.other.dtype));
    }
    if (!is_table) return cast_parameter(mix_.odd, mix_.other.dtype);
    // The class weights of a loss are a buffer of its module.
    if (!call_.site.module.empty() && !is_in_forward(call_.site.line))
      add(propose_.cast_parameters(call_, *mix_.odd.operand, call_.site.module, mix_.other.dtype));
  }

  bool is_low_in_float_layer() const {
    return kLowPrecision.contains(mix_.odd.dtype) && mix_.other.dtype == Dtype::kFloat &&
           mix_.other.is_parameter();
  }

  // Half or BFloat16 flows into Float weights: trained ones stay Float, a frozen model can be
  // lowered once.
  void of_low_input() {
    if (is_recurrent_state(*mix_.odd.operand)) return cast_hidden(mix_.other.dtype);
    if (mix_.other.parameter.empty()) {
      // A weight that was computed, from integers say: what the model's own dtype comes from lies
      // on both sides of it.
      if (source_.parameter != nullptr)
        add(propose_.cast_and_back(call_, *mix_.odd.operand, mix_.other.dtype));
      return;
    }
    if (is_trained(mix_.other)) {
      cast_side(mix_.odd, mix_.other.dtype);
      open_autocast();
    } else {
      add(propose_.cast_parameters(call_, *mix_.other.operand, root_module(mix_.other.parameter),
                                   mix_.odd.dtype));
    }
  }

  static bool is_recurrent_state(const Operand& operand) {
    return operand.name == "hx_" || operand.name == "cx_";
  }
  static bool is_trained(const Side& side) { return side.operand->requires_grad; }

  void open_autocast() {
    for (const Side* side : {&mix_.odd, &mix_.other}) {
      if (!kLowPrecision.contains(side->dtype)) continue;
      if (was_lowered_by_autocast(*side)) add(propose_.move_autocast(call_));
      return add(propose_.open_autocast(call_, side->dtype));
    }
  }

  // It came out of a region, which then ended too early.
  bool was_lowered_by_autocast(const Side& side) const {
    const Provenance provenance = index_.provenance().of(call_, *side.operand);
    return std::any_of(provenance.steps.begin(), provenance.steps.end(),
                       [&](const ProvenanceStep& step) {
                         return step.call->autocast.is_inner ||
                                step.call->autocast.region_for(call_.device_type()) != nullptr;
                       });
  }

  const RunIndex& index_;
  const JudgeOptions& options_;
  const CureProposer propose_;
  const OpCall& call_;
  const Mix& mix_;
  const Provenance& source_;
  std::vector<Cure> cures_;
};

}  // namespace

std::vector<Cure> mix_cures(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                            const Mix& mix, const Provenance& source) {
  return MixCures(index, options, call, mix, source).take();
}

std::vector<Cure> promotion_cures(const RunIndex& index, const JudgeOptions& options,
                                  const OpCall& call, const Operand& wide, Dtype low) {
  Provenance source = index.provenance().of(call, wide);
  source.promotion = &call;
  source.promoted_by = &wide;
  const Mix mix{{&wide, wide.role, "", *wide.dtypes.single()}, {nullptr, Role::kInput, "", low}};
  return MixCures(index, options, call, mix, source).take_promotion();
}

std::vector<Cure> loss_cures(const RunIndex& index, const JudgeOptions& options,
                             const OpCall& loss) {
  return MixCures(index, options, loss, {}, {}).take_loss();
}

}  // namespace dtypecheck::rules
