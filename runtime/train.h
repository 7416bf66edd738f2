// train.h: the whole of training, from folders to a file or a folder. No LibTorch in here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dtypecheck::runtime {

struct TrainOptions {
  bool full = false;  // every weight of the UNet, not a LoRA
  std::string model, images, prompt, policy = "fp32", out;
  int64_t rank = 4, steps = 500, resolution = 1024, batch_size = 1;
  uint64_t seed = 0;
  double learning_rate = 1e-4, most_gradient_norm = 1, adam_eps = 1e-8;
  double min_snr_gamma = 0, ema_decay = 0;  // 0: none
  bool keep_broken = false;                 // runs what the policy makes impossible
  bool recompute = false;                   // gradient checkpointing
  bool kohya_names = false;                 // of the LoRA's tensors
  int64_t checkpoint_every = 0;             // steps; 0: only when interrupted
  std::string resume;                       // a checkpoint; empty: from the start
  std::string validation_prompt;            // empty: no image is made
  int64_t validation_steps = 20;
  std::string device = "cpu";  // or cuda, cuda:1
};

struct Progress {
  int64_t step, steps;
  double loss, scale;
  bool stepped;
};

// Trains and saves. `report` is called after each step; where it answers false, training ends there
// and saves what it has, with a checkpoint. Returns the step it ended at. Throws InputError, also
// for what LibTorch throws.
int64_t train(const TrainOptions& options, const std::function<bool(const Progress&)>& report);

// Throws InputError for a folder that is no diffusers folder at all.
void require_model(const std::string& model);

std::string checkpoint_path(const TrainOptions& options);
std::string validation_path(const TrainOptions& options);

// What T5 makes of the tokens, in words: how large its states are.
std::string encode_t5(const std::string& folder, const std::vector<int64_t>& tokens,
                      const std::string& policy, bool keep_broken);

std::vector<std::string> policy_names();

}  // namespace dtypecheck::runtime
