// mix_cures.cpp: which changes may bring two sides together, in which order. All that a person
// would think of is proposed; what becomes of each in the rest of the run is not asked here.
#include "rules/cures/mix_cures.h"

#include <algorithm>

#include "core/follow_links.h"
#include "rules/cures/mix_case.h"
#include "rules/engine/coarse.h"
#include "rules/engine/formatting.h"

namespace dtypecheck::rules {

void MixCase::add(std::optional<Cure> cure) {
  if (!cure || kFloat8.contains(cure->dtype)) return;
  for (const Side* side : {&odd, &other})
    if (side->operand != nullptr && side->dtype == cure->dtype &&
        is_too_coarse(index, call, *side->operand))
      return;
  const bool is_new = std::none_of(cures.begin(), cures.end(),
                                   [&](const Cure& its) { return its.text == cure->text; });
  if (is_new) cures.push_back(*std::move(cure));
}

bool was_lowered_by_autocast(const MixCase& m, const Side& side) {
  const Provenance provenance = m.index.provenance().trace_back(m.call, *side.operand);
  return std::any_of(provenance.steps.begin(), provenance.steps.end(),
                     [&](const ProvenanceStep& step) {
                       return step.call->autocast.is_inner ||
                              step.call->autocast.region_for(m.call.device_type()) != nullptr;
                     });
}

// Of 8-bit data with a scale a cast keeps the one and drops the other. Only what a line cast to 8
// bits as it was has none.
static bool may_drop_scale(const MixCase& m, const Side& side) {
  if (side.operand == nullptr || !kFloat8.contains(side.dtype)) return false;
  const bool has_scale =
      std::any_of(m.call.operands.begin(), m.call.operands.end(), [](const Operand& operand) {
        return (ops::argument_facts(operand.name) & ops::kScale) != 0;
      });
  if (has_scale) return true;
  const OpCall* maker = m.index.provenance().trace_back(m.call, *side.operand).maker;
  if (maker == nullptr || !m.index.has(*maker, ops::kCast) || maker->operands.empty()) return true;
  const OpCall* before = m.index.run().call(maker->operands.front().origin);
  return before != nullptr && m.index.has(*before, ops::kScales);
}

// Float is what people want from a loss.
static void raise_to_float(MixCase& m, const OpCall& inner) {
  const OpCall* loss = &inner;
  follow_links(&inner, [&](const OpCall& call) {  // cross_entropy_loss of nll_loss
    if (m.index.has(call, ops::kLoss)) loss = &call;
    return m.index.run().call(call.parent);
  });
  for (const Operand& operand : loss->operands) {
    const bool is_side = operand.dtypes.within(kLowPrecision) && !is_parameter(operand);
    if (is_side) m.add(m.propose.cast_operand(*loss, operand, Dtype::kFloat, noun_of(operand)));
  }
}

// A backward's line cannot be changed: what its loss took at its own line can.
static bool cast_at_forward_loss(MixCase& m) {
  for (const Operand& operand : m.call.operands) {
    const OpCall* origin = m.index.run().call(operand.origin);
    if (origin == nullptr) continue;
    for (const OpCallId id : m.index.consumers(*origin)) {
      const OpCall& loss = m.index.run().calls[id - 1];
      if (m.index.has(loss, ops::kLoss) && loss.floating_dtypes().size() > 1)
        raise_to_float(m, loss);
    }
  }
  return !m.cures.empty();
}

// "AFB2D" of "AFB2D.forward"; "" of another function.
static std::string class_of_method(const std::string& function, std::string_view method) {
  const size_t dot = function.rfind('.');
  const bool is_it = dot != function.npos && function.substr(dot + 1) == method;
  return is_it ? function.substr(0, dot) : "";
}

static void decorate_function(MixCase& m, const OpCall& where) {
  if (is_users_own(where.site))
    m.add(m.propose.rewrite(where, m.other.dtype, "own backward",
                            "decorate the function by custom_fwd and custom_bwd, so that its "
                            "backward runs under the autocast of its forward"));
}

// The backward of a torch.autograd.Function runs outside of the region that its forward ran in,
// and so does what it runs again. A helper of the file is called by both: then the one function
// there that is no module's, and has a forward, is meant.
static void hand_autocast_to_backward(MixCase& m) {
  const std::string device = m.call.device_type();
  const std::string own = class_of_method(m.call.site.line.function, "backward");
  const bool is_helper = own.empty() && m.call.site.phase == Phase::kBackward &&
                         m.call.site.module.empty() && is_users_own(m.call.site);
  if (m.call.autocast.region_for(device) != nullptr || (own.empty() && !is_helper)) return;
  const OpCall* forward = nullptr;
  for (const OpCall& other : m.index.run().calls) {
    const std::string owner = class_of_method(other.site.line.function, "forward");
    const bool is_it = own.empty() ? other.site.module_class != owner : owner == own;
    if (owner.empty() || !is_it || other.process != m.call.process ||
        other.site.line.file != m.call.site.line.file ||
        other.autocast.region_for(device) == nullptr)
      continue;
    if (forward != nullptr && forward->site.line.function != other.site.line.function) return;
    forward = &other;
  }
  if (forward != nullptr) decorate_function(m, own.empty() ? *forward : m.call);
}

// An optimizer's states are Float, and all that it computes of a gradient meets them.
static void read_gradient_in_float(MixCase& m) {
  const bool is_optimizers = m.call.site.phase == Phase::kOptimizer && is_users_own(m.call.site) &&
                             !is_in_cpp(m.call) && kLowPrecision.contains(m.odd.dtype) &&
                             m.other.dtype == Dtype::kFloat && !m.odd.is_parameter() &&
                             !m.other.is_parameter();
  const bool is_of_gradient =
      m.source.is_gradient ||
      std::any_of(m.source.steps.begin(), m.source.steps.end(), [](const ProvenanceStep& step) {
        return step.call != nullptr && step.call->site.phase == Phase::kBackward;
      });
  if (is_optimizers && is_of_gradient)
    m.add(m.propose.rewrite(m.call, Dtype::kFloat, "gradient read",
                            "cast the gradient to Float before it is computed with"));
}

static void reopen_region(MixCase& m) {
  auto again = m.propose.reopen_autocast(m.call);
  const bool is_found = again.has_value();
  m.add(std::move(again));
  if (is_found) decorate_function(m, m.call);
}

void open_autocast(MixCase& m) {
  for (const Side* side : {&m.odd, &m.other}) {
    if (!kLowPrecision.contains(side->dtype)) continue;
    if (was_lowered_by_autocast(m, *side)) m.add(m.propose.move_autocast(m.call));
    return m.add(m.propose.open_autocast(m.call, side->dtype));
  }
}

std::vector<Cure> mix_cures(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                            const Mix& mix, const Provenance& source) {
  MixCase m(index, options, call, mix, source);
  if (may_drop_scale(m, m.odd) || may_drop_scale(m, m.other)) return {};
  if (m.index.has(m.call, ops::kBackward) && cast_at_forward_loss(m)) return m.cures;
  if (ops::facts_of(m.call.op) & ops::kLoss) raise_to_float(m, m.call);
  raise_defaults(m);
  make_in_double(m);
  hand_autocast_to_backward(m);
  read_gradient_in_float(m);
  reopen_region(m);
  cast_weights_beside_cast(m);
  if (m.source.promotion != nullptr) {
    cast_at_promotion(m);
  } else if (!m.other.is_parameter() && !is_meant_wide(m)) {
    cast_array_in_double(m);
  }
  cast_promoted_input(m);
  cast_at_last_promotion(m);
  cast_lone_parameter(m);
  cast_changed_parameter(m);
  cast_data_in_double(m);
  register_buffer(m, m.call, *m.odd.operand, /*is_sure=*/true);
  cast_other_sixteen_bits(m);
  raise_written_table(m);
  if (is_written(m, m.other)) {
    cast_for_written(m);
  } else if (m.odd.is_parameter() && !m.odd.is_computed) {
    cast_odd_parameter(m);
  } else if (kLowPrecision.contains(m.odd.dtype) && m.other.dtype == Dtype::kFloat &&
             m.other.is_parameter()) {
    serve_low_input(m);
  }
  cast_what_is_drawn(m);
  cast_all_odd(m);
  cast_at_caller(m);
  if (m.source.maker != nullptr && !m.odd.is_parameter())
    m.add(m.propose.cast_giver(*m.source.maker, m.other.dtype));
  if (m.odd.is_computed && !is_users_own(m.call.site)) {
    open_autocast(m);
  } else {
    cast_side(m, m.odd, m.other.dtype);
  }
  cast_for_layers(m);
  cast_at_maker(m);
  cast_other_at_maker(m);
  cast_side(m, m.other, m.odd.dtype);
  register_buffer(m, m.call, *m.odd.operand, /*is_sure=*/false);
  if (m.other.is_parameter()) cast_model(m, m.other, m.odd.dtype);
  open_autocast(m);
  if (m.other.is_parameter()) cast_parameter(m, m.other, m.odd.dtype);
  return m.cures;
}

std::vector<Cure> promotion_cures(const RunIndex& index, const JudgeOptions& options,
                                  const OpCall& call, const Operand& wide, Dtype low) {
  Provenance source = index.provenance().trace_back(call, wide);
  source.promotion = &call;
  source.promoted_by = &wide;
  const Mix mix{{&wide, wide.role, "", *wide.dtypes.single()}, {nullptr, Role::kInput, "", low}};
  MixCase m(index, options, call, mix, source);
  m.add(m.propose.reopen_autocast(call));
  if (is_meant_wide(m)) m.add(m.propose.cast_operand(call, wide, low, noun_of(wide)));
  raise_defaults(m);
  cast_at_promotion(m);
  cast_at_maker(m);
  register_buffer(m, call, wide, /*is_sure=*/false);
  return m.cures;
}

std::vector<Cure> loss_cures(const RunIndex& index, const JudgeOptions& options,
                             const OpCall& loss) {
  const Mix none;
  const Provenance unknown;
  MixCase m(index, options, loss, none, unknown);
  raise_to_float(m, loss);
  return m.cures;
}

}  // namespace dtypecheck::rules
