// mix_weights.cpp: changes of a module whose weights or buffers are a side of a mix.
#include <fmt/format.h>

#include <algorithm>

#include "rules/cures/mix_case.h"
#include "rules/engine/formatting.h"
#include "rules/engine/half_weights.h"

namespace dtypecheck::rules {

// No other parameter of the model has another.
bool is_models_dtype(const MixCase& m, const Side& side) {
  const auto others = m.index.parameter_dtypes(m.call.process, side.parameter);
  return std::all_of(others.begin(), others.end(), [&](const auto& other) {
    return other.second == 0 || other.first == side.dtype;
  });
}

void cast_parameter(MixCase& m, const Side& side, Dtype dtype) {
  m.add(m.propose.cast_parameters(m.call, *side.operand, owner_module(side.parameter), dtype));
}

// All of the model where all of it has the dtype, as one that was loaded so: to cast one of its
// layers moves the mix to the next.
void cast_model(MixCase& m, const Side& side, Dtype dtype) {
  const std::string root = root_module(side.parameter);
  if (root.empty() || root == owner_module(side.parameter)) return;
  if (is_models_dtype(m, side))
    m.add(m.propose.cast_parameters(m.call, *side.operand, root, dtype));
}

// The input comes of a parameter that is alone in its dtype, as of a table that a checkpoint has in
// 16 bits.
void cast_lone_parameter(MixCase& m) {
  if (!m.other.is_parameter() ||
      !comes_of_lone_parameter(m.index, m.call, m.odd, m.other, m.source))
    return;
  const Operand& lone = *m.source.parameter;
  const OpCall* maker = m.index.maker_behind(lone, ops::kPassesOn);
  if (maker == nullptr || !m.index.has(*maker, ops::kUninitialized)) return;  // a line says it
  m.add(m.propose.cast_parameters(m.call, lone, owner_module(lone.parameter), m.other.dtype));
}

// Raised in an earlier call and not lowered again, or replaced by a state in another dtype.
void cast_changed_parameter(MixCase& m) {
  if (!m.odd.is_parameter() || m.source.maker == nullptr) return;
  const SourceLine& line = m.source.maker->site.line;
  if (raised_since(m.index, m.call, m.odd)) {
    Cure cure = m.propose.rewrite(*m.source.maker, m.other.dtype, "lowered again", "");
    cure.text = "cast the module back to its dtype after its use" + at(line);
    m.add(std::move(cure));
  } else if (replaced_since(m.index, m.call, m.odd)) {
    m.add(m.propose.cast_result(*m.source.maker, m.other.dtype));
  }
}

// A tensor that a module made before and holds as no buffer: its casts pass by that. It is sure
// that the module holds it where it was made in its __init__.
void register_buffer(MixCase& m, const OpCall& reader, const Operand& read, bool is_sure) {
  const OpCall* maker = m.source.maker;
  const std::string& reads = reader.site.line.function;
  const bool is_held = maker != nullptr && maker->site.phase == Phase::kLoad &&
                       !is_parameter(read) && reads.ends_with(".forward") &&
                       is_users_own(reader.site);
  const std::string holder = reads.substr(0, reads.rfind('.')) + ".__init__";
  const bool is_made_there = is_held && maker->site.line.function == holder;
  if (!is_held || (is_sure && !is_made_there)) return;
  const OpCall& place = is_made_there ? *maker : reader;
  if (m.propose.line_of(place).find("register_buffer") != std::string::npos) return;  // it is one
  Cure cure = m.propose.rewrite(place, m.other.dtype, "buffer", "");
  cure.text = fmt::format("register {} as a buffer, which the casts of its module cast{}",
                          is_made_there ? "it" : "the " + noun_of(read), at(place.site.line));
  m.add(std::move(cure));
}

// Rows of a table that is trained are put back from a copy in Float: the table was lowered, and
// no option of the command line asks for 16-bit weights.
void raise_written_table(MixCase& m) {
  const Operand& odd = *m.odd.operand;
  const bool is_trained = odd.is_written && odd.requires_grad && !m.odd.parameter.empty();
  if (!is_trained || !kLowPrecision.contains(m.odd.dtype) || m.other.dtype != Dtype::kFloat) return;
  for (const OpCall& step : m.index.run().calls) {
    if (step.process != m.call.process || step.site.phase != Phase::kOptimizer) continue;
    for (const Operand& operand : step.operands) {
      if (operand.parameter != m.odd.parameter) continue;
      if (half_weights(m.index, m.options, step, operand).is_asked_for())
        return cast_side(m, m.other, m.odd.dtype);
      for (Cure& cure : m.propose.masters_of(step, &operand)) m.add(std::move(cure));
      return;
    }
  }
}

// Trained parameters stay in Float, or become it.
void cast_odd_parameter(MixCase& m) {
  const bool is_trained = m.odd.operand->requires_grad && m.odd.operand->is_leaf;
  if (is_trained && kLowPrecision.contains(m.other.dtype)) cast_side(m, m.other, m.odd.dtype);
  const bool is_table = m.odd.parameter.empty() && !is_trained && m.odd.dtype == Dtype::kDouble;
  // A buffer in Double may be made of several tensors: it is cast where the line reads it.
  if (!is_trained && m.odd.dtype == Dtype::kDouble) {
    const auto cure = m.propose.cast_operand(m.call, *m.odd.operand, m.other.dtype, m.odd.noun());
    if (cure && cure->kind == CureKind::kCastOperand) m.add(*cure);
    if (m.source.maker != nullptr && m.source.parameter == nullptr)
      m.add(m.propose.cast_result(*m.source.maker, m.other.dtype));
  }
  if (!is_table) return cast_parameter(m, m.odd, m.other.dtype);
  // The class weights of a loss are a buffer of its module.
  if (!m.call.site.module.empty() && !is_in_forward(m.call.site.line))
    m.add(m.propose.cast_parameters(m.call, *m.odd.operand, m.call.site.module, m.other.dtype));
}

// layer_norm(x.float(), weight, bias): the line computes in Float, whatever the weights are in.
void cast_weights_beside_cast(MixCase& m) {
  const Side& weight = m.odd.is_parameter() ? m.odd : m.other;
  const Side& input = m.odd.is_parameter() ? m.other : m.odd;
  const bool is_lower = weight.is_parameter() && kLowPrecision.contains(weight.dtype) &&
                        !input.is_parameter() && input.dtype == Dtype::kFloat;
  if (!is_lower || !m.index.has(m.call, ops::kNorm)) return;
  const OpCall* cast = m.index.run().call(input.operand->origin);
  if (cast == nullptr || !m.index.has(*cast, ops::kCast) || !(cast->site.line == m.call.site.line))
    return;
  std::vector<const Operand*> weights;
  for (const Operand& operand : m.call.operands)
    if (is_parameter(operand) && operand.dtypes == DtypeSet(weight.dtype))
      weights.push_back(&operand);
  m.add(weights.size() > 1
            ? m.propose.cast_operands(m.call, weights, input.dtype)
            : m.propose.cast_operand(m.call, *weight.operand, input.dtype, weight.noun()));
}

// Half or BFloat16 flows into Float weights: trained ones stay Float, a frozen model can be
// lowered once.
void serve_low_input(MixCase& m) {
  if (is_recurrent_state(*m.odd.operand)) return cast_hidden(m, m.other.dtype);
  if (m.other.parameter.empty()) {
    // A weight that was computed, from integers say: what the model's own dtype comes from lies
    // on both sides of it.
    if (m.source.parameter != nullptr)
      m.add(m.propose.cast_and_back(m.call, *m.odd.operand, m.other.dtype));
    return;
  }
  if (m.other.operand->requires_grad) {
    cast_side(m, m.odd, m.other.dtype);
    open_autocast(m);
  } else {
    m.add(m.propose.cast_parameters(m.call, *m.other.operand, root_module(m.other.parameter),
                                    m.odd.dtype));
  }
}

}  // namespace dtypecheck::rules
