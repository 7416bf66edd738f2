#include "runtime/policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "core/error.h"
#include "runtime/train_lora.h"

namespace dtypecheck::runtime {

static constexpr at::ScalarType F = at::kFloat, B = at::kBFloat16, H = at::kHalf;
static constexpr std::nullopt_t none = std::nullopt;

// The VAE's activations leave Half's range; a step is smaller than half the spacing of 16-bit
// weights.
// clang-format off
static const std::vector<DtypePolicy> kPolicies = {
    //            text encoders  vae        unet       lora          loss
    //            stored         stored     stored     stored        scaled
    //               compute        compute    compute    master
    //                  norm           norm       norm          saved
    {"fp32",       {F, F, F},    {F, F, F}, {F, F, F}, {F, none, F}, false},
    {"bf16",       {B, B, F},    {B, B, F}, {B, B, F}, {B, F,    B}, false},
    {"bf16-mixed", {B, B, F},    {F, F, F}, {B, B, F}, {F, none, F}, false},
    {"fp16-mixed", {H, H, F},    {F, F, F}, {H, H, F}, {F, none, F}, true},
};
// clang-format on

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const DtypePolicy& policy : kPolicies) names.push_back(policy.name);
  return names;
}

const DtypePolicy& find_policy(const std::string& name) {
  for (const DtypePolicy& policy : kPolicies) {
    if (policy.name == name) return policy;
  }
  throw InputError(
      fmt::format("unknown policy {}; expected one of {}", name, fmt::join(policy_names(), ", ")));
}

}  // namespace dtypecheck::runtime
