// policy.h: which part is kept in what, computes in what, is trained in what and saved in what.
// Weights and the trainer ask it; nothing else in the runtime chooses a dtype.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/version.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/layers.h"

namespace dtypecheck::runtime {

// Everywhere, whatever the policy: latents, noise, schedule, time and size ids, loss.
constexpr at::ScalarType kBorderDtype = at::kFloat;

// For weights that are only looked at.
constexpr at::ScalarType kAsStored = at::ScalarType::Undefined;

// From LibTorch 2.0 on. It sums in Float whatever it is given.
constexpr bool kHasFusedAttention = TORCH_VERSION_MAJOR >= 2;

struct PartPolicy {
  at::ScalarType stored;   // frozen weights in memory, but those of norms
  at::ScalarType compute;  // linear layers, convolutions, the products of attention
  at::ScalarType norm;     // norms with their weights, softmax, embeddings
  std::optional<at::ScalarType> table = std::nullopt;  // the token table in memory; none: as stored
  // What enters a layer is cast to what the layer computes in. Without it each layer takes what
  // comes, as models do that trust their inputs to fit.
  bool casts = true;
  bool fused_attention = kHasFusedAttention;  // LibTorch's scaled_dot_product_attention
  bool fused_norm = false;                    // T5: one op that wants input and weight in one dtype
  at::Device device = at::kCPU;               // where its weights are and it computes

  std::optional<at::ScalarType> computes() const { return if_cast(compute); }
  std::optional<at::ScalarType> norms() const { return if_cast(norm); }
  AttentionPolicy attention() const { return {norms(), fused_attention}; }
  // The stream that layers add to, in T5.
  std::optional<at::ScalarType> residuals() const { return if_cast(kBorderDtype); }

 private:
  std::optional<at::ScalarType> if_cast(at::ScalarType dtype) const {
    return casts ? std::optional(dtype) : std::nullopt;
  }
};

struct TrainedPolicy {
  at::ScalarType stored;                 // what forward sees; gradients come in it
  std::optional<at::ScalarType> master;  // what the optimizer steps; none: the weights themselves
  at::ScalarType saved;
  at::ScalarType unscaled = at::kFloat;  // gradients, when they are divided by the loss scale
  at::ScalarType state = at::kFloat;     // AdamW's two moments
  bool stochastic_rounding = false;      // of a step that BFloat16 weights without masters take
};

struct DtypePolicy {
  std::string name;
  PartPolicy text_encoders, vae, unet;
  TrainedPolicy trained;
  bool scale_loss;  // gradients of a Half computation underflow without it
  PartPolicy t5 = text_encoders;
};

// What is trained goes with the part; random numbers and what is read come from the CPU everywhere.
void put_on(DtypePolicy& policy, at::Device device);

// fp32, bf16, bf16-mixed or fp16-mixed, or what a JSON file says (policy_file.cpp has its keys).
// Throws InputError for another name, and for a file with a key or a dtype that is unknown.
DtypePolicy find_policy(const std::string& name);
DtypePolicy read_policy(const std::string& path);
bool is_policy_file(const std::string& name);  // by its ending

// Why this policy cannot work here, a line each; none for a sound one.
struct PolicyContext {
  double adam_eps = 1e-8;
  bool vae_overflows_half = true;  // force_upcast in the VAE's config
};
std::vector<std::string> why_broken(const DtypePolicy& policy, const PolicyContext& context);

std::vector<std::string> why_part_broken(const std::string& name, const PartPolicy& part);

const char* dtype_name_of(at::ScalarType dtype);

}  // namespace dtypecheck::runtime
