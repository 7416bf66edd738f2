// mix_origins.cpp: casts where a dtype of a mix came in: at a promotion, or where a tensor was
// made.
#include <algorithm>

#include "core/follow_links.h"
#include "rules/cures/mix_case.h"
#include "rules/engine/formatting.h"

namespace dtypecheck::rules {

// A parameter that no module holds, a prompt that is learned say, stays in the dtype that it was
// made in: what reads it is cast.
static bool is_learned_tensor(const MixCase& m) {
  const Operand& from = m.source.promoted_by != nullptr ? *m.source.promoted_by : *m.odd.operand;
  return from.requires_grad && m.index.run().call(from.origin) == m.source.maker &&
         m.index.has(*m.source.maker, ops::kFactory);
}

// A layer on the way has weights in the odd dtype, and would refuse another.
static bool is_of_a_layer(const MixCase& m) {
  return std::any_of(m.source.steps.begin(), m.source.steps.end(), [&](const ProvenanceStep& step) {
    return step.call != nullptr && step.call != &m.call &&
           std::any_of(step.call->operands.begin(), step.call->operands.end(),
                       [&](const Operand& operand) {
                         return is_parameter(operand) && operand.dtypes == DtypeSet(m.odd.dtype);
                       });
  });
}

// Also where a DataLoader's worker makes the batch.
void cast_at_maker(MixCase& m) {
  if (is_of_a_layer(m)) return;
  const bool is_tensor_made = m.source.maker != nullptr && m.source.parameter == nullptr &&
                              (!m.odd.is_parameter() || m.odd.is_computed) && !is_learned_tensor(m);
  if (is_tensor_made) m.add(m.propose.cast_result(*m.source.maker, m.other.dtype));
}

// "torch.lerp(p.grad, m, b)", and "m.lerp_(p.grad, b)" below: no line of the user's makes the odd
// one, but one makes what it meets.
void cast_other_at_maker(MixCase& m) {
  const OpCall* maker = m.index.provenance().trace_back(m.call, *m.other.operand).maker;
  if (maker == nullptr) return;
  const bool is_here = maker->site.line.file == m.call.site.line.file && !m.other.is_parameter();
  // A tensor in a weight's place that no module holds, and that had the dtype before.
  const bool was_like_it = m.other.parameter.empty() && m.index.has(*maker, ops::kCast) &&
                           !maker->operands.empty() &&
                           maker->operands.front().dtypes == DtypeSet(m.odd.dtype);
  if (is_here || was_like_it) m.add(m.propose.cast_result(*maker, m.odd.dtype));
}

// Of a network no layer of which multiplies by a parameter, a Gaussian process or a simulation, the
// numbers that a line asks for in Double are meant so: what was made in the default's dtype is not.
void raise_defaults(MixCase& m) {
  const Side* wide = m.odd.dtype == Dtype::kDouble     ? &m.odd
                     : m.other.dtype == Dtype::kDouble ? &m.other
                                                       : nullptr;
  if (wide == nullptr || wide->operand == nullptr) return;
  const Provenance asked = m.index.provenance().trace_back(m.call, *wide->operand);
  const OpCall* maker = asked.maker;
  const bool is_asked = maker != nullptr && asked.parameter == nullptr &&
                        is_users_own(maker->site) && !maker->autocast.is_inner &&
                        (m.index.has(*maker, ops::kCast) ||
                         (m.index.has(*maker, ops::kFactory) && maker->scalar("dtype") != nullptr));
  const bool meets_learned =
      std::any_of(m.call.operands.begin(), m.call.operands.end(), [&](const Operand& operand) {
        return operand.dtypes == DtypeSet(Dtype::kFloat) &&
               (is_parameter(operand) ||
                m.index.provenance().trace_back(m.call, operand).parameter != nullptr);
      });
  if (!is_asked || !meets_learned || m.index.has_parameters_in(m.call.process, Dtype::kDouble))
    return;
  const auto& calls = m.index.run().calls;
  const bool has_layers = std::any_of(calls.begin(), calls.end(), [&](const OpCall& layer) {
    return layer.process == m.call.process && m.index.has(layer, ops::kMultiplies) &&
           std::any_of(layer.operands.begin(), layer.operands.end(),
                       [](const Operand& operand) { return is_parameter(operand); });
  });
  if (!has_layers)
    m.add(
        m.propose.rewrite(*maker, Dtype::kDouble, "default dtype",
                          "make the parameters in Double as well, with torch.set_default_dtype()"));
}

// What a line makes in the default's dtype, for it says none, beside a model in Double.
void make_in_double(MixCase& m) {
  const OpCall* maker = m.source.maker;
  const bool is_default = m.odd.dtype == Dtype::kFloat && m.other.dtype == Dtype::kDouble &&
                          m.index.is_unasked(maker) && maker->operands.empty();
  if (is_default && m.index.has_parameters_in(m.call.process, Dtype::kDouble) &&
      !m.index.has_parameters_in(m.call.process, Dtype::kFloat))
    m.add(m.propose.cast_result(*maker, Dtype::kDouble));
}

// Lines of the program's own cast what was made to the low dtype, as a schedule that is computed in
// Double on purpose.
static bool is_lowered_elsewhere(const RunIndex& index, const OpCall& maker, Dtype low) {
  const auto& calls = index.run().calls;
  return std::any_of(calls.begin(), calls.end(), [&](const OpCall& cast) {
    return cast.process == maker.process && index.has(cast, ops::kCast) &&
           cast.result_dtype() == low && is_users_own(cast.site) && cast.operands.size() == 1 &&
           index.provenance().trace_back(cast, cast.operands.front()).maker == &maker;
  });
}

// A helper that makes tensors of arrays in whatever dtype these have: a dtype written there would
// be that of all it makes, of integers as well.
static bool follows_its_data(const RunIndex& index, const OpCall& maker) {
  return ops::is_python(maker.op) && makes_several(index.run(), maker);
}

bool is_meant_wide(const MixCase& m) {
  const OpCall* maker = m.source.maker;
  return maker != nullptr && m.odd.dtype == Dtype::kDouble &&
         (is_lowered_elsewhere(m.index, *maker, m.other.dtype) ||
          follows_its_data(m.index, *maker));
}

// Data that are in Double because NumPy makes them so, where no model is.
void cast_array_in_double(MixCase& m) {
  const OpCall* maker = m.source.maker;
  if (maker == nullptr || m.source.parameter != nullptr || m.odd.is_parameter()) return;
  const bool is_array =
      maker->short_op() == "lift_fresh" || (ops::is_python(maker->op) && !maker->scalars.empty() &&
                                            maker->scalars.front().name == "ndarray");
  const bool is_odd = m.odd.dtype == Dtype::kDouble && m.other.dtype == Dtype::kFloat &&
                      !m.index.has_parameters_in(m.call.process, Dtype::kDouble);
  if (is_array && is_odd && maker->result_dtype() == Dtype::kDouble)
    m.add(m.propose.cast_result(*maker, m.other.dtype));
}

// Half and BFloat16 make Float of each other: where one of them is wanted, the other was made so.
void cast_other_sixteen_bits(MixCase& m) {
  const OpCall* joined = m.source.maker;
  if (joined == nullptr || m.odd.dtype != Dtype::kFloat || m.odd.is_parameter()) return;
  for (const Operand& operand : joined->operands) {
    const auto dtype = operand.dtypes.single();
    const bool is_other =
        dtype && operand.promotes() && kLowPrecision.contains(*dtype) && *dtype != m.other.dtype;
    if (!is_other || !kLowPrecision.contains(m.other.dtype)) continue;
    const OpCall* maker = m.index.provenance().trace_back(*joined, operand).maker;
    if (maker != nullptr && maker != joined) m.add(m.propose.cast_result(*maker, m.other.dtype));
  }
}

// Of data in Double, as NumPy makes it, a model was given one parameter beside others in Float.
void cast_data_in_double(MixCase& m) {
  const bool is_one = m.source.parameter != nullptr && m.source.maker != nullptr &&
                      m.odd.dtype == Dtype::kDouble && m.other.dtype == Dtype::kFloat;
  if (is_one && m.source.maker->result_dtype() == Dtype::kDouble &&
      is_users_own(m.source.maker->site))
    m.add(m.propose.cast_result(*m.source.maker, m.other.dtype));
}

static const ProvenanceStep* step_of(const MixCase& m, const Operand& from) {
  const auto step = std::find_if(m.source.steps.begin(), m.source.steps.end(),
                                 [&](const ProvenanceStep& s) { return s.from == &from; });
  return step == m.source.steps.end() ? nullptr : &*step;
}

// More than one tensor of the line raises what it computes: "low + (high - low) * x". That is
// cast when it is computed.
static std::optional<Cure> cast_raised_again(const MixCase& m, const OpCall& promotion,
                                             Dtype wanted) {
  const OpCall* last = &promotion;
  bool is_again = false;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const OpCallId id : m.index.consumers(*last)) {
      const OpCall& next = m.index.run().calls[id - 1];
      if (next.id <= last->id || !(next.site.line == promotion.site.line) ||
          next.result_dtype() != m.odd.dtype)
        continue;
      is_again |=
          std::any_of(next.operands.begin(), next.operands.end(), [&](const Operand& operand) {
            return operand.origin != last->id && operand.dtypes == DtypeSet(m.odd.dtype) &&
                   operand.promotes() && !operand.is_wrapped_number;
          });
      last = &next;
      goes_on = true;
      break;
    }
  }
  return is_again ? m.propose.cast_result(*last, wanted) : std::nullopt;
}

// Where the dtype came in, when that is a line that the user can edit. A mask is cast where it is
// made; what is computed on the way is computed more exactly before the cast.
void cast_at_promotion(MixCase& m) {
  cast_array_in_double(m);
  const OpCall& promotion = *m.source.promotion;
  const Dtype wanted = m.other.dtype;
  const OpCall* before = m.index.run().call(m.source.promoted_by->origin);
  if (m.source.parameter != nullptr) {
    const ProvenanceStep* step = step_of(m, *m.source.parameter);
    const std::string owner = owner_module(m.source.parameter->parameter);
    // A line of the module's own reads it: what the module gives comes later.
    const bool is_own = promotion.site.module == owner && is_users_own(promotion.site);
    if (step != nullptr && m.source.parameter->requires_grad && is_own) {
      m.add(m.propose.cast_operand(promotion, *m.source.promoted_by, wanted,
                                   noun_of(*m.source.promoted_by)));
    } else if (step != nullptr && m.source.parameter->requires_grad) {
      m.add(m.propose.cast_output(*step->call, owner, wanted));
    } else if (step != nullptr) {
      m.add(m.propose.cast_parameters(*step->call, *step->from, owner, wanted));
    }
  }
  // What is lowered where it is made may be read by a Float layer that the run did not reach.
  const bool may_be_read_in_float =
      kLowPrecision.contains(wanted) && m.index.has_parameters_in(m.call.process, Dtype::kFloat);
  if (before != nullptr && before == m.source.maker && !may_be_read_in_float) cast_at_maker(m);
  m.add(cast_raised_again(m, promotion, wanted));
  // What a library computed of its parameters no input of the module changes.
  if (!m.odd.is_computed || is_users_own(promotion.site)) {
    m.add(m.propose.cast_operand(promotion, *m.source.promoted_by, wanted,
                                 noun_of(*m.source.promoted_by)));
  }
  // A line of the user's raised one module of the model.
  const bool is_raised = m.source.parameter != nullptr && m.source.maker != nullptr &&
                         m.index.has(*m.source.maker, ops::kCast) &&
                         is_users_own(m.source.maker->site);
  if (!is_raised) return;
  m.add(m.propose.cast_result(*m.source.maker, wanted));
  // It is meant to be trained there: then the rest of the model has to follow.
  for (const Operand& operand : promotion.operands) {
    const Operand* rest = m.index.provenance().trace_back(promotion, operand).parameter;
    if (rest != nullptr && rest->dtypes == DtypeSet(wanted))
      m.add(m.propose.ask_otherwise(promotion, *rest));
  }
}

// A weight in the dtype of its model meets what a line before promoted, as one that computes a
// norm in Float.
void cast_promoted_input(MixCase& m) {
  if (!m.odd.is_parameter() || m.odd.is_computed || m.odd.parameter.empty() ||
      m.other.is_parameter())
    return;
  const OpCall* first = m.index.run().call(m.other.operand->origin);
  if (first == nullptr) return;
  const auto leads = [&](const OpCall& made, const Operand& operand) {
    return made.result_dtype() == m.other.dtype && operand.dtypes == DtypeSet(m.other.dtype) &&
           !is_parameter(operand);
  };
  for (const OpCall* made : m.index.with_makers(*first, leads)) {
    const bool joins = m.index.promotes(*made) && is_users_own(made->site) &&
                       std::any_of(made->operands.begin(), made->operands.end(), [&](auto& its) {
                         return its.dtypes == DtypeSet(m.odd.dtype) && its.promotes();
                       });
    for (const Operand& operand : made->operands) {
      if (joins && leads(*made, operand))
        return m.add(m.propose.cast_operand(*made, operand, m.odd.dtype, noun_of(operand)));
    }
  }
}

// What is computed in Float on purpose, and meets the model's dtype at a line further on.
void cast_at_last_promotion(MixCase& m) {
  const auto last =
      std::find_if(m.source.steps.begin(), m.source.steps.end(), [&](const ProvenanceStep& step) {
        return step.call != nullptr && step.from != nullptr && m.index.promotes(*step.call) &&
               std::any_of(step.call->operands.begin(), step.call->operands.end(),
                           [&](const Operand& met) {
                             return met.dtypes == DtypeSet(m.other.dtype) && met.promotes();
                           });
      });
  const bool is_further = last != m.source.steps.end() && last->call != m.source.promotion &&
                          is_users_own(last->call->site) && !is_parameter(*last->from);
  if (is_further)
    m.add(m.propose.cast_operand(*last->call, *last->from, m.other.dtype, noun_of(*last->from)));
}

}  // namespace dtypecheck::rules
