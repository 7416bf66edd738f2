#include "rules/cures/cures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <regex>

#include "core/follow_links.h"
#include "platform/text.h"
#include "rules/engine/formatting.h"

namespace dtypecheck::rules {
namespace {

bool is_below(std::string_view path, std::string_view module) {
  return path == module ||
         (path.starts_with(module) && path.substr(module.size()).starts_with('.'));
}

bool is_of_class(const SourceLine& line, const std::string& name) {
  return !name.empty() && line.function.starts_with(name + ".");
}

// The line is one of the module's own, and does not call it: F.linear(x, self.w) of "Net.forward".
bool is_inside(const Site& site) { return is_of_class(site.line, site.module_class); }

// What it takes for a cast of a variable: a line of Python of the user's own that reads a tensor
// which was made somewhere.
bool has_variable(const OpCall& call, const Operand& operand) {
  return operand.origin != kNoOpCall && !is_parameter(operand) && !is_in_cpp(call) &&
         call.site.line.known();
}

// A function of Python's raised at this line of its own; the operands are its variables, none of
// them a weight, whose model is cast.
bool is_of_own_frame(const OpCall& call) {
  return ops::is_python(call.op) &&
         call.op.substr(ops::kPython.size()) == call.site.line.function &&
         std::none_of(call.operands.begin(), call.operands.end(), is_parameter);
}

constexpr const char* kFunctions[] = {"torch", "F", "functional"};

// Ops that Python calls in a module of their own: fft_fftn is torch.fft.fftn. No layer has the name
// of one.
constexpr std::string_view kModulesOfOps[] = {"fft_", "linalg_", "special_"};

bool calls_name(std::string_view line, std::string_view name) {
  const std::string call = std::string(name) + "(";
  for (size_t at = line.find(call); at != line.npos; at = line.find(call, at + 1))
    if (at == 0 || !is_of_name(line[at - 1])) return true;
  return false;
}

}  // namespace

std::string at(const SourceLine& line) {
  const std::string text = place(Site{.line = line});
  return text.empty() ? "" : ", " + text;
}

bool is_in_forward(const SourceLine& line) { return line.function.ends_with("forward"); }

Cure cure_of(CureKind kind, const OpCall& call, std::string operand, Dtype dtype) {
  return {.kind = kind,
          .dtype = dtype,
          .call = call.id,
          .operand = std::move(operand),
          .where = call.site.line};
}

std::string CureProposer::line_of(const OpCall& call) const {
  return options_.line_text(call.site.line.file, call.site.line.line);
}

bool CureProposer::is_named(const OpCall& call) const {
  const std::string line = line_of(call);
  return line.empty() || line.find(call.short_op()) != std::string::npos;
}

// "torch.einsum(…)", "F.conv2d(…)", "fftn(…)": the line itself calls the op, or the one that it is
// inside of. So does "x.mean()" of a module's hook, where the line does not call the module.
bool CureProposer::calls_function(const OpCall& call) const {
  const OpCall* outer = &call;
  for (const OpCall* parent = outer; parent != nullptr; parent = index_.run().call(outer->parent)) {
    if (!(parent->site.line == call.site.line)) break;
    outer = parent;
  }
  const std::string line = line_of(call), op = outer->short_op();
  for (const std::string_view module : kModulesOfOps)
    if (op.starts_with(module)) return calls_name(line, std::string_view(op).substr(module.size()));
  return std::any_of(std::begin(kFunctions), std::end(kFunctions), [&](const char* module) {
    return line.find(fmt::format("{}.{}(", module, op)) != std::string::npos;
  });
}

// False for a line of a method that the module has of a base class, or of a hook, which names no
// part of the module's path: "x.mean()", "labels[last] = ids[last]". Of "layers.0" a loop has
// another name.
bool CureProposer::may_call_module(const OpCall& call) const {
  const std::string line = line_of(call);
  const Extent& extent = call.site.line.extent;
  const auto begin = static_cast<size_t>(std::max(extent.column, 1)) - 1;
  const bool is_one_line = extent.known() && extent.end_line == call.site.line.line &&
                           begin < line.size() && extent.end_column > extent.column;
  if (is_one_line &&  // an operator, as in "t * cos * scale"
      line.substr(begin, static_cast<size_t>(extent.end_column - extent.column)).find('(') ==
          std::string::npos)
    return false;
  if (line.empty() || is_in_forward(call.site.line)) return true;
  for (std::string_view rest = call.site.module; !rest.empty();) {
    const std::string_view name = next_piece(rest, '.');
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front()))) return true;
    for (const char* use : {"(", "."})
      if (line.find(fmt::format("{}{}", name, use)) != std::string::npos) return true;
  }
  return false;
}

// The tensor was not made by an op inside of the module, so that what it is called with decides.
bool CureProposer::is_from_outside(const OpCall& call, const Operand& operand,
                                   std::string_view module) const {
  if (is_parameter(operand)) return false;
  const OpCall* origin = index_.run().call(operand.origin);
  return origin == nullptr || origin->process != call.process ||
         !is_below(origin->site.module, module);
}

// "cat([time(t).to(x.dtype), x])": a tensor from outside of the module, seen otherwise, scaled or
// joined with others, has its dtype still.
bool CureProposer::is_handed_down(const OpCall& call, const Operand& operand,
                                  std::string_view module) const {
  if (!operand.is_floating() || is_parameter(operand)) return false;
  if (is_from_outside(call, operand, module)) return true;
  const OpCall* made = index_.run().call(operand.origin);
  const auto leads = [&](const OpCall& at, const Operand& read) {
    const std::string op = at.short_op();
    return is_below(at.site.module, module) && read.dtypes == operand.dtypes &&
           (index_.has(at, ops::kView | ops::kCopy | ops::kScales | ops::kSubtracts) ||
            op == "cat" || op == "stack" || op == "add");
  };
  if (made == nullptr) return false;
  for (const OpCall* at : index_.with_makers(*made, leads))
    for (const Operand& read : at->operands)
      if (leads(*at, read) && is_from_outside(*at, read, module) && !read.is_wrapped_number)
        return true;
  return false;
}

// A tensor in another floating dtype comes in: ids and masks are no help.
bool CureProposer::takes_other_floats(const OpCall& call, std::string_view module,
                                      Dtype dtype) const {
  const auto& calls = index_.run().calls;
  return std::any_of(calls.begin(), calls.end(), [&](const OpCall& inner) {
    if (inner.process != call.process || !is_below(inner.site.module, module)) return false;
    return std::any_of(inner.operands.begin(), inner.operands.end(), [&](const Operand& operand) {
      return operand.is_floating() && operand.promotes() && operand.dtypes != DtypeSet(dtype) &&
             is_from_outside(inner, operand, module);
    });
  });
}

std::optional<Cure> CureProposer::cast_operand(const OpCall& call, const Operand& operand,
                                               Dtype dtype, const std::string& noun) const {
  const Site& site = call.site;
  const bool is_module = !site.module.empty() && !is_inside(site) && !calls_function(call) &&
                         !is_of_own_frame(call) && may_call_module(call);
  // In a library there is no line of the user's to cast it at, but one that calls the module.
  if (!is_module && !is_users_own(site) && site.line.known()) return std::nullopt;
  if (!is_module) {
    Cure cure = cure_of(CureKind::kCastOperand, call, operand.name, dtype);
    cure.text = fmt::format("cast the {} of {} to {}{}", noun, call.short_op(), dtype_name(dtype),
                            at(site.line));
    return cure;
  }
  // The line calls the whole model; what a library casts in it, it casts to what it is called with.
  const std::string module = is_in_forward(site.line) ? site.module : root_module(site.module);
  // And not a parameter of the module, as an embedding, nor what was made with the module.
  const auto may_follow_input = [&] {
    const Provenance source = index_.provenance().trace_back(call, operand);
    const bool is_of_module = source.parameter != nullptr ||
                              (source.maker != nullptr && source.maker->site.phase == Phase::kLoad);
    if (is_of_module) return false;
    return !index_.dtypes_in(call.process, module).intersects(operand.dtypes) ||
           takes_other_floats(call, module, dtype);
  };
  const bool is_helped =
      is_from_outside(call, operand, module) || (!is_users_own(site) && may_follow_input());
  if (!is_helped) return std::nullopt;
  // An index or a mask beside it is none of its input.
  const bool is_input = operand.is_floating() && !kIntegral.contains(dtype);
  Cure cure = is_input ? cure_of(CureKind::kCastModuleInput, call, module, dtype)
                       : cure_of(CureKind::kCastOperand, call, operand.name, dtype);
  const std::string what = is_input ? fmt::format("the inputs of {}", module)
                                    : fmt::format("the {} of {}", noun, module);
  cure.text = fmt::format("cast {} to {}{}", what, dtype_name(dtype), at(site.line));
  return cure;
}

std::optional<Cure> CureProposer::cast_own_variable(const OpCall& call, const Operand& operand,
                                                    Dtype dtype) const {
  return is_of_own_frame(call) && operand.is_floating() ? cast_variable(call, operand, dtype)
                                                        : std::nullopt;
}

// "grid.to(data.dtype)" of data in Bool, which is joined with them: a cast behind that comes late.
bool CureProposer::has_lowered_floats(const OpCall& call, const Operand& operand) const {
  const Provenance source = index_.provenance().trace_back(call, operand);
  return std::any_of(source.steps.begin(), source.steps.end(), [&](const ProvenanceStep& step) {
    if (step.call == nullptr) return false;
    const auto& operands = step.call->operands;
    return std::any_of(operands.begin(), operands.end(), [&](const Operand& beside) {
      if (beside.dtypes != operand.dtypes) return false;
      const OpCall* cast = index_.provenance().trace_back(*step.call, beside).maker;
      return cast != nullptr && index_.has(*cast, ops::kCast) && !cast->operands.empty() &&
             cast->operands.front().is_floating();
    });
  });
}

std::optional<Cure> CureProposer::cast_for_model(const OpCall& call, const Operand& operand,
                                                 Dtype dtype) const {
  const std::string model = root_module(call.site.module);
  const OpCall* origin = index_.run().call(operand.origin);
  const bool is_attribute = origin != nullptr && origin->site.line.function.ends_with("__init__");
  // A library casts its time steps to what the sample has.
  const bool follows_input =
      origin != nullptr && origin->site.inner.known() && index_.has(*origin, ops::kCast);
  const bool is_data = operand.is_floating() ? is_handed_down(call, operand, model) || follows_input
                                             : has_lowered_floats(call, operand);
  if (!call.site.caller.known() || is_in_cpp(call) || is_attribute || !is_data) return std::nullopt;
  Cure cure = cure_of(CureKind::kCastModuleInput, call, model, dtype);
  cure.where = call.site.caller;
  cure.text =
      fmt::format("cast the inputs of {} to {}{}", model, dtype_name(dtype), at(cure.where));
  return cure;
}

std::optional<Cure> CureProposer::cast_and_back(const OpCall& call, const Operand& operand,
                                                Dtype dtype) const {
  const auto back = operand.dtypes.single();
  const bool is_here = is_users_own(call.site) && !is_in_cpp(call) && call.site.line.known();
  const bool gives_it = options_.contracts->passes_dtype_on(ops::without_alias(call.op)) ||
                        call.result_dtype() == back;  // a sum of integers gives another
  if (!back || !is_here || !gives_it) return std::nullopt;
  Cure cure = cure_of(CureKind::kCastAndBack, call, operand.name, dtype);
  cure.text = fmt::format("compute {} in {} and cast its result to {}{}", call.short_op(),
                          dtype_name(dtype), dtype_name(*back), at(call.site.line));
  return cure;
}

std::vector<Cure> CureProposer::raise_operand(const OpCall& call, const Operand& operand,
                                              const std::string& noun) const {
  std::vector<Cure> all;
  const auto dtype = operand.dtypes.single();
  const bool is_low =
      dtype && kLowPrecision.contains(*dtype) && index_.has_parameters_in(call.process, *dtype);
  add(all, is_low ? cast_and_back(call, operand, Dtype::kFloat) : std::nullopt);
  add(all, cast_operand(call, operand, Dtype::kFloat, noun));
  return all;
}

static bool is_low_data(const Operand& operand) {
  return operand.dtypes.within(kLowPrecision) && !is_parameter(operand) && !operand.is_written;
}

// As log_softmax, exp and sums are: what is rounded there no later op has.
bool CureProposer::is_float_under_autocast(const OpCall& call) const {
  const auto gpu = options_.contracts->newest("cuda");
  if (!gpu) return false;
  OpCall under = call;
  under.autocast.enabled = {{call.device_type(), Dtype::kBFloat16}};
  const auto answer = options_.contracts->ask(*gpu, under, contracts::Mode::kAutocast);
  return !answer.results.empty() && answer.results.front() == Dtype::kFloat;
}

std::vector<std::pair<const OpCall*, const Operand*>> CureProposer::arithmetic_before(
    const OpCall& call) const {
  std::vector<std::pair<const OpCall*, const Operand*>> way;
  for (const OpCall* at = &call; at != nullptr && way.size() < kMaxFollowed;) {
    const auto low = std::find_if(at->operands.begin(), at->operands.end(), is_low_data);
    const auto result = at->result_dtype();
    const bool is_next = low != at->operands.end() && result && kLowPrecision.contains(*result) &&
                         !index_.has(*at, ops::kMultiplies | ops::kProduct | ops::kCast) &&
                         !ops::takes_no_values(at->op) && is_users_own(at->site);
    if (!is_next) break;
    way.emplace_back(at, &*low);
    const OpCall* made = index_.run().call(low->origin);
    at = made != nullptr && made->id < at->id ? made : nullptr;
  }
  return way;
}

// The op alone comes last but one: what 16 bits lost before it, it does not get back.
std::vector<Cure> CureProposer::raise_before(const OpCall& call, std::vector<Cure> alone) const {
  const auto way = arithmetic_before(call);
  std::vector<Cure> all;
  // Made in 16 bits by a line that says so, where no model is: first of all there.
  const OpCall* made = way.empty() ? nullptr : index_.run().call(way.back().second->origin);
  const auto dtype = made == nullptr ? std::nullopt : made->result_dtype();
  const bool is_asked = dtype && index_.has(*made, ops::kFactory) &&
                        made->scalar("dtype") != nullptr && kLowPrecision.contains(*dtype) &&
                        !index_.has_parameters_in(call.process, *dtype);
  add(all, is_asked ? cast_result(*made, Dtype::kFloat) : std::nullopt);
  if (way.size() < 2) {
    add(all, alone);
    return all;
  }
  const auto raise = [&](const auto& step) {
    const std::string noun = step.second->name == "self" ? "input" : step.second->name;
    add(all, cast_operand(*step.first, *step.second, Dtype::kFloat, noun));
  };
  const auto before = way.begin() + 1;
  const auto other = std::find_if(before, way.end(), [&](const auto& step) {
    return step.first->site.line.file != call.site.line.file ||
           step.first->site.line.function != call.site.line.function;
  });
  const auto of_autocast = std::find_if(way.rbegin(), way.rend() - 1, [&](const auto& step) {
    return is_float_under_autocast(*step.first);
  });
  const bool is_of_autocast = of_autocast != way.rend() - 1;
  if (is_of_autocast) raise(*of_autocast);
  add(all, alone);
  if (other != before) raise(*(other - 1));
  // What is handed to the function, as the cat of an epoch's batches.
  add(all, is_of_autocast || other == way.end() ? std::nullopt
                                                : cast_result(*way.back().first, Dtype::kFloat));
  return all;
}

std::vector<Cure> CureProposer::compute_in_float(const OpCall& call) const {
  const auto is_low = [](const Operand& operand) { return operand.dtypes.within(kLowPrecision); };
  const auto& operands = call.operands;
  const auto data = std::find_if(operands.begin(), operands.end(), is_low_data);
  const auto result = call.result_dtype();
  if (auto cure = leave_autocast_of(call)) return {*std::move(cure)};
  std::vector<Cure> all;
  if (!result || !kLowPrecision.contains(*result)) {  // one side was rounded before
    const OpCall* made = data == operands.end() ? nullptr : index_.run().call(data->origin);
    const bool is_before = made != nullptr && made->id < call.id && index_.promotes(call) &&
                           kLowPrecision.contains(made->result_dtype().value_or(Dtype::kFloat));
    return is_before ? compute_in_float(*made) : all;
  }
  const bool is_alone = std::count_if(operands.begin(), operands.end(), is_low) == 1;
  const bool is_here = is_users_own(call.site) && call.site.phase != Phase::kBackward;
  if (is_here && data != operands.end() && (is_alone || index_.promotes(call)))
    all = raise_operand(call, *data, data->name == "self" ? "input" : data->name);
  // What is beyond the dtype's end is so again where it is cast back.
  if (call.first_inf() != nullptr) std::reverse(all.begin(), all.end());
  if (is_here && call.first_inf() != nullptr && index_.has(call, ops::kMultiplies) && !is_alone) {
    std::vector<const Operand*> low;
    for (const Operand& operand : operands)
      if (is_low_data(operand)) low.push_back(&operand);
    const OpCall* lowered = nullptr;  // the matmul around it, which autocast would lower again
    follow_links(&call, [&](const OpCall& at) {
      if (at.autocast.region_for(at.device_type()) != nullptr) lowered = &at;
      return index_.run().call(at.parent);
    });
    add(all,
        lowered != nullptr ? leave_autocast(*lowered) : cast_operands(call, low, Dtype::kFloat));
  }
  if (is_here) all = raise_before(call, std::move(all));
  // Its weight is in 16 bits, and so would be what it gives.
  if (call.site.module_class == "Linear" && call.first_inf() != nullptr && !is_in_cpp(call) &&
      is_in_forward(call.site.line) && call.site.phase == Phase::kForward)
    all.push_back(rewrite(call, Dtype::kFloat, "linear in Float",
                          "compute the layer in Float, with its weight cast to Float"));
  const bool is_lowered = std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
    return is_parameter(operand) && operand.dtypes == DtypeSet(Dtype::kFloat);
  });
  add(all, is_lowered ? leave_autocast(call) : std::nullopt);
  const std::string root = root_module(call.site.module);
  const OpCall* reader = nullptr;
  const Operand* parameter = nullptr;
  for (const OpCall& other : index_.run().calls) {
    for (const Operand& operand : other.operands) {
      const bool is_its = other.process == call.process && is_parameter(operand) &&
                          root_module(operand.parameter) == root;
      if (is_its && operand.requires_grad) return all;
      if (is_its && is_low(operand) && reader == nullptr) reader = &other, parameter = &operand;
    }
  }
  if (reader != nullptr && !root.empty())
    all.push_back(cast_parameters(*reader, *parameter, root, Dtype::kFloat));
  return all;
}

// What the program chose itself, masks that were joined by a sum as well.
bool is_of_mask(const RunIndex& index, const Operand& operand, int depth) {
  constexpr int kMostSums = 4;
  const OpCall* made = index.maker_behind(operand, ops::kPassesOn | ops::kCast);
  if (made == nullptr || depth > kMostSums) return false;
  if (index.has(*made, ops::kMask)) return true;
  return made->short_op() == "add" && made->operands.size() == 2 &&
         std::all_of(made->operands.begin(), made->operands.end(),
                     [&](const Operand& one) { return is_of_mask(index, one, depth + 1); });
}

std::optional<Cure> CureProposer::hold_scores(const OpCall& softmax) const {
  if (!softmax.short_op().ends_with("softmax") || softmax.operands.empty()) return std::nullopt;
  const OpCall* sum = index_.run().call(softmax.operands.front().origin);
  if (sum == nullptr || sum->short_op() != "add" || sum->operands.size() != 2 ||
      sum->result_dtype() != Dtype::kHalf || !is_users_own(sum->site) || is_in_cpp(*sum))
    return std::nullopt;
  const auto masks =
      std::count_if(sum->operands.begin(), sum->operands.end(),
                    [&](const Operand& operand) { return is_of_mask(index_, operand); });
  if (masks != 1) return std::nullopt;
  return rewrite(*sum, Dtype::kHalf, "held at lowest",
                 "hold the sum of scores and mask at the lowest number of its dtype");
}

static std::string names_joined(const std::vector<const Operand*>& operands, const char* sign) {
  std::string names;
  for (const Operand* operand : operands) names += (names.empty() ? "" : sign) + operand->name;
  return names;
}

std::optional<Cure> CureProposer::cast_operands(const OpCall& call,
                                                const std::vector<const Operand*>& operands,
                                                Dtype dtype) const {
  const bool is_python = ops::is_python(call.op);  // its variables are no arguments
  if (operands.size() < 2 || is_python || !is_users_own(call.site)) return std::nullopt;
  Cure cure = cure_of(CureKind::kCastOperand, call, names_joined(operands, ","), dtype);
  cure.text = fmt::format("cast the {} of {} to {}{}", names_joined(operands, " and the "),
                          call.short_op(), dtype_name(dtype), at(call.site.line));
  return cure;
}

std::optional<Cure> CureProposer::cast_arrays(const OpCall& call,
                                              const std::vector<const Operand*>& operands,
                                              Dtype dtype) const {
  if (operands.empty() || !is_users_own(call.site)) return std::nullopt;
  Cure cure = cure_of(CureKind::kCastVariable, call, names_joined(operands, ","), dtype);
  cure.text = fmt::format("cast the {} of {} to {} where {} from{}",
                          names_joined(operands, " and the "), call.short_op(), dtype_name(dtype),
                          operands.size() > 1 ? "they come" : "it comes", at(call.site.line));
  return cure;
}

bool makes_several(const Run& run, const OpCall& maker) {
  return std::any_of(run.calls.begin(), run.calls.end(), [&](const OpCall& call) {
    return call.op == maker.op && call.site.line == maker.site.line && call.result_dtype() &&
           call.result_dtype() != maker.result_dtype();
  });
}

std::vector<Dtype> drawn_with(const Run& run, const OpCall& reader, const Operand& operand) {
  constexpr uint64_t kMost = 8;
  const OpCall* origin = run.call(operand.origin);
  std::vector<Dtype> dtypes;
  if (origin == nullptr || !operand.has_shape || operand.shape.empty()) return dtypes;
  for (const OpCall& call : run.calls) {
    const bool is_beside = call.process == origin->process && call.parent == kNoOpCall &&
                           call.site.line.file == origin->site.line.file &&
                           call.site.line.line == origin->site.line.line &&
                           call.results.size() == 1 && call.result_dtype();
    if (!is_beside) continue;
    const Operand& result = call.results.front();
    const bool has_rows =
        result.has_shape && !result.shape.empty() && result.shape.front() == operand.shape.front();
    // What is alike but for its sizes is one call that is counted, in each round of the loop. The
    // last batch may have other sizes.
    const uint64_t rounds = std::max<uint64_t>(reader.count, 1);
    const uint64_t a_round = std::max<uint64_t>((call.count + rounds / 2) / rounds, 1);
    for (uint64_t i = 0; has_rows && i < std::min(a_round, kMost); ++i)
      dtypes.push_back(*call.result_dtype());
  }
  return dtypes;
}

std::optional<Cure> CureProposer::cast_drawn(const OpCall& call, const Operand& operand,
                                             Dtype dtype) const {
  if (!has_variable(call, operand) || drawn_with(index_.run(), call, operand).size() < 2)
    return std::nullopt;
  Cure cure = cure_of(CureKind::kCastDrawn, call, operand.name, dtype);
  // Another function draws them than the one that reads them.
  const Site& drawn = index_.run().call(operand.origin)->site;
  const bool is_elsewhere = drawn.line.function != call.site.line.function && is_users_own(drawn);
  if (is_elsewhere) cure.where = drawn.line;
  cure.text = fmt::format("cast every {} tensor drawn for {} to {}{}", dtype_word(operand),
                          call.short_op(), dtype_name(dtype), at(cure.where));
  return cure;
}

std::optional<Cure> CureProposer::cast_variable(const OpCall& call, const Operand& operand,
                                                Dtype dtype) const {
  if (!has_variable(call, operand)) return std::nullopt;
  Cure cure = cure_of(CureKind::kCastVariable, call, operand.name, dtype);
  cure.text = fmt::format("cast the {} of {} to {} where it is assigned, for every later use{}",
                          operand.name, call.short_op(), dtype_name(dtype), at(call.site.line));
  return cure;
}

bool CureProposer::is_learned(const Operand& operand) {
  return operand.requires_grad && operand.is_leaf;
}

bool is_weight(const Operand& operand) {
  return is_parameter(operand) || CureProposer::is_learned(operand);
}

std::optional<Cure> CureProposer::cast_floats_alone(const OpCall& call,
                                                    const Operand& operand) const {
  const OpCall* cast = index_.provenance().trace_back(call, operand).maker;
  const auto casts = [&](const OpCall& one, DtypeSet from) {
    return index_.has(one, ops::kCast) && !one.operands.empty() &&
           one.operands.back().dtypes.within(from) && one.result_dtype() &&
           kFloating.contains(*one.result_dtype());
  };
  if (cast == nullptr || !is_users_own(cast->site) || is_in_cpp(*cast) ||
      !casts(*cast, kIntegral | Dtype::kBool))
    return std::nullopt;
  const auto& calls = index_.run().calls;
  const bool has_floats = std::any_of(calls.begin(), calls.end(), [&](const OpCall& beside) {
    return beside.process == cast->process && beside.site.line == cast->site.line &&
           casts(beside, kFloating);
  });
  if (!has_floats) return std::nullopt;
  return rewrite(*cast, *cast->result_dtype(), "floats alone", "cast floating-point tensors alone");
}

// one_hot takes classes in Long and gives Long, which is cast behind it.
std::vector<Cure> CureProposer::cast_chooser(const OpCall& call, const Operand& operand,
                                             Dtype dtype, const std::string& noun) const {
  const Provenance source = index_.provenance().trace_back(call, operand);
  const OpCall* maker = source.maker;
  for (const ProvenanceStep& step : source.steps)
    if (step.call->short_op() == "one_hot") maker = step.call;
  std::vector<Cure> cures;
  add(cures, cast_floats_alone(call, operand));
  const bool is_drawn = maker != nullptr && index_.has(*maker, ops::kDraws);  // a model's input
  if (maker != nullptr && !(maker->site.line == call.site.line) && !is_learned(operand) &&
      !is_drawn)
    add(cures, cast_result(*maker, dtype));
  // The cat() or stack() of a batch, for all that reads the batch.
  for (const ProvenanceStep& step : source.steps)
    if (step.call != maker && step.from != nullptr && step.from->name.ends_with(']') &&
        step.call->site.line.function != call.site.line.function)
      add(cures, cast_result(*step.call, dtype));
  add(cures, cast_operand(call, operand, dtype, noun));
  return cures;
}

std::optional<Cure> CureProposer::cast_result(const OpCall& maker, Dtype dtype) const {
  if (!is_users_own(maker.site)) return std::nullopt;
  // torch.tensor() runs empty() and, once that is filled, lift_fresh(); from_numpy() that alone.
  const auto is_lift = [](const OpCall& call) { return call.short_op() == "lift_fresh"; };
  const auto readers = index_.consumers(maker);
  const bool is_tensor = std::any_of(readers.begin(), readers.end(), [&](OpCallId id) {
    return is_lift(index_.run().calls[id - 1]);
  });
  Cure cure = cure_of(CureKind::kCastResult, maker, "", dtype);
  cure.text = fmt::format("cast the result of {} to {}{}",
                          is_lift(maker)                   ? "from_numpy()"
                          : is_tensor                      ? "tensor()"
                          : maker.short_op() == "_to_copy" ? "to()"
                                                           : maker.short_op(),
                          dtype_name(dtype), at(maker.site.line));
  return cure;
}

std::optional<Cure> CureProposer::keep_in(const OpCall& rounded, Dtype dtype) const {
  auto cure = cast_result(rounded, dtype);
  if (cure)
    cure->text = fmt::format("keep it in {} from there on, and cast what is computed of it{}",
                             dtype_name(dtype), at(rounded.site.line));
  return cure;
}

std::optional<Cure> CureProposer::cast_giver(const OpCall& cast, Dtype dtype) const {
  const bool is_given = index_.has(cast, ops::kCast) && is_users_own(cast.site) &&
                        line_of(cast).find(".dtype") != std::string::npos;
  if (!is_given) return std::nullopt;
  for (const OpCall& beside : index_.run().calls) {
    if (beside.process != cast.process || !(beside.site.line == cast.site.line)) continue;
    for (const Operand& other : beside.operands) {
      const OpCall* made = index_.run().call(other.origin);
      const bool is_its = made != nullptr && index_.has(*made, ops::kFactory) &&
                          other.dtypes.single() == cast.result_dtype() && !is_parameter(other) &&
                          !(made->site.line == cast.site.line);
      if (is_its) return cast_result(*made, dtype);
    }
  }
  // Made above in the function by this name, and read on a later line.
  const std::string line = line_of(cast);
  std::smatch name;
  if (!std::regex_search(line, name, std::regex(R"(([A-Za-z_]\w*)\.dtype)"))) return std::nullopt;
  const std::regex binds(R"(\s*)" + name[1].str() + R"(\s*=[^=].*)");
  for (const OpCall& made : index_.run().calls) {
    const bool is_above = made.process == cast.process && index_.has(made, ops::kFactory) &&
                          made.site.line.file == cast.site.line.file &&
                          made.site.line.function == cast.site.line.function &&
                          made.result_dtype() == cast.result_dtype();
    if (is_above && std::regex_match(line_of(made), binds)) return cast_result(made, dtype);
  }
  return std::nullopt;
}

std::vector<Cure> CureProposer::widen_written(const OpCall& copy) const {
  if (copy.operands.size() != 2) return {};
  const OpCall* maker = index_.provenance().trace_back(copy, copy.operands.front()).maker;
  const auto dtype = copy.operands.back().dtypes.single();
  if (maker == nullptr || !dtype || is_learned(copy.operands.front())) return {};
  std::vector<Cure> cures;
  add(cures, ask_for(*maker, *dtype));
  if (auto cure = cast_result(*maker, *dtype)) {
    cure->text = fmt::format("make the tensor that it is copied to in {}{}", dtype_name(*dtype),
                             at(maker->site.line));
    cures.push_back(*std::move(cure));
  }
  return cures;
}

Cure CureProposer::cast_output(const OpCall& call, const std::string& module, Dtype dtype) const {
  Cure cure = cure_of(CureKind::kCastResult, call, "", dtype);
  cure.where = {};
  cure.text = fmt::format("cast the result of {} to {}", module.empty() ? call.short_op() : module,
                          dtype_name(dtype));
  return cure;
}

Cure CureProposer::cast_parameters(const OpCall& call, const Operand& operand,
                                   const std::string& module, Dtype dtype) const {
  Cure cure = cure_of(CureKind::kCastParameters, call, module, dtype);
  const OpCall* maker = index_.provenance().trace_back(call, operand).maker;
  const bool is_users_line =
      maker != nullptr && maker->site.line.known() && !is_installed(maker->site.line);
  if (is_users_line) cure.where = maker->site.line;
  if (!is_users_line && !is_users_own(call.site)) cure.where = {};
  cure.text = fmt::format("cast {} to {}{}",
                          module.empty() ? "the module that holds the parameter" : module,
                          dtype_name(dtype), at(cure.where));
  return cure;
}

Cure CureProposer::rewrite(const OpCall& call, Dtype dtype, const std::string& how,
                           const std::string& what) const {
  Cure cure = cure_of(CureKind::kRewrite, call, how, dtype);
  cure.text = what + at(call.site.line);
  return cure;
}

std::optional<Cure> CureProposer::keep_buffer(const OpCall& cast, const OpCall& reader) const {
  // Of a model that is trained, or that is frozen: its line casts one tensor after the other, all
  // by one call there, as mean.half() and var.half() of two tensors are not.
  const auto casts_learned = [&](const OpCall& other) {
    const Extent &own = cast.site.line.extent, &others = other.site.line.extent;
    return other.process == cast.process && other.site.line == cast.site.line &&
           (own == others || !own.known() || !others.known()) && index_.has(other, ops::kCast) &&
           !other.operands.empty() &&
           (is_learned(other.operands.front()) ||
            (other.id + 1 == cast.id || cast.id + 1 == other.id));
  };
  const std::vector<OpCall>& calls = index_.run().calls;
  const bool lowered_module = index_.has(cast, ops::kCast) && is_users_own(cast.site) &&
                              cast.operands.size() == 1 && !cast.operands.front().requires_grad &&
                              cast.operands.front().dtypes.within(kFloating) &&
                              std::any_of(calls.begin(), calls.end(), casts_learned);
  const std::string& reads = reader.site.line.function;  // "Schedule.snr"
  const size_t dot = reads.rfind('.');
  const std::string owner = dot == reads.npos ? reader.site.module_class : reads.substr(0, dot);
  // A function outside of all classes has no buffer.
  const bool is_own = !owner.empty() && is_users_own(reader.site) &&
                      (is_inside(reader.site) || !may_call_module(reader)) &&
                      !is_of_class(cast.site.line, owner);
  if (!lowered_module || !is_own) return std::nullopt;
  return rewrite(reader, *cast.result_dtype(), "buffer kept",
                 "keep the buffer in its dtype when its module is cast");
}

Cure CureProposer::cast_arguments(const OpCall& call, Dtype dtype,
                                  const std::string& callee) const {
  return rewrite(call, dtype, "arguments",
                 fmt::format("cast the arguments of {} to {}", callee, dtype_name(dtype)));
}

bool CureProposer::is_made_for_more(const OpCall& call, const OpCall* maker) const {
  return maker != nullptr && maker->site.line.file == call.site.line.file &&
         index_.consumers(*maker).size() > 1;
}

}  // namespace dtypecheck::rules
