#include "runtime/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/version.h>

#include <cmath>

#include "platform/error.h"
#include "runtime/train.h"

namespace dtypecheck::runtime {

static constexpr at::ScalarType F = at::kFloat, B = at::kBFloat16, H = at::kHalf;
static constexpr std::nullopt_t none = std::nullopt;

// The VAE's activations leave Half's range; a step is smaller than half the spacing of 16-bit
// weights.
// clang-format off
static const std::vector<DtypePolicy> kPolicies = {
    //            text encoders  vae        unet       trained       loss
    //            stored         stored     stored     stored        scaled
    //               compute        compute    compute    master
    //                  norm           norm       norm          saved
    {"fp32",       {F, F, F},    {F, F, F}, {F, F, F}, {F, none, F}, false},
    {"bf16",       {B, B, F},    {B, B, F}, {B, B, F}, {B, F,    B}, false},
    {"bf16-mixed", {B, B, F},    {F, F, F}, {B, B, F}, {F, none, F}, false},
    {"fp16-mixed", {H, H, F},    {F, F, F}, {H, H, F}, {F, none, F}, true},
};
// clang-format on

// 2.6 is known to have Half norms, products and convolutions on the CPU, 1.13 has none.
static constexpr bool kHasHalfKernels = TORCH_VERSION_MAJOR > 2 ||
                                        (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 6);

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const DtypePolicy& policy : kPolicies) names.push_back(policy.name);
  return names;
}

bool is_policy_file(const std::string& name) { return name.ends_with(".json"); }

DtypePolicy find_policy(const std::string& name) {
  if (is_policy_file(name)) return read_policy(name);
  for (const DtypePolicy& policy : kPolicies) {
    if (policy.name == name) return policy;
  }
  throw InputError(fmt::format("unknown policy {}; expected one of {}, or a .json file", name,
                               fmt::join(policy_names(), ", ")));
}

void put_on(DtypePolicy& policy, at::Device device) {
  policy.text_encoders.device = policy.vae.device = policy.unet.device = device;
}

static bool is_zero_in(double value, at::ScalarType dtype) {
  if (dtype == at::kHalf) return static_cast<float>(c10::Half(static_cast<float>(value))) == 0;
  return static_cast<float>(value) == 0;
}

std::vector<std::string> why_part_broken(const std::string& name, const PartPolicy& part) {
  std::vector<std::string> reasons;
  const bool uses_half = part.compute == at::kHalf || part.norm == at::kHalf ||
                         (!part.casts && part.stored == at::kHalf);
  if (uses_half && !kHasHalfKernels && part.device.is_cpu()) {
    reasons.push_back(
        fmt::format("{} in float16: LibTorch {} has no such kernels for the CPU; "
                    "take bfloat16",
                    name, TORCH_VERSION));
  }
  const bool all_float = part.stored == kBorderDtype && part.norm == kBorderDtype &&
                         part.table.value_or(kBorderDtype) == kBorderDtype;
  if (!part.casts && !all_float) {
    reasons.push_back(
        fmt::format("{} with casts false: it is kept in {} and its inputs are "
                    "float32; leave casts on",
                    name, dtype_name_of(part.stored)));
  }
  return reasons;
}

static void judge_trained(const TrainedPolicy& trained, const PolicyContext& context,
                          std::vector<std::string>& reasons) {
  const bool is_stepped_in_place = !trained.master && trained.stored != kBorderDtype;
  if (trained.stored == at::kHalf && is_stepped_in_place) {
    reasons.push_back(
        "trained weights in float16 without masters: steps and gradients vanish in "
        "it; give master float32");
  } else if (is_stepped_in_place && !trained.stochastic_rounding) {
    reasons.push_back(
        fmt::format("trained weights in {} without masters: steps round away; give "
                    "master float32, or rounding stochastic",
                    dtype_name_of(trained.stored)));
  }
  if (trained.stochastic_rounding && (trained.stored != at::kBFloat16 || trained.master)) {
    reasons.push_back("rounding stochastic: is for weights in bfloat16 without masters");
  }
  if (trained.master && *trained.master != kBorderDtype) {
    reasons.push_back(
        fmt::format("masters in {}: they are there to hold what the weights cannot; "
                    "give float32",
                    dtype_name_of(*trained.master)));
  }
  if (trained.unscaled == at::kHalf) {
    reasons.push_back("gradients unscaled in float16: those below 6e-8 become 0; give float32");
  }
  if (is_zero_in(context.adam_eps, trained.state)) {
    reasons.push_back(
        fmt::format("AdamW's state in {}: its eps of {:g} is 0 there, and the first "
                    "step divides by 0; give float32",
                    dtype_name_of(trained.state), context.adam_eps));
  }
}

std::vector<std::string> why_broken(const DtypePolicy& policy, const PolicyContext& context) {
  std::vector<std::string> reasons;
  for (const auto& [name, part] : {std::pair("text_encoders", policy.text_encoders),
                                   std::pair("vae", policy.vae), std::pair("unet", policy.unet)}) {
    for (std::string& reason : why_part_broken(name, part)) reasons.push_back(std::move(reason));
  }
  if (policy.vae.compute == at::kHalf && context.vae_overflows_half) {
    reasons.push_back(
        "vae in float16: SDXL's activations are beyond its range, and images come "
        "out as NaN; take float32 or bfloat16");
  }
  judge_trained(policy.trained, context, reasons);
  return reasons;
}

}  // namespace dtypecheck::runtime
