// Finds: training whose gradients autocast, or Half weights with Float copies, compute in Half
// while nothing scales the loss; a loss that is the mean of many numbers in Half; gradients that
// are clipped while they are scaled, or stepped on; a GradScaler that leaves out every step, or is
// there where only BFloat16 is computed.
// Misses: a loss whose backward pass begins with a gradient of the program's own. Silent where the
// loss is multiplied by a number before backward(), which is a loss scale of one's own, and where
// the trace has lost calls.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "rules/cures/cures.h"
#include "rules/cures/mix_cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/losses.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

constexpr uint64_t kManySteps = 8;  // from 65536 down to 256
constexpr size_t kMostKept = 16;    // of each kind: a GAN has two optimizers

struct ScaledTraining {
  const OpCall* loss = nullptr;         // ones_like, with which backward() begins
  const OpCall* gradient = nullptr;     // the first op of a backward pass that computes in Half
  std::vector<const OpCall*> unscales;  // the first of a GradScaler that divide gradients
  std::vector<const OpCall*> clips;     // the first that shorten gradients
  const OpCall* averaged = nullptr;     // a loss that is a mean in Half, of many numbers …
  double averaged_count = 0;            // … and of how many
  uint64_t updates = 0;                 // of the scale: one a step, whether it was made or left out
  const OpCall* scaled = nullptr;       // a loss that a GradScaler multiplied …
  double scale = 0;                     // … by this
  const OpCall* step = nullptr;         // the first of a trained parameter
  bool has_scaler = false, scales_by_hand = false, divides_by_hand = false;
  bool has_half = false, has_bfloat16 = false;  // autocast opened for it
  bool has_half_weights = false;                // which have gradients
  bool steps_float = false;                     // a trained Float parameter
  bool steps_half = false;                      // of which fp16-trainable speaks
};

bool computes_in(const OpCall& call, Dtype dtype) {
  const auto is_low = [&](const Operand& operand) { return operand.dtypes == DtypeSet(dtype); };
  return std::any_of(call.results.begin(), call.results.end(), is_low);
}

// max_norm / (norm + eps): the arithmetic of one number.
bool comes_of_norm(const RunIndex& index, const OpCall& factor) {
  constexpr int kMostSteps = 4;
  const OpCall* at = &factor;
  for (int step = 0; at != nullptr && step < kMostSteps; ++step) {
    if (at->short_op().ends_with("norm")) return true;
    if (at->operands.empty()) return false;
    at = index.run().call(at->operands.front().origin);
  }
  return false;
}

// clip_grad_norm_ multiplies by max_norm / norm, which it clamps to 1, and others do so where it is
// below 1; clip_grad_value_ clamps.
bool is_clip(const RunIndex& index, const OpCall& call) {
  const ops::OpName name = ops::parse_op_name(call.op);
  if (call.operands.empty() || !call.operands.front().is_written) return false;
  if (name.base == "clamp" || name.base == "_foreach_clamp_min" ||
      name.base == "_foreach_clamp_max")
    return true;
  if (name.base != "mul" && name.base != "_foreach_mul") return false;
  const OpCall* factor = index.run().call(call.operands.back().origin);
  return factor != nullptr && (factor->short_op() == "clamp" || comes_of_norm(index, *factor));
}

// The two calls write the same tensors: gradients, which a backward pass made.
bool write_the_same(const RunIndex& index, const OpCall& a, const OpCall& b) {
  std::set<OpCallId> made;
  for (const Operand& operand : a.operands) {
    const OpCall* origin = index.run().call(operand.origin);
    if (operand.is_written && origin != nullptr && origin->site.phase == Phase::kBackward)
      made.insert(origin->id);
  }
  return std::any_of(b.operands.begin(), b.operands.end(), [&](const Operand& operand) {
    return operand.is_written && made.contains(operand.origin);
  });
}

// A GradScaler makes its scale where it first scales a loss, and a counter in Int beside it.
std::optional<double> scale_of_scaler(const RunIndex& index, const OpCall* loss) {
  if (loss == nullptr || loss->short_op() != "mul" || loss->operands.size() < 2) return {};
  const OpCall* scale = index.run().call(loss->operands[1].origin);
  const ScalarArgument* value = scale == nullptr ? nullptr : scale->scalar("fill_value");
  if (value == nullptr || value->value <= 1) return {};
  const auto& calls = index.run().calls;
  const bool has_counter = std::any_of(calls.begin(), calls.end(), [&](const OpCall& other) {
    return other.process == scale->process && other.op == scale->op &&
           other.site.line == scale->site.line && other.result_dtype() == Dtype::kInt;
  });
  return has_counter ? std::optional(value->value) : std::nullopt;
}

// p.grad.div_(scale): what no clipping does is an unscaling of the program's own.
bool divides_gradient(const RunIndex& index, const OpCall& call) {
  const ops::OpName name = ops::parse_op_name(call.op);
  if (!name.in_place || (name.base != "div" && name.base != "mul") || call.operands.empty() ||
      is_clip(index, call))
    return false;
  const OpCall* made = index.run().call(call.operands.front().origin);
  return made != nullptr && made->site.phase == Phase::kBackward;
}

// mean() hands 1 / count to each number; below 2^-14 Half has lost digits.
constexpr double kManyInHalf = 1 << 14;

double averaged_in_half(const OpCall& loss) {
  const std::string op = loss.short_op();
  const ScalarArgument* reduction = loss.scalar("reduction");
  const bool is_mean =
      op == "mean" || (reduction != nullptr ? reduction->value == 1 : op.ends_with("_loss"));
  if (!is_mean || loss.operands.empty() || !loss.operands.front().has_shape) return 0;
  if (loss.operands.front().dtypes != DtypeSet(Dtype::kHalf)) return 0;
  const bool has_labels =
      loss.operands.size() > 1 && loss.operands[1].dtypes.within(DtypeSet(Dtype::kLong));
  return element_count(loss.operands[has_labels ? 1 : 0]);
}

void collect(const RunIndex& index, const OpCall& call, ScaledTraining& training) {
  const Run& run = index.run();
  if (index.has(call, ops::kScalesGradients)) {
    training.has_scaler = true;
    const bool unscales = call.op.find("unscale") != std::string::npos;
    if (unscales && training.unscales.size() < kMostKept) training.unscales.push_back(&call);
    if (call.op.find("update_scale") != std::string::npos) training.updates += call.count;
  }
  // A loss in Float hands its gradient on by a cast, which computes nothing.
  const bool is_better =
      training.gradient == nullptr ||
      (index.has(*training.gradient, ops::kCast) && !index.has(call, ops::kCast));
  if (call.site.phase == Phase::kBackward && is_better && computes_in(call, Dtype::kHalf))
    training.gradient = &call;
  if (call.short_op() == "ones_like" && !call.operands.empty() &&
      call.operands.front().requires_grad && !call.operands.front().is_leaf) {
    if (training.loss == nullptr) training.loss = &call;
    const OpCall* made = run.call(call.operands.front().origin);
    const double count = made == nullptr ? 0 : averaged_in_half(*made);
    if (count >= kManyInHalf) {
      training.averaged = made;
      training.averaged_count = count;
    }
    training.scales_by_hand |= made == nullptr || is_scaled_loss(*made);
    if (const auto scale = scale_of_scaler(index, made))
      training.scaled = made, training.scale = *scale;
  }
  if (training.clips.size() < kMostKept && is_clip(index, call)) training.clips.push_back(&call);
  for (const AutocastState::Region& region : call.autocast.enabled) {
    training.has_half |= region.dtype == Dtype::kHalf;
    training.has_bfloat16 |= region.dtype == Dtype::kBFloat16;
  }
  const auto is_trained_half = [](const Operand& operand) {
    return is_parameter(operand) && operand.requires_grad && operand.is_leaf &&
           operand.dtypes == DtypeSet(Dtype::kHalf);
  };
  training.has_half_weights |=
      call.site.phase == Phase::kForward &&
      std::any_of(call.operands.begin(), call.operands.end(), is_trained_half);
  training.steps_float |= index.stepped_parameter(call, Dtype::kFloat) != nullptr;
  training.steps_half |= index.stepped_parameter(call, Dtype::kHalf) != nullptr;
  if (training.step == nullptr && index.stepped_parameter(call, kFloating) != nullptr)
    training.step = &call;
  training.divides_by_hand |= divides_gradient(index, call);
}

void report_missing(const RunIndex& index, const ScaledTraining& training, Findings& out) {
  out.add(*training.loss, "gradients are computed in Half, and the loss is not scaled", [&] {
    return Details{
        .why =
            fmt::format("{} backward() compute in Half{}: a gradient below "
                        "6e-8 is 0 there, one below 6e-5 has lost digits; a GradScaler "
                        "multiplies the loss, so that gradients stay above that",
                        training.has_half ? "autocast in Half makes"
                                          : "weights in Half, of which Float copies are stepped, "
                                            "make",
                        at_place(training.gradient->site)),
        .fix =
            "scaler = torch.amp.GradScaler(); scaler.scale(loss).backward(); "
            "scaler.step(optimizer); scaler.update(). Or autocast in torch.bfloat16, which has "
            "the range of Float",
        .cures = {CureProposer(index, out.options())
                      .rewrite(*training.loss, Dtype::kFloat, "scaled",
                               "scale the loss by a torch.amp.GradScaler that is enabled, and step "
                               "and update by it")}};
  });
}

void report_clipped(const RunIndex& index, const OpCall& clip, const OpCall& unscale,
                    Findings& out) {
  out.add(clip, "gradients are clipped while they are scaled", [&] {
    return Details{.odd = clip.operands.front().name,
                   .why = fmt::format(
                       "GradScaler divides gradients by its scale, 65536 at first, only{}; before "
                       "that nearly all of them are above the limit, and what is cut to it "
                       "becomes that many times smaller",
                       at_place(unscale.site)),
                   .cures = {CureProposer(index, out.options())
                                 .rewrite(clip, Dtype::kFloat, "unscale",
                                          "call scaler.unscale_(optimizer) before the clipping")}};
  });
}

// Each that comes before the scaler divides the same gradients.
void report_clips(const RunIndex& index, const ScaledTraining& training, Findings& out) {
  for (const OpCall* clip : training.clips) {
    const auto& all = training.unscales;
    const auto divides = std::find_if(all.begin(), all.end(), [&](const OpCall* unscale) {
      return write_the_same(index, *clip, *unscale);
    });
    if (divides != all.end() && clip->id < (*divides)->id)
      report_clipped(index, *clip, **divides, out);
  }
}

void report_never_unscaled(const ScaledTraining& training, Findings& out) {
  out.add(*training.step, "the optimizer steps on gradients that are still scaled", [&] {
    return Details{
        .why = fmt::format("a GradScaler multiplies the loss by {:.0f}{}, and nothing divides the "
                           "gradients by that: scaler.step(optimizer) does, and leaves out steps "
                           "whose gradients are infinite",
                           training.scale, at_place(training.scaled->site)),
        .fix = "scaler.step(optimizer) and scaler.update() in place of optimizer.step()"};
  });
}

void report_needless(const ScaledTraining& training, Findings& out) {
  out.add(*training.unscales.front(),
          "a GradScaler scales gradients, but nothing is computed in Half", [&] {
            return Details{
                .why =
                    "BFloat16 has the range of Float, so that its gradients need no scale; "
                    "the scaler costs a pass over all gradients, and grows its scale until a "
                    "step overflows and is left out",
                .fix = "for bfloat16 make it with enabled=False, or leave it out",
                .severity = Severity::kNote};
          });
}

void report_averaged(const RunIndex& index, const OpCall& loss, double count, Findings& out) {
  const std::string message = fmt::format("the loss is the mean of {:.0f} numbers in Half", count);
  out.add(loss, message, [&] {
    return Details{
        .odd = loss.operands.front().name,
        .why = fmt::format("the gradient of each starts at {:.2g}; Half loses digits below 6e-5 "
                           "and everything below 6e-8, so a small difference has a gradient of 0",
                           1 / count),
        .fix = "compute the loss in Float: pred.float(), target.float()",
        .cures = loss_cures(index, out.options(), loss)};
  });
}

void report_left_out(const ScaledTraining& training, Findings& out) {
  const std::string message =
      fmt::format("a GradScaler left out all of {} steps", training.updates);
  out.add(*training.unscales.front(), message, [&] {
    return Details{.why =
                       "a step is left out if a gradient is infinite or NaN, and the scale is "
                       "halved; a few such steps at the start are normal, but these are too many "
                       "for the scale to be the reason",
                   .fix =
                       "record the run with --check-values: it names the op that gave the first "
                       "infinity or NaN"};
  });
}

void check_run(const RunIndex& index, Findings& out) {
  std::map<uint32_t, ScaledTraining> processes;
  for (const OpCall& call : index.judged_calls()) collect(index, call, processes[call.process]);
  for (const auto& [process, training] : processes) {
    if (index.run().processes[process].signatures_lost > 0) continue;
    const bool has_half_copies = training.has_half_weights && !training.steps_half;
    const bool trains_in_half = (training.has_half || has_half_copies) &&
                                training.gradient != nullptr && training.loss != nullptr &&
                                training.steps_float;
    if (trains_in_half && !training.has_scaler && !training.scales_by_hand)
      report_missing(index, training, out);
    if (training.averaged != nullptr)
      report_averaged(index, *training.averaged, training.averaged_count, out);
    if (training.scaled != nullptr && !training.has_scaler && training.step != nullptr &&
        !training.divides_by_hand)
      report_never_unscaled(training, out);
    if (training.unscales.empty()) continue;
    if (training.updates >= kManySteps && training.step == nullptr) report_left_out(training, out);
    report_clips(index, training, out);
    if (training.has_bfloat16 && !training.has_half && training.gradient == nullptr)
      report_needless(training, out);
  }
}

}  // namespace

const Rule grad_scaler = {
    .doc = {.id = "grad-scaler",
            .severity = Severity::kWarning,
            .summary = "gradients in Half are not scaled, or are clipped while they are scaled",
            .why = "The smallest number of Half is 6e-8, and many gradients are smaller: without a "
                   "scale they are 0, and nothing says so. A scaled gradient is some 65536 times "
                   "larger, so a limit that it is clipped to means something else.",
            .fix =
                "Scale the loss by torch.amp.GradScaler, and call its unscale_(optimizer) before "
                "gradients are clipped; or autocast in BFloat16, without a scaler.",
            .example = R"(
op aten::mm self=Half[4,8] mat2=Half[8,1]^ -> Half[4,1]^ at train.py:10 phase forward step 1-3 count 3 autocast cpu:Half inner
op aten::mse_loss self=Float[4,1]^ target=Float[4,1] -> Float[]^ at train.py:11 phase forward step 1-3 count 3 autocast cpu:Half
op aten::ones_like self=Float[]<#2^ -> Float[] at train.py:12 phase forward step 1-3 count 3
# EXPECT train.py:12: warning: gradients are computed in Half, and the loss is not scaled [grad-scaler]
# EXPECT-FIX scale the loss by a torch.amp.GradScaler
op aten::mm self=Half[8,4] mat2=Half[4,1] -> Half[8,1] at train.py:10 phase backward step 1-3 count 3
op aten::addcdiv_ self=Float[8,1]%net.weight!out^^ tensor1=Float[8,1] tensor2=Float[8,1] -> Float[8,1] at train.py:13 phase optimizer step 1-3 count 3
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
