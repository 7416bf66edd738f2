#include "core/provenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "core/enum_names.h"
#include "core/follow_links.h"
#include "ops/ops.h"

namespace dtypecheck {
namespace {

bool has(const OpCall& call, uint64_t facts) { return (ops::facts_of(call.op) & facts) != 0; }

// Of several operands that have the dtype of the result, the least rank handed it on. What is
// written in place keeps its dtype whatever meets it. A tensor without dimensions promotes nothing.
// An activation explains more than a parameter, which was there before, and than out=, whose
// memory was chosen for the result. Among equals the one whose own origin is known, then the one
// that has the shape of the result: factors and time steps are cast to what they are spread over.
int rank(const OpCall& call, const Operand& operand) {
  if (operand.is_written && operand.role != Role::kOut) return 0;
  const bool is_whole =
      !call.results.empty() && operand.has_shape && operand.shape == call.results.front().shape;
  return (operand.promotes() ? 0 : 16) + (is_parameter(operand) ? 8 : 0) +
         (operand.role == Role::kOut ? 4 : 0) + (operand.origin == kNoOpCall ? 2 : 0) +
         (is_whole ? 0 : 1);
}

const Operand* operand_of(const OpCall& call, DtypeSet dtypes) {
  const Operand* first = nullptr;
  for (const Operand& operand : call.operands) {
    if (operand.dtypes != dtypes || operand.is_wrapped_number) continue;
    if (first == nullptr || rank(call, operand) < rank(call, *first)) first = &operand;
  }
  return first;
}

// The complex dtype of two such numbers, and the dtype of the numbers in such a complex one.
DtypeSet complex_or_real(DtypeSet dtypes) {
  constexpr std::pair<Dtype, Dtype> kPairs[] = {{Dtype::kHalf, Dtype::kComplexHalf},
                                                {Dtype::kFloat, Dtype::kComplexFloat},
                                                {Dtype::kDouble, Dtype::kComplexDouble}};
  for (const auto& [real, complex] : kPairs) {
    if (dtypes == DtypeSet(real)) return complex;
    if (dtypes == DtypeSet(complex)) return real;
  }
  return {};
}

// stft() and view_as_real() give in a complex dtype what they are given in a real one, or back.
const Operand* source_of_dtype(const OpCall& call, DtypeSet dtypes) {
  const Operand* same = operand_of(call, dtypes);
  const DtypeSet other = complex_or_real(dtypes);
  return same != nullptr || other == DtypeSet() || has(call, ops::kCast) ? same
                                                                         : operand_of(call, other);
}

// A cast to the dtype that the tensor had already, to another device say, made nothing. A factory
// with a dtype= of its own made it, though zeros_like() has an operand of the same dtype.
bool makes_dtype(const OpCall& call, DtypeSet dtypes) {
  if (has(call, ops::kCast)) {
    return !call.operands.empty() && call.operands.front().dtypes != dtypes;
  }
  const ScalarArgument* dtype = call.scalar("dtype");
  return dtype != nullptr && dtype->dtype && has(call, ops::kFactory);
}

// It answered in the widest of several dtypes. What the statistics and weights of a norm are in
// does not decide about its result, and of what is not LibTorch's own nothing is known.
bool is_promotion(const OpCall& call, const Operand& from) {
  const auto size = [](const Operand& o) {
    return dtype_size_bytes(o.dtypes.single().value_or(Dtype::kUndefined));
  };
  const bool is_widest =
      std::none_of(call.operands.begin(), call.operands.end(), [&](const Operand& o) {
        return o.is_floating() && o.promotes() && o.dtypes != from.dtypes && size(o) >= size(from);
      });
  return is_widest && call.floating_dtypes().size() > 1 && call.op.starts_with("aten::") &&
         !from.is_written && !has(call, ops::kNorm);
}

ProvenanceStep step_of(const OpCall& call, DtypeSet dtypes) {
  using Kind = ProvenanceStep::Kind;
  ProvenanceStep step{.call = &call};
  if (!makes_dtype(call, dtypes)) step.from = source_of_dtype(call, dtypes);
  // What torch.tensor() begins with, where that was no frame of its own yet.
  const bool is_fresh = step.from != nullptr && step.from->origin == kNoOpCall &&
                        call.op == "aten::lift_fresh" && !is_parameter(*step.from);
  if (is_fresh) step.from = nullptr;
  if (step.from == nullptr) {
    step.kind = has(call, ops::kCast) ? Kind::kCast : Kind::kMade;
  } else if (is_promotion(call, *step.from)) {
    step.kind = Kind::kPromotion;
  }
  return step;
}

// "super().forward(x.float()).type(x.dtype)": a function that casts a tensor to another dtype, and
// what it computes of it back to the one that the tensor had, made nothing new. The first of the
// two casts, of the call that is the second; nullptr where there is none, or nothing between them:
// such a pair rounds, and is what it is there for.
const OpCall* cast_before(const Run& run, const OpCall& back, DtypeSet dtypes) {
  constexpr int kMaxSteps = 4096;
  if (!has(back, ops::kCast) || back.operands.size() != 1) return nullptr;
  const Operand* from = &back.operands.front();
  const DtypeSet between = from->dtypes;
  for (int steps = 0; from != nullptr && steps < kMaxSteps; ++steps) {
    const OpCall* call = run.call(from->origin);
    if (call == nullptr || call == &back || call->process != back.process) return nullptr;
    if (!makes_dtype(*call, between)) {
      from = source_of_dtype(*call, between);
      continue;
    }
    const bool is_it = has(*call, ops::kCast) && call->operands.size() == 1 && steps > 0 &&
                       call->operands.front().dtypes == dtypes && call->site.line.known() &&
                       call->site.line.file == back.site.line.file &&
                       call->site.line.function == back.site.line.function &&
                       call->site.module == back.site.module;
    return is_it ? call : nullptr;
  }
  return nullptr;
}

void add_step(const ProvenanceStep& step, Provenance& provenance) {
  provenance.steps.push_back(step);
  if (step.from == nullptr) provenance.maker = step.call;
  if (step.kind == ProvenanceStep::Kind::kPromotion) {
    provenance.promotion = step.call;
    provenance.promoted_by = step.from;
  }
  if (step.from != nullptr && is_parameter(*step.from)) provenance.parameter = step.from;
}

// An op that autograd calls for a node: its result is cast to the dtype of what it is the gradient
// of, whatever its operands are. A backward of the program's own has lines of its own.
bool is_of_autograd(const OpCall& call) {
  return call.site.phase == Phase::kBackward && !call.site.line.function.ends_with(".backward") &&
         call.site.line.function != "backward";
}

bool passes(const Provenance& provenance, const OpCall& call) {
  return std::any_of(provenance.steps.begin(), provenance.steps.end(),
                     [&](const ProvenanceStep& step) { return step.call == &call; });
}

// A worker of a DataLoader: all that it does is prepare data.
std::vector<bool> data_workers(const Run& run) {
  std::vector<bool> any(run.processes.size()), all(run.processes.size(), true);
  for (const OpCall& call : run.calls) {
    any[call.process] = true;
    if (call.site.phase != Phase::kData) all[call.process] = false;
  }
  for (size_t i = 0; i < any.size(); ++i) any[i] = any[i] && all[i];
  return any;
}

// The process that reads what a worker makes: its parent. A fork server between the two calls no
// op and has no trace; then the only process of that host and rank that is no worker.
std::optional<uint32_t> reader_of(const Run& run, const std::vector<bool>& workers, size_t worker) {
  const Process& process = run.processes[worker];
  std::vector<uint32_t> near;
  bool has_parent = false;
  for (uint32_t i = 0; i < run.processes.size(); ++i) {
    const Process& other = run.processes[i];
    if (i == worker || other.host != process.host) continue;
    const bool is_parent = other.pid == process.parent_pid;
    has_parent = has_parent || is_parent;
    if (is_parent && !workers[i]) return i;
    if (!workers[i] && other.rank == process.rank) near.push_back(i);
  }
  return has_parent || near.size() != 1 ? std::nullopt : std::optional(near.front());
}

bool may_be_handed_over(const Operand& tensor) {
  return tensor.kind == TensorKind::kDense && tensor.has_shape && !tensor.shape.empty() &&
         !tensor.is_wrapped_number && tensor.dtypes.size() == 1;
}

// Has no past in its own process, and is nothing that such a past would be lost of.
bool is_from_outside(const Operand& operand) {
  return operand.origin == kNoOpCall && operand.parameter.empty() && !operand.requires_grad &&
         !operand.is_written && may_be_handed_over(operand);
}

// What an op calls inside of it may get a copy in another shape, which is not recorded: it is the
// operand of the op around it that has this dtype and as many elements, where there is one such.
const Operand* reshaped(const OpCall* outer, const Operand& operand) {
  const bool is_plain = operand.origin == kNoOpCall && !is_parameter(operand) && operand.has_shape;
  if (outer == nullptr || !is_plain || operand.is_written) return nullptr;
  const Operand* found = nullptr;
  for (const Operand& whole : outer->operands) {
    const bool fits = whole.dtypes == operand.dtypes &&
                      element_count(whole) == element_count(operand) && !is_parameter(whole) &&
                      whole.has_shape;
    if (fits && found != nullptr) return nullptr;
    if (fits) found = &whole;
  }
  return found;
}

// "torch.from_numpy": what is no op of the dispatcher has the name that the program calls it by.
std::string name_of(const OpCall& call) {
  return ops::is_python(call.op) ? call.op.substr(ops::kPython.size()) : call.op;
}

// Of "list[float64]" what it is to the program, "a list of np.float64"; of "ndarray" the dtype too.
std::string kind_of_source(const std::string& type, Dtype dtype) {
  const size_t bracket = type.find('[');
  const std::string whole = type.substr(0, bracket);
  const char* article =
      std::string_view("aeioun").find(whole[0]) == std::string_view::npos ? "a" : "an";
  if (bracket == type.npos) return fmt::format("{} {} of {}", article, whole, dtype_name(dtype));
  const std::string element = type.substr(bracket + 1, type.size() - bracket - 2);
  const bool is_numpy = element.find_first_of("0123456789") != element.npos;  // Python's have none
  return fmt::format("{} {} of {}{}", article, whole, is_numpy ? "np." : "", element);
}

// What a function of torch was given that makes a tensor of what is none: ", from an ndarray of
// Double".
std::string source_text(const OpCall& maker) {
  if (!maker.op.starts_with("python::torch.") || maker.scalars.empty()) return "";
  const ScalarArgument& source = maker.scalars.front();
  if (!source.dtype || source.name.empty()) return "";
  return ", from " + kind_of_source(source.name, *source.dtype);
}

}  // namespace

const char* step_kind_name(ProvenanceStep::Kind kind) {
  return name_of<ProvenanceStep::Kind::kMade>(kind, {"passed on", "promotion", "cast", "made"});
}

std::vector<ShownStep> shown_steps(const Provenance& provenance) {
  constexpr size_t kMaxShown = 8;
  const size_t count = provenance.steps.size();
  std::vector<ShownStep> shown;
  for (size_t i = 0; i < std::min(count, kMaxShown); ++i) shown.push_back({&provenance.steps[i]});
  if (count > kMaxShown) shown.back() = {&provenance.steps.back(), count - kMaxShown};
  return shown;
}

// "low + torch.rand(n, dtype=low.dtype) * (high - low)": numbers are drawn in the dtype of what
// they meet, and that one explains more.
Provenance ProvenanceIndex::trace_back(const OpCall& reader, const Operand& operand) const {
  Provenance provenance = follow(reader, operand);
  const OpCall* drawn = provenance.maker;
  if (drawn == nullptr || !has(*drawn, ops::kDraws) || !makes_dtype(*drawn, operand.dtypes))
    return provenance;
  for (size_t i = provenance.steps.size() - 1; i-- > 0;) {
    const ProvenanceStep& step = provenance.steps[i];
    for (const Operand& met : step.call->operands) {
      if (&met == step.from || met.dtypes != operand.dtypes || !met.promotes() ||
          met.is_wrapped_number || met.origin == kNoOpCall)
        continue;
      Provenance other = follow(*step.call, met);
      if (other.maker == nullptr || has(*other.maker, ops::kDraws)) continue;
      Provenance spliced{.dtypes = operand.dtypes};
      for (size_t j = 0; j < i; ++j) add_step(provenance.steps[j], spliced);
      ProvenanceStep turned = step;
      turned.from = &met;
      add_step(turned, spliced);
      for (const ProvenanceStep& its : other.steps) add_step(its, spliced);
      spliced.is_from_worker = other.is_from_worker;
      spliced.is_probable = other.is_probable;
      return spliced;
    }
  }
  return provenance;
}

Provenance ProvenanceIndex::follow(const OpCall& reader, const Operand& operand) const {
  Provenance provenance{.dtypes = operand.dtypes};
  const OpCall* at = &reader;
  bool in_worker = false;
  follow_links(&operand, [&](const Operand& tensor) -> const Operand* {
    const OpCall* call = run_.call(tensor.origin);
    if (call == nullptr) {
      const Operand* whole = reshaped(run_.call(at->parent), tensor);
      if (whole != nullptr) call = run_.call(whole->origin);
    }
    if (call == nullptr && !in_worker) {
      const Fit fit = handed_over_to(*at, tensor);
      call = fit.call;
      in_worker = call != nullptr;
      provenance.is_from_worker = in_worker;
      provenance.is_probable = in_worker && !fit.is_only_one;
    }
    if (call == nullptr || passes(provenance, *call)) return nullptr;
    ProvenanceStep step = step_of(*call, tensor.dtypes);
    at = call;
    step.is_in_worker = in_worker;
    const OpCall* before = step.kind == ProvenanceStep::Kind::kCast
                               ? cast_before(run_, *call, tensor.dtypes)
                               : nullptr;
    if (before != nullptr) {
      at = before;
      step.kind = ProvenanceStep::Kind::kPassedOn;
      step.from = &before->operands.front();
    }
    add_step(step, provenance);
    provenance.is_gradient =
        before == nullptr && step.kind == ProvenanceStep::Kind::kPassedOn && is_of_autograd(*call);
    return provenance.is_gradient ? nullptr : step.from;
  });
  return provenance;
}

const Operand* ProvenanceIndex::behind_views(const Operand& operand,
                                             bool (*accept)(const Operand&)) const {
  const Operand* found = nullptr;
  follow_links(&operand, [&](const Operand& tensor) -> const Operand* {
    if (accept(tensor)) {
      found = &tensor;
      return nullptr;
    }
    const OpCall* call = run_.call(tensor.origin);
    const bool is_view = call != nullptr && has(*call, ops::kPassesOn) && !call->operands.empty();
    return is_view ? &call->operands.front() : nullptr;
  });
  return found;
}

const std::vector<ProvenanceIndex::HandedOver>& ProvenanceIndex::handed_over(
    uint32_t reading_process) const {
  if (handed_over_) return handed_over_->at(reading_process);
  std::vector<std::vector<HandedOver>>& all = handed_over_.emplace(run_.processes.size());
  const std::vector<bool> workers = data_workers(run_);
  std::vector<std::optional<uint32_t>> readers(workers.size());
  for (size_t i = 0; i < workers.size(); ++i) {
    if (workers[i]) readers[i] = reader_of(run_, workers, i);
  }
  std::set<OpCallId> read;
  for (const OpCall& call : run_.calls) {
    if (!workers[call.process]) continue;
    for (const Operand& operand : call.operands) read.insert(operand.origin);
  }
  for (const OpCall& call : run_.calls) {
    const bool is_whole = call.parent == kNoOpCall && call.outcome == Outcome::kReturned;
    if (!readers[call.process] || !is_whole) continue;
    for (const Operand& result : call.results) {
      if (may_be_handed_over(result))
        all[*readers[call.process]].push_back({&call, &result, read.contains(call.id)});
    }
  }
  return all.at(reading_process);
}

// Those of the same shape, else those that have as many elements, which a view of the batch has
// too; of these first what its worker did not read itself. Several calls of one line are one fit.
// Where several lines fit the order decides: the second such operand of a call is the second such
// tensor of the batch.
ProvenanceIndex::Fit ProvenanceIndex::handed_over_to(const OpCall& reader,
                                                     const Operand& operand) const {
  if (run_.processes.size() < 2 || !is_from_outside(operand)) return {};
  std::vector<const HandedOver*> fits;
  const auto find = [&](bool may_be_read, const auto& is_alike) {
    std::set<std::tuple<std::string_view, std::string_view, int>> seen;
    for (const HandedOver& tensor : handed_over(reader.process)) {
      const bool fit = tensor.result->dtypes == operand.dtypes && is_alike(*tensor.result) &&
                       (may_be_read || !tensor.is_read);
      const SourceLine& line = best_line(tensor.call->site);
      if (fit && seen.emplace(tensor.call->op, line.file, line.line).second)
        fits.push_back(&tensor);
    }
    return !fits.empty();
  };
  // The shape that the op had around this one: linear([2, 3, 4]) calls addmm([6, 4]).
  std::vector<const Operand*> shapes = {&operand};
  follow_links(run_.call(reader.parent), [&](const OpCall& outer) {
    for (const Operand& whole : outer.operands) {
      if (is_from_outside(whole) && whole.dtypes == operand.dtypes &&
          element_count(whole) == element_count(operand)) {
        shapes.push_back(&whole);
      }
    }
    return run_.call(outer.parent);
  });
  const auto has_shape = [&](const Operand& result) {
    return std::any_of(shapes.begin(), shapes.end(),
                       [&](const Operand* tensor) { return tensor->shape == result.shape; });
  };
  const auto has_size = [&](const Operand& r) {
    return element_count(r) == element_count(operand);
  };
  const bool is_exact = find(false, has_shape) || find(true, has_shape);
  if (!is_exact && !find(false, has_size) && !find(true, has_size)) return {};
  size_t nth = 0;
  for (const Operand& other : reader.operands) {
    if (&other == &operand || nth + 1 == fits.size()) break;
    if (is_from_outside(other) && other.dtypes == operand.dtypes && other.shape == operand.shape)
      ++nth;
  }
  return {fits[nth]->call, is_exact && fits.size() == 1};
}

std::string made_by(const OpCall& call) { return name_of(call) + at_place(call.site); }

std::string step_name(const ProvenanceStep& step) {
  const std::string op = name_of(*step.call);
  if (step.is_in_worker) return "worker's " + op;
  return step.call->site.phase == Phase::kLoad ? fmt::format("load ({})", op) : op;
}

std::string step_sentence(const Provenance& provenance, const ProvenanceStep& step) {
  const std::string dtype = provenance.dtypes.to_string();
  const std::string op = name_of(*step.call);
  switch (step.kind) {
    case ProvenanceStep::Kind::kPassedOn:
      return fmt::format("{} passes {} on from {}", op, dtype,
                         is_parameter(*step.from) ? step.from->parameter : step.from->name);
    case ProvenanceStep::Kind::kPromotion:
      return fmt::format("{} promotes to {} because of {}", op, dtype, step.from->name);
    case ProvenanceStep::Kind::kCast:
      return fmt::format("{} casts to {}", op, dtype);
    case ProvenanceStep::Kind::kMade:
      return fmt::format("{} makes {}", op, dtype);
  }
  return op;
}

std::string made_text(const Provenance& provenance) {
  if (provenance.maker == nullptr) return "";
  const bool is_cast = provenance.steps.back().kind == ProvenanceStep::Kind::kCast;
  const auto made = provenance.maker->result_dtype();  // of a complex one another, by stft() say
  const bool is_other = made && DtypeSet(*made) == complex_or_real(provenance.dtypes);
  return fmt::format(
      "{}{} {} by {}{}{}", provenance.is_probable ? "probably " : "",
      is_cast ? "cast to" : "made in", is_other ? dtype_name(*made) : provenance.dtypes.to_string(),
      made_by(*provenance.maker), provenance.is_from_worker ? " in a DataLoader worker" : "",
      source_text(*provenance.maker));
}

std::string how_made(const Provenance& provenance) {
  const std::string made = provenance.maker == nullptr ? "" : "was " + made_text(provenance);
  if (provenance.parameter != nullptr) {
    return fmt::format("is {} because {} is{}{}", provenance.dtypes.to_string(),
                       provenance.parameter->parameter, made.empty() ? "" : ", which ", made);
  }
  if (provenance.is_gradient) return "is a gradient, and has the dtype of what it is of";
  if (!made.empty() || !provenance.is_from_worker) return made;
  const auto first = std::find_if(provenance.steps.begin(), provenance.steps.end(),
                                  [](const ProvenanceStep& step) { return step.is_in_worker; });
  return fmt::format("came {}from a DataLoader worker, from {}",
                     provenance.is_probable ? "probably " : "", made_by(*first->call));
}

std::string made_from(const Provenance& provenance) {
  const std::string made = made_text(provenance);
  if (provenance.parameter != nullptr) {
    return fmt::format(" (from {}{}{})", provenance.parameter->parameter, made.empty() ? "" : ", ",
                       made);
  }
  if (made.empty()) return "";
  return provenance.is_from_worker ? fmt::format(" ({})", made)
                                   : fmt::format(" (from {})", made_by(*provenance.maker));
}

}  // namespace dtypecheck
