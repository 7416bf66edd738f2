// train_lora.h: the whole of training a LoRA, from folders to a file. No LibTorch in here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dtypecheck::runtime {

struct TrainOptions {
  std::string model, images, prompt, policy = "fp32", out;
  int64_t rank = 4, steps = 500, resolution = 1024, batch_size = 1;
  uint64_t seed = 0;
  double learning_rate = 1e-4, most_gradient_norm = 1, adam_eps = 1e-8;
  bool keep_broken = false;  // runs what the policy makes impossible
};

struct Progress {
  int64_t step, steps;
  double loss, scale;
  bool stepped;
};

// Trains and saves. `report` is called after each step; where it answers false, training ends there
// and saves what it has. Returns the steps done. Throws InputError, also for what LibTorch throws.
int64_t train_lora(const TrainOptions& options, const std::function<bool(const Progress&)>& report);

// What T5 makes of the tokens, in words: how large its states are.
std::string encode_t5(const std::string& folder, const std::vector<int64_t>& tokens,
                      const std::string& policy, bool keep_broken);

std::vector<std::string> policy_names();

}  // namespace dtypecheck::runtime
