#include "rules/engine/mix.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "ops/arguments.h"
#include "rules/engine/formatting.h"
#include "rules/engine/scaled_product.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

using Sides = std::vector<Side>;

// aten::linear(input, weight, bias) runs aten::addmm(self = bias, mat1 = input, mat2 = weight').
const Operand* linear_argument(const OpCall* parent, const OpCall& call, const Operand& operand) {
  if (parent == nullptr || parent->op != "aten::linear") return nullptr;
  if (ops::is_right_factor(call.op, operand.name)) return parent->operand("weight");
  if (ops::shown_argument(call.op, operand.name) == "bias") return parent->operand("bias");
  return nullptr;
}

// Also when a view or transpose of it was passed.
const Operand* parameter_behind(const RunIndex& index, const Operand& operand) {
  return index.provenance().behind_views(operand, is_parameter);
}

Role role_of(const std::string& parameter) {
  return parameter.ends_with("bias") ? Role::kBias : Role::kWeight;
}

// A leaf that asks for its gradient is a parameter, also where no module tree gives it a name, as
// in a C++ program.
bool is_trained_leaf(const Operand& operand) { return operand.is_leaf && operand.requires_grad; }

// On the right of a product a parameter is the weight. On the left it may be an input that is
// learned.
bool is_nameless_weight(const RunIndex& index, const OpCall& call, const Operand& operand) {
  return ops::is_right_factor(call.op, operand.name) &&
         index.provenance().behind_views(operand, is_trained_leaf) != nullptr;
}

// What a product is added to is a bias where it has one dimension; a mask of attention has more.
// The weight of a loss weighs classes, that of lerp its two ends.
Role role_in(const RunIndex& index, const OpCall& call, const Operand& operand) {
  const bool is_addend = index.has(call, ops::kAddsProduct) && operand.role == Role::kBias;
  const bool is_mask = is_addend && operand.has_shape && operand.shape.size() > 1;
  const bool is_share = operand.name == "weight" && call.operand("end") != nullptr;
  return is_mask || is_share || index.has(call, ops::kLoss) ? Role::kInput : operand.role;
}

// What lerp_ is given of a model it moves a tensor towards: it is no layer's weight there.
bool writes_in_place(const OpCall& call) {
  const bool is_foreach = call.op.starts_with("aten::_foreach");
  const auto is_it = [&](const Operand& operand) {
    const bool is_list = is_foreach && list_name(operand.name) == "self";
    return operand.is_written && (operand.name == "self" || (is_list && !is_trained_leaf(operand)));
  };
  return ops::parse_op_name(call.op).in_place && std::ranges::any_of(call.operands, is_it);
}

// "F.linear(h, hyper(cond))": what takes a weight's place and was computed, from parameters or not.
bool is_computed(const RunIndex& index, const Operand& operand) {
  if (is_parameter(operand) || operand.is_leaf) return false;
  const OpCall* origin = index.maker_behind(operand, ops::kPassesOn);
  return origin != nullptr && !index.has(*origin, ops::kPassesOn) &&
         !index.has(*origin, ops::kFactory) && !index.has(*origin, ops::kUninitialized) &&
         !index.has(*origin, ops::kCast);
}

// "x @ self.weight.float().t()"
bool is_cast_weight(const RunIndex& index, const OpCall& call, const Operand& operand) {
  if (!ops::is_right_factor(call.op, operand.name) || call.site.phase == Phase::kOptimizer)
    return false;
  const Provenance provenance = index.provenance().trace_back(call, operand);
  const OpCall* cast = provenance.maker;
  if (cast == nullptr || !index.has(*cast, ops::kCast) || cast->operands.empty()) return false;
  const Operand& source = cast->operands.front();
  return (is_parameter(source) || is_trained_leaf(source)) &&
         std::all_of(provenance.steps.begin(), provenance.steps.end() - 1,
                     [&](const auto& step) { return index.has(*step.call, ops::kPassesOn); });
}

Side make_side(const RunIndex& index, const OpCall& call, const Operand& operand) {
  Side side{&operand, role_in(index, call, operand), "", *operand.dtypes.single()};
  if (const Operand* parameter = parameter_behind(index, operand)) {
    side.parameter = parameter->parameter;
    const bool is_plain = index.has(call, ops::kLoss) || writes_in_place(call);
    if (side.role == Role::kInput && !is_plain) side.role = role_of(side.parameter);
  }
  const Operand* argument = linear_argument(index.run().call(call.parent), call, operand);
  if (argument != nullptr) {
    side.role = argument->role;
    if (side.parameter.empty()) side.parameter = argument->parameter;
  }
  if (side.role == Role::kInput && is_nameless_weight(index, call, operand)) {
    side.role = Role::kWeight;
  }
  side.is_cast_weight = side.role == Role::kInput && is_cast_weight(index, call, operand);
  side.is_computed = side.is_parameter() && side.parameter.empty() && is_computed(index, operand);
  return side;
}

Sides sides_of(const RunIndex& index, const OpCall& call, bool with_scalars) {
  Sides sides;
  for (const Operand& operand : call.operands) {
    if (!operand.is_floating() || operand.dtypes.size() != 1) continue;
    if (operand.is_wrapped_number || (!with_scalars && !operand.promotes())) continue;
    if (ops::argument_facts(operand.name) & ops::kScale) continue;
    // Floating indices and masks are wrong whatever they meet.
    if (ops::argument_facts(operand.name) & (ops::kIndex | ops::kCondition)) continue;
    sides.push_back(make_side(index, call, operand));
  }
  return sides;
}

bool disagree(const Sides& sides) {
  return std::ranges::any_of(sides,
                             [&](const Side& side) { return side.dtype != sides.front().dtype; });
}

// A norm's statistics may be Float beside Half data: they have a say only where nothing else does.
Sides without_state(const Sides& sides) {
  Sides rest;
  std::copy_if(sides.begin(), sides.end(), std::back_inserter(rest),
               [](const Side& side) { return side.operand->role != Role::kState; });
  return disagree(rest) ? rest : sides;
}

// One vote an argument, so that a list of 300 parameters does not outvote its gradients.
std::map<Dtype, size_t> votes(const Sides& sides) {
  std::set<std::pair<std::string_view, Dtype>> voters;
  for (const Side& side : sides) voters.emplace(list_name(side.operand->name), side.dtype);
  std::map<Dtype, size_t> count;
  for (const auto& [name, dtype] : voters) ++count[dtype];
  return count;
}

const Side* first_of(const Sides& sides, const auto& accept) {
  const auto side = std::ranges::find_if(sides, accept);
  return side == sides.end() ? nullptr : &*side;
}

// How many casts to the parameter's dtype the line did that cast it; 0 when it was not cast.
uint64_t cast_beside(const RunIndex& index, const Side& parameter) {
  const Operand* operand = parameter_behind(index, *parameter.operand);
  const OpCall* maker = operand == nullptr ? nullptr : index.run().call(operand->origin);
  if (maker == nullptr || !index.has(*maker, ops::kCast)) return 0;
  return index.casts_beside(*maker);
}

// Of a layer that a class makes whose call nobody saw, as one that is used by its method decode():
// something else that the class made has the dtype now. Of any other that is not asked.
bool may_have_sibling_in(const RunIndex& index, const Side& parameter, Dtype dtype) {
  const Run& run = index.run();
  const Operand* operand = parameter_behind(index, *parameter.operand);
  const OpCall* maker = operand == nullptr ? nullptr : index.maker_behind(*operand, ops::kCast);
  const bool is_lone = std::count(parameter.parameter.begin(), parameter.parameter.end(), '.') == 1;
  if (!is_lone || maker == nullptr || !maker->site.line.function.ends_with(".__init__"))
    return true;
  return std::ranges::any_of(run.calls, [&](const OpCall& call) {
    return std::ranges::any_of(call.operands, [&](const Operand& other) {
      if (!is_parameter(other) || other.dtypes != DtypeSet(dtype)) return false;
      const OpCall* its = index.maker_behind(other, ops::kCast);
      return its != nullptr && its->site.line.function == maker->site.line.function;
    });
  });
}

// Most other parameters around have the input's dtype: it is this one that was left behind. Unless
// it was cast with all of them, by module.half() say: what was seen of those is from before.
bool is_left_behind(const RunIndex& index, const OpCall& call, const Side& parameter, Dtype input) {
  std::map<Dtype, size_t> around = index.parameter_dtypes(call.process, parameter.parameter);
  const bool is_alone = around[input] >= 4 && around[input] >= 2 * around[parameter.dtype];
  return is_alone && cast_beside(index, parameter) <= around[input] &&
         may_have_sibling_in(index, parameter, input);
}

// Made in a dtype that somebody asked for, where the model's other layers are made in the input's.
bool is_born_apart(const RunIndex& index, const Side& parameter, Dtype input) {
  const Operand* operand = parameter_behind(index, *parameter.operand);
  const OpCall* maker = operand == nullptr ? nullptr : index.run().call(operand->origin);
  if (maker == nullptr || !index.has(*maker, ops::kUninitialized)) return false;
  const uint64_t others = index.made_beside(*maker, input);
  return others > 0 && others >= index.made_beside(*maker, parameter.dtype);
}

// Hardly a layer is meant to be Double: one that is, in a model where all others are not.
bool is_lone_double(const RunIndex& index, const OpCall& call, const Side& parameter, Dtype input) {
  if (parameter.dtype != Dtype::kDouble || parameter.parameter.empty()) return false;
  const auto others = index.parameter_dtypes(call.process, parameter.parameter);
  const auto own = others.find(Dtype::kDouble);
  const auto wanted = others.find(input);
  const size_t in_double = own == others.end() ? 0 : own->second;
  return wanted != others.end() && wanted->second > in_double;
}

// A buffer or kernel that was computed in Double, beside parameters of which none that is trained
// is Double.
bool is_table_in_double(const RunIndex& index, const OpCall& call, const Side& parameter) {
  if (parameter.dtype != Dtype::kDouble) return false;
  const Operand* behind = parameter_behind(index, *parameter.operand);
  const Operand& table = behind == nullptr ? *parameter.operand : *behind;
  if (table.requires_grad || cast_beside(index, parameter) > 1) return false;
  const std::vector<OpCall>& calls = index.run().calls;
  return std::ranges::none_of(calls, [&](const OpCall& other) {
    return other.process == call.process &&
           std::ranges::any_of(other.operands, [](const Operand& o) {
             return is_trained_leaf(o) && o.dtypes == DtypeSet(Dtype::kDouble);
           });
  });
}

// The input's dtype comes down from another parameter of the same model: its embedding's table.
bool is_models_own_dtype(const Side& parameter, const Provenance& input) {
  return input.parameter != nullptr && !parameter.parameter.empty() &&
         root_module(input.parameter->parameter) == root_module(parameter.parameter);
}

// Which of a parameter and an input a person would change. An input that a promotion on its way
// made wide was not meant to be so: it is odd, whatever parameter it meets. Otherwise the parameter
// is odd where it alone was left behind when its model was cast, or where it is one parameter
// against an input whose dtype is the model's own. A layer whose parameters agree is right.
bool is_parameter_odd(const RunIndex& index, const OpCall& call, const Sides& sides,
                      const Side& parameter, const Side& input) {
  const Provenance source = index.provenance().trace_back(call, *input.operand);
  if (source.promotion != nullptr) return false;
  // A norm's input that a line of the user's raises to Float is meant to be so.
  const bool is_raised = source.maker != nullptr && index.has(*source.maker, ops::kCast) &&
                         is_users_own(source.maker->site) &&
                         source.maker->site.phase == Phase::kForward;
  if (is_raised && index.has(call, ops::kNorm) && input.dtype == Dtype::kFloat) return true;
  if (is_left_behind(index, call, parameter, input.dtype)) return true;
  if (is_born_apart(index, parameter, input.dtype)) return true;
  if (is_lone_double(index, call, parameter, input.dtype)) return true;
  if (input.dtype == Dtype::kFloat && is_table_in_double(index, call, parameter)) return true;
  const auto parameters =
      std::ranges::count_if(sides, [](const Side& side) { return side.is_parameter(); });
  return parameters == 1 && is_models_own_dtype(parameter, source) &&
         !is_lone_parameter(index, *source.parameter, call.process, parameter.dtype);
}

// An op in place keeps the dtype of what it writes: what it reads has to change. Not where a
// parameter is stepped, nor statistics; but a product that is added to one merges two others.
std::optional<Mix> read_against_written(const RunIndex& index, const OpCall& call,
                                        const Sides& sides) {
  const bool merges = ops::parse_op_name(call.op).in_place && index.has(call, ops::kMultiplies) &&
                      call.site.phase != Phase::kOptimizer;
  if (!merges && !writes_in_place(call)) return std::nullopt;
  const Side* written = first_of(sides, [&](const Side& side) {
    return side.operand->is_written && (merges || !is_trained_leaf(*side.operand)) &&
           side.operand->role != Role::kState;
  });
  if (written == nullptr) return std::nullopt;
  const Side* read = first_of(sides, [&](const Side& side) {
    return !side.operand->is_written && side.dtype != written->dtype;
  });
  return read == nullptr ? std::nullopt : std::optional(Mix{*read, *written});
}

std::optional<Mix> input_against_parameters(const RunIndex& index, const OpCall& call,
                                            const Sides& sides) {
  const Side* parameter = first_of(sides, [](const Side& s) { return s.role == Role::kWeight; });
  if (parameter == nullptr)
    parameter = first_of(sides, [](const Side& s) { return s.is_parameter(); });
  if (parameter == nullptr) return std::nullopt;
  const bool agree = std::ranges::all_of(
      sides, [&](const Side& s) { return !s.is_parameter() || s.dtype == parameter->dtype; });
  const Side* input = first_of(
      sides, [&](const Side& s) { return !s.is_parameter() && s.dtype != parameter->dtype; });
  if (!agree || input == nullptr) return std::nullopt;
  // What has no more than a bias has one beside data: the fewest are odd.
  const auto inputs = std::ranges::count_if(sides, [](const Side& s) { return !s.is_parameter(); });
  if (parameter->role == Role::kBias && parameter->parameter.empty() && inputs > 1)
    return std::nullopt;
  if (is_parameter_odd(index, call, sides, *parameter, *input)) return Mix{*parameter, *input};
  return Mix{*input, *parameter};
}

// Breaks a tie: 1. the bias, 2. a promoted operand, 3. one whose dtype comes from no parameter
// while the other's does, 4. a Double one in a program without Double parameters, 5. a cast one, 6.
// the later one, since LibTorch dispatches on the first.
const Side& odd_of_tie(const RunIndex& index, const OpCall& call, const Sides& sides) {
  if (const Side* bias = first_of(sides, [](const Side& s) { return s.role == Role::kBias; })) {
    return *bias;
  }
  for (const Side& side : sides) {
    if (index.provenance().trace_back(call, *side.operand).promotion != nullptr) return side;
  }
  // What an optimizer computes in Float it means to.
  const Side* low = first_of(sides, [](const Side& s) { return kLowPrecision.contains(s.dtype); });
  if (low != nullptr && call.site.phase == Phase::kOptimizer) return *low;
  const auto is_models_own = [&](const Side& side) {
    return index.provenance().trace_back(call, *side.operand).parameter != nullptr;
  };
  const auto is_foreign = [&](const Side& side) { return !is_models_own(side); };
  const Side* own = first_of(sides, is_models_own);
  const Side* foreign = first_of(sides, is_foreign);
  if (own != nullptr && foreign != nullptr && own->dtype != foreign->dtype) return *foreign;
  // What NumPy made and nobody cast: whoever computes in Double sets it as the default, and has
  // parameters of it.
  const Side* wide = first_of(sides, [](const Side& side) { return side.dtype == Dtype::kDouble; });
  if (wide != nullptr && !index.has_parameters_in(call.process, Dtype::kDouble)) return *wide;
  const auto is_cast = [&](const Side& side) {
    const OpCall* maker = index.provenance().trace_back(call, *side.operand).maker;
    return maker != nullptr && index.has(*maker, ops::kCast);
  };
  if (const Side* cast = first_of(sides, is_cast)) return *cast;
  return *first_of(sides, [&](const Side& s) { return s.dtype != sides.front().dtype; });
}

// The line ran before, and one side has another dtype now: that one changed.
const Side* changed_since(const RunIndex& index, const OpCall& call, const Sides& sides) {
  if (!call.site.line.known()) return nullptr;
  const OpCall* before = index.ran_before(call);
  if (before == nullptr) return nullptr;
  // A line that is a layer of many, as a helper in C++ is, ran with other parameters before.
  const auto is_of_any = [](const Side& side) {
    return side.is_parameter() && side.parameter.empty();
  };
  if (std::ranges::any_of(sides, is_of_any)) return nullptr;
  const Side* changed = nullptr;
  for (const Side& side : sides) {
    const Operand* then = before->operand(side.operand->name);
    if (then != nullptr && then->parameter != side.operand->parameter) return nullptr;
    if (then == nullptr || then->dtypes == DtypeSet(side.dtype)) continue;
    if (changed != nullptr && changed->dtype != side.dtype) return nullptr;
    if (changed == nullptr) changed = &side;
  }
  return changed;
}

// What the line was given has another dtype now, and this side as well, but a line of the user's
// casts it to what it was before: ".float()" in a model that runs in Double this time.
bool is_held_back(const RunIndex& index, const OpCall& call, const Side& side, Dtype now) {
  const OpCall* cast = index.provenance().trace_back(call, *side.operand).maker;
  const bool is_held = cast != nullptr && index.has(*cast, ops::kCast) &&
                       is_users_own(cast->site) && !cast->operands.empty() &&
                       cast->operands.front().dtypes == DtypeSet(now);
  const OpCall* before = is_held ? index.ran_before(call) : nullptr;
  const Operand* then = before == nullptr ? nullptr : before->operand(side.operand->name);
  if (then == nullptr) return false;
  const OpCall* maker = index.provenance().trace_back(*before, *then).maker;
  return maker == nullptr || maker->site.line != cast->site.line;
}

// What a compiled region gives in Float, and is given in 16 bits alone: eager would have kept
// those.
std::optional<Dtype> widened_by_region(const RunIndex& index, const Side& side) {
  const OpCall* origin = index.maker_behind(*side.operand, ops::kPassesOn);
  if (origin == nullptr || !origin->in_compiled_region || side.dtype != Dtype::kFloat)
    return std::nullopt;
  const auto given = origin->floating_dtypes().single();
  return given && kLowPrecision.contains(*given) ? given : std::nullopt;
}

// What the parameter was before, as the input still is: it is odd, however rightly it was changed.
// Not where a line casts the model down by itself: its inputs are to follow.
std::optional<Mix> changed_parameter(const RunIndex& index, const OpCall& call,
                                     const Sides& sides) {
  const Side* input = first_of(sides, [](const Side& side) { return !side.is_parameter(); });
  if (input == nullptr) return std::nullopt;
  const Side* parameter = first_of(sides, [&](const Side& side) {
    return side.is_parameter() && !side.parameter.empty() && side.dtype != input->dtype;
  });
  if (parameter == nullptr) return std::nullopt;
  const bool is_changed =
      raised_since(index, call, *parameter) == input->dtype ||
      (kLowPrecision.contains(parameter->dtype) && replaced_since(index, call, *parameter));
  return is_changed ? std::optional(Mix{*parameter, *input}) : std::nullopt;
}

// A line of the user's casts up what a layer gave in the dtype of the model's parameters.
bool is_cast_up(const RunIndex& index, const OpCall& call, const Side& side) {
  const OpCall* maker = index.provenance().trace_back(call, *side.operand).maker;
  if (maker == nullptr || !index.has(*maker, ops::kCast) || maker->operands.empty()) return false;
  const auto low = maker->operands.front().dtypes.single();
  return side.dtype == Dtype::kFloat && is_users_own(maker->site) && low &&
         kLowPrecision.contains(*low) && index.has_parameters_in(call.process, *low);
}

// A table in Float raises queries and keys, or a norm that computes in Float does, and the values
// that it was not applied to are alone in what all were meant to be: what was promoted is odd,
// however many it is.
std::optional<Mix> promoted_against_rest(const RunIndex& index, const OpCall& call,
                                         const Sides& sides) {
  if (sides.size() < 3) return std::nullopt;  // a tie, where it is asked as well
  const auto is_promoted = [&](const Side& side) {
    return index.provenance().trace_back(call, *side.operand).promotion != nullptr ||
           is_cast_up(index, call, side);
  };
  const Side* raised = first_of(sides, is_promoted);
  if (raised == nullptr) return std::nullopt;
  const Side* rest = first_of(sides, [&](const Side& s) { return s.dtype != raised->dtype; });
  const bool is_clear = std::ranges::all_of(
      sides, [&](const Side& side) { return is_promoted(side) == (side.dtype == raised->dtype); });
  return is_clear ? std::optional(Mix{*raised, *rest}) : std::nullopt;
}

// The one dtype that the parameters around the line have: of the smallest module around it that has
// any, of these the trained ones, where some are.
std::optional<Dtype> dtype_around(const RunIndex& index, const OpCall& call) {
  for (std::string module = call.site.module; !module.empty();) {
    if (const auto dtypes = index.dtypes_in(call.process, module); dtypes.size() > 0)
      return dtypes.single();
    const size_t dot = module.rfind('.');
    module.resize(dot == module.npos ? 0 : dot);
  }
  return std::nullopt;
}

// A line of a module's own that reads no parameter: what has the dtype of the module's parameters
// is as it was meant to be, and the next layer wants it.
std::optional<Mix> against_model(const RunIndex& index, const OpCall& call, const Sides& sides) {
  const auto is_known = [](const Side& side) {
    return !side.parameter.empty() || (side.is_parameter() && !side.is_computed);
  };
  const bool is_plain = call.site.phase == Phase::kForward && !index.has(call, ops::kLoss) &&
                        std::ranges::none_of(sides, is_known);
  const auto dtype = is_plain ? dtype_around(index, call) : std::nullopt;
  if (!dtype) return std::nullopt;
  const Side* own = first_of(sides, [&](const Side& side) { return side.dtype == *dtype; });
  const Side* odd = first_of(sides, [&](const Side& side) { return side.dtype != *dtype; });
  return own == nullptr || odd == nullptr ? std::nullopt : std::optional(Mix{*odd, *own});
}

Mix minority(const RunIndex& index, const OpCall& call, const Sides& sides) {
  const std::map<Dtype, size_t> count = votes(sides);
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto least = std::min_element(count.begin(), count.end(), fewer);
  const auto most = std::max_element(count.begin(), count.end(), fewer);
  const Side* odd = least->second == most->second
                        ? &odd_of_tie(index, call, sides)
                        : first_of(sides, [&](const Side& s) { return s.dtype == least->first; });
  const auto other = [&](const Side& s) { return s.dtype != odd->dtype; };
  // What is written in place keeps its dtype: what is written into it has to change.
  if (odd->operand->is_written && !odd->operand->is_leaf) {
    const Side* read =
        first_of(sides, [&](const Side& s) { return other(s) && !s.operand->is_written; });
    if (read != nullptr) return {*read, *odd};
  }
  const Side* beside = first_of(
      sides, [&](const Side& s) { return other(s) && !s.operand->name.starts_with("grad"); });
  return {*odd, beside != nullptr ? *beside : *first_of(sides, other)};
}

// torch's Linear.forward has no tensors but these, so a refusal that comes out of it is about them
// even where its message names no dtype, as before LibTorch 2.1.
bool is_about_linear(const OpCall& call, const std::string& message) {
  if (call.op != "python::Linear.forward") return false;
  for (const Dtype dtype : {Dtype::kHalf, Dtype::kBFloat16, Dtype::kFloat, Dtype::kDouble}) {
    if (names_dtype(message, dtype)) return false;
  }
  const bool are_its_own = std::ranges::all_of(call.operands, [](const Operand& operand) {
    return operand.name == "input" || operand.name == "weight" || operand.name == "bias";
  });
  return are_its_own && call.operand("input") != nullptr && call.operand("weight") != nullptr;
}

// "m.grad = p.grad": torch refuses the assignment before any op, and says which dtype the tensor
// has. Among the variables of the function the gradient is the one that is called so, and what it
// is assigned to is a leaf that is trained, where one has the other
// dtype, and never what was computed of one.
bool assigns_gradient(const OpCall& call) {
  return call.error.find("assign a gradient with dtype") != call.error.npos;
}

std::optional<Mix> assigned_gradient(const OpCall& call) {
  const auto find = [&](auto is_it) -> const Operand* {
    const auto found = std::ranges::find_if(
        call.operands, [&](const auto& o) { return o.dtypes.single() && is_it(o); });
    return found == call.operands.end() ? nullptr : &*found;
  };
  const Operand* gradient = find([](const Operand& o) { return o.name.ends_with(".grad"); });
  const std::vector<Dtype> named = named_dtypes(call.error);
  if (gradient == nullptr || named.empty() || named.front() != *gradient->dtypes.single())
    return std::nullopt;
  const auto is_other = [&](const Operand& o) {
    return o.dtypes != gradient->dtypes && names_dtype(call.error, *o.dtypes.single()) &&
           list_name(o.name) == o.name && !gradient->name.starts_with(o.name + ".");
  };
  const Operand* tensor =
      find([&](const Operand& o) { return is_other(o) && o.is_leaf && o.requires_grad; });
  if (tensor == nullptr)
    tensor = find([&](const Operand& o) { return is_other(o) && !o.requires_grad; });
  if (tensor == nullptr) return std::nullopt;
  const auto side = [](const Operand& operand) {
    return Side{&operand, Role::kInput, operand.parameter, *operand.dtypes.single()};
  };
  return Mix{side(*gradient), side(*tensor)};
}

}  // namespace

std::optional<Dtype> raised_since(const RunIndex& index, const OpCall& call, const Side& side) {
  const Operand* parameter = parameter_behind(index, *side.operand);
  const OpCall* cast = parameter == nullptr ? nullptr : index.run().call(parameter->origin);
  const bool is_raise = cast != nullptr && index.has(*cast, ops::kCast) &&
                        side.dtype == Dtype::kFloat && !cast->operands.empty() &&
                        cast->operands.front().dtypes.within(kLowPrecision) &&
                        cast->site.line.function != "<module>" && !is_installed(cast->site.line);
  if (!is_raise) return std::nullopt;
  const auto& calls = index.run().calls;
  const bool ran_since =
      std::any_of(calls.begin() + cast->id, calls.begin() + (call.id - 1), [&](const OpCall& ran) {
        return ran.process == call.process && ran.site.module == call.site.module &&
               ran.outcome == Outcome::kReturned && ran.site.phase == Phase::kForward;
      });
  return ran_since ? cast->operands.front().dtypes.single() : std::nullopt;
}

bool is_lone_parameter(const RunIndex& index, const Operand& parameter, uint32_t process,
                       Dtype rest) {
  const auto own = parameter.dtypes.single();
  const OpCall* maker = index.maker_behind(parameter, ops::kPassesOn);
  if (!own || *own == rest || parameter.parameter.empty()) return false;
  const auto is_most = [](uint64_t others, uint64_t alike) {
    return others >= 4 && others >= 4 * alike;
  };
  std::map<Dtype, size_t> around = index.parameter_dtypes(process, parameter.parameter);
  const bool is_loaded = maker != nullptr && maker->site.phase == Phase::kLoad &&
                         index.has(*maker, ops::kUninitialized);
  return is_most(around[rest], around[*own] + 1) ||
         (is_loaded && is_most(index.made_beside(*maker, rest), index.made_beside(*maker, *own)));
}

bool comes_of_lone_parameter(const RunIndex& index, const OpCall& call, const Side& odd,
                             const Side& other, const Provenance& source) {
  return source.parameter != nullptr && !odd.is_parameter() &&
         is_lone_parameter(index, *source.parameter, call.process, other.dtype);
}

// A cast of the parameter itself is a line that says so.
bool replaced_since(const RunIndex& index, const OpCall& call, const Side& side) {
  if (side.dtype == Dtype::kFloat) return false;
  const Operand* parameter = parameter_behind(index, *side.operand);
  const OpCall* maker = parameter == nullptr ? nullptr : index.run().call(parameter->origin);
  const bool is_cast_of_it =
      maker != nullptr && !maker->operands.empty() &&
      (maker->operands.front().parameter == side.parameter || maker->operands.front().is_leaf);
  if (maker == nullptr || is_cast_of_it) return false;
  const OpCallId first = index.first_read_in_float(call.process, side.parameter);
  return first != kNoOpCall && first < call.id;
}

std::string noun_of(const Operand& operand) {
  const std::string_view list = list_name(operand.name);
  if (list == "grads") return "gradient";
  if (list.starts_with("exp_avg") || list.starts_with("max_exp_avg")) return "optimizer state";
  const bool generic = (ops::argument_facts(list) & ops::kGenericName) != 0;
  return generic ? "input" : operand.name;
}

std::string Side::noun() const {
  if (role == Role::kBias || role == Role::kWeight) return role_name(role);
  if (is_cast_weight) return role_name(Role::kWeight);
  if (operand->role == Role::kBias) return "addend";
  return role == Role::kInput ? noun_of(*operand) : operand->name;
}

std::optional<Mix> find_mix(const RunIndex& index, const OpCall& call, bool with_scalars) {
  if (assigns_gradient(call)) return assigned_gradient(call);
  const Sides all = sides_of(index, call, with_scalars);
  if (!disagree(all)) return std::nullopt;
  const Sides sides = without_state(all);
  if (const auto mix = changed_parameter(index, call, sides)) return mix;
  for (const Side& side : sides)
    if (const auto low = widened_by_region(index, side))
      if (const Side* other = first_of(sides, [&](const Side& s) { return s.dtype == *low; }))
        return Mix{side, *other};
  if (const Side* changed = changed_since(index, call, sides)) {
    const auto differs = [&](const Side& side) { return side.dtype != changed->dtype; };
    if (const Side* beside = first_of(sides, differs))
      return is_held_back(index, call, *beside, changed->dtype) ? Mix{*beside, *changed}
                                                                : Mix{*changed, *beside};
  }
  if (const auto mix = read_against_written(index, call, sides)) return mix;
  if (const auto mix = against_model(index, call, sides)) return mix;
  if (const auto mix = input_against_parameters(index, call, sides)) return mix;
  if (const auto mix = promoted_against_rest(index, call, sides)) return mix;
  return minority(index, call, sides);
}

std::optional<Mix> refused_mix(const RunIndex& index, const OpCall& call) {
  if (!was_refused(call) || scaled_fault(call)) return std::nullopt;
  const OpCall* throwing_call = index.throwing_call(call);
  if (throwing_call == nullptr || !index.is_refused_for_dtypes(*throwing_call)) return std::nullopt;
  const ThrowReason reason = throw_reason(throwing_call->error, throwing_call->error_type);
  if (reason == ThrowReason::kNotImplemented) return std::nullopt;
  if (wanted_integer(throwing_call->error))
    return std::nullopt;  // labels in Half are no side of a mix
  const bool says_so = reason == ThrowReason::kDtypes;
  const auto mix = find_mix(index, call, /*with_scalars=*/says_so);
  const bool is_named = mix && names_dtype(throwing_call->error, mix->odd.dtype) &&
                        names_dtype(throwing_call->error, mix->other.dtype);
  // The grouping of optimizers speaks of devices too, but what was let through and ran had only the
  // other reason.
  const bool ran =
      was_let_through(call) && throwing_call->error.find("same dtype") != std::string::npos;
  const bool is_certain = is_named || ran || is_about_linear(call, throwing_call->error);
  return ops::is_python(call.op) && !is_certain ? std::nullopt : mix;
}

}  // namespace dtypecheck::rules
