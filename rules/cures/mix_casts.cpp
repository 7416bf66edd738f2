// mix_casts.cpp: casts of what the call of a mix reads, at its line or before it.
#include <algorithm>

#include "rules/cures/mix_case.h"
#include "rules/engine/formatting.h"

namespace dtypecheck::rules {

void cast_side(MixCase& m, const Side& side, Dtype dtype) {
  const Operand& operand = *side.operand;
  if (is_recurrent_state(operand)) return cast_hidden(m, dtype);
  if (side.is_parameter() && !operand.parameter.empty()) return;
  if (operand.is_written || m.index.has(m.call, ops::kBackward)) return;
  m.add(m.propose.cast_own_variable(m.call, operand, dtype));
  if (m.other.is_parameter()) m.add(m.propose.cast_for_model(m.call, operand, dtype));
  m.add(m.propose.cast_operand(m.call, operand, dtype, side.noun()));
}

void cast_hidden(MixCase& m, Dtype dtype) {
  const OpCall* layer = m.index.run().call(m.call.parent);
  if (layer == nullptr) return;
  for (const Operand& operand : layer->operands) {
    if (list_name(operand.name) == "hx")
      return m.add(m.propose.cast_operand(*layer, operand, dtype, "hidden state"));
  }
}

bool is_recurrent_state(const Operand& operand) {
  return operand.name == "hx_" || operand.name == "cx_";
}

// Of a run that died over one of a batch nothing tells that the loss refuses the other.
void cast_what_is_drawn(MixCase& m) {
  if (m.odd.is_parameter() || m.odd.dtype != Dtype::kDouble) return;
  m.add(m.propose.cast_drawn(m.call, *m.odd.operand, m.other.dtype));
}

// What the next layer reads as well it would refuse as well, where all of the model has one
// dtype.
void cast_for_layers(MixCase& m) {
  if (m.other.parameter.empty() || !is_models_dtype(m, m.other)) return;
  m.add(m.propose.cast_variable(m.call, *m.odd.operand, m.other.dtype));
}

// Query and key, where a table has raised both.
void cast_all_odd(MixCase& m) {
  if (m.odd.is_parameter() || m.index.has(m.call, ops::kBackward)) return;
  std::vector<const Operand*> odd;
  for (const Operand& operand : m.call.operands) {
    if (operand.dtypes != DtypeSet(m.odd.dtype) || !operand.promotes()) continue;
    if (is_parameter(operand) || operand.is_written) return;
    odd.push_back(&operand);
  }
  if (odd.size() > 1) m.add(m.propose.cast_operands(m.call, odd, m.other.dtype));
}

// What an op that is not in place writes by one inside of it, it has made itself.
bool is_written(const MixCase& m, const Side& side) {
  const OpCall* outer = m.index.run().call(m.call.parent);
  const bool is_scratch = outer != nullptr && !ops::parse_op_name(outer->op).in_place &&
                          same_tensor(*outer, *side.operand) == nullptr;
  return side.operand->is_written && side.operand->role != Role::kOut && !is_scratch;
}

// "w.addmm_(up, down)": both factors are read.
static void cast_all_read(MixCase& m) {
  std::vector<const Operand*> read;
  for (const Operand& operand : m.call.operands) {
    const bool is_odd = operand.dtypes == DtypeSet(m.odd.dtype) && operand.promotes();
    if (is_odd && !operand.is_written) read.push_back(&operand);
  }
  if (read.size() > 1) m.add(m.propose.cast_operands(m.call, read, m.other.dtype));
}

// What is read is cast. A buffer that a line makes without saying in which dtype was not meant to
// be Float beside a model that is not, or in a program in Double: what reads it next would refuse
// it.
void cast_for_written(MixCase& m) {
  const OpCall* maker = m.index.provenance().trace_back(m.call, *m.other.operand).maker;
  const bool is_made = maker != nullptr && m.index.has(*maker, ops::kFactory) &&
                       maker->result_dtype() == m.other.dtype;
  const auto made = is_made && m.propose.is_named(*maker)
                        ? m.propose.cast_result(*maker, m.odd.dtype)
                        : std::nullopt;
  const bool is_meant =
      kLowPrecision.contains(m.odd.dtype) ||
      (m.odd.dtype == Dtype::kDouble && !m.index.has_parameters_in(m.call.process, Dtype::kFloat));
  const bool is_by_default = made && m.other.dtype == Dtype::kFloat && is_meant &&
                             m.index.is_unasked(maker) && maker->operands.empty() &&
                             !was_lowered_by_autocast(m, m.odd) &&
                             m.call.autocast.region_for(m.call.device_type()) == nullptr;
  if (is_by_default) m.add(*made);
  // A cache in the default's dtype, and keys that autocast computed.
  const bool is_cache = m.other.dtype == Dtype::kFloat && kLowPrecision.contains(m.odd.dtype) &&
                        was_lowered_by_autocast(m, m.odd) && is_users_own(m.call.site) &&
                        !m.call.site.module.empty() && !CureProposer::is_learned(*m.other.operand);
  if (is_cache)
    m.add(m.propose.rewrite(m.call, m.odd.dtype, "kept",
                            "cast what the module keeps to the dtype of what is written to it"));
  cast_all_read(m);
  cast_side(m, m.odd, m.other.dtype);
  if (made) m.add(*made);
}

// What one module computed and another, which its forward() calls, reads beside weights: the one
// knows its input's dtype, and the other is called elsewhere as well.
void cast_at_caller(MixCase& m) {
  const OpCall* made = m.index.run().call(m.odd.operand->origin);
  const bool is_callers = made != nullptr && made != m.source.maker && !m.odd.is_parameter() &&
                          is_in_forward(made->site.line) && is_in_forward(m.call.site.line) &&
                          made->site.line.function != m.call.site.line.function;
  if (!is_callers || !m.other.is_parameter() || m.index.has(*made, ops::kCast)) return;
  m.add(m.propose.cast_for_model(m.call, *m.odd.operand, m.other.dtype));
  m.add(m.propose.cast_result(*made, m.other.dtype));
}

}  // namespace dtypecheck::rules
