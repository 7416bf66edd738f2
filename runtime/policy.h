// policy.h: which part is kept in what, computes in what, is trained in what and saved in what.
// Weights and the trainer ask it; nothing else in the runtime chooses a dtype.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

namespace dtypecheck::runtime {

struct PartPolicy {
  at::ScalarType stored;   // frozen weights in memory, but those of norms
  at::ScalarType compute;  // linear layers, convolutions, the products of attention
  at::ScalarType norm;     // norms with their weights, softmax, embeddings
};

struct TrainedPolicy {
  at::ScalarType stored;                 // what forward sees; gradients come in it
  std::optional<at::ScalarType> master;  // what the optimizer steps; none: the weights themselves
  at::ScalarType saved;
};

struct DtypePolicy {
  std::string name;
  PartPolicy text_encoders, vae, unet;
  TrainedPolicy lora;
  bool scale_loss;  // gradients of a Half computation underflow without it
};

// fp32, bf16, bf16-mixed or fp16-mixed; throws InputError for another name.
const DtypePolicy& find_policy(const std::string& name);

// Everywhere, whatever the policy: latents, noise, schedule, time and size ids, loss.
constexpr at::ScalarType kBorderDtype = at::kFloat;

}  // namespace dtypecheck::runtime
