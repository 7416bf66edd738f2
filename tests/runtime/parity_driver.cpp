// Runs one part of the runtime on tensors of a file, for parity.py to compare with diffusers:
//   runtime_parity PART FOLDER POLICY IN.safetensors OUT.safetensors
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "platform/error.h"
#include "runtime/lora.h"
#include "runtime/schedule.h"
#include "runtime/t5_encoder.h"
#include "runtime/text_encoder.h"
#include "runtime/train_step.h"
#include "runtime/training_data.h"
#include "runtime/unet.h"
#include "runtime/vae.h"
#include "runtime/weights.h"

namespace dtypecheck::runtime {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

Tensors load(const std::string& path) {
  const auto file = std::make_shared<const SafetensorsFile>(path);
  Tensors tensors;
  for (const StoredTensor& tensor : file->tensors()) {
    tensors[tensor.name] = tensor_of(file, tensor).clone();
  }
  return tensors;
}

Tensors run_text_encoder(const std::string& folder, const DtypePolicy& policy, const Tensors& in,
                         bool has_projection) {
  const TextEncoder encoder(folder, policy.text_encoders, has_projection);
  const EncodedText text = encoder(in.at("tokens"));
  Tensors out = {{"states", text.states}};
  if (has_projection) out["pooled"] = text.pooled;
  return out;
}

Tensors run_t5(const std::string& folder, const DtypePolicy& policy, const Tensors& in) {
  return {{"states", T5Encoder(folder, policy.t5)(in.at("tokens"))}};
}

Tensors run_vae(const std::string& folder, const DtypePolicy& policy, const Tensors& in) {
  const Vae vae(folder, policy.vae);
  const Vae::Moments moments = vae.encode(in.at("pixels"));
  return {
      {"mean", moments.mean}, {"logvar", moments.logvar}, {"pixels", vae.decode(in.at("latents"))}};
}

Tensors run_unet(const std::string& folder, const DtypePolicy& policy, const Tensors& in) {
  const Unet unet(folder, policy.unet);
  return {{"prediction", unet({in.at("latents"), in.at("timesteps"), in.at("text"), in.at("pooled"),
                               in.at("size_ids")})}};
}

// Seven steps with a UNet that always says the same.
at::Tensor run_euler(const Schedule& schedule, at::Tensor x, const at::Tensor& prediction) {
  for (const Schedule::EulerStep& step : schedule.euler_steps(7)) {
    x = schedule.euler_step(step, x, prediction);
  }
  return x;
}

Tensors run_schedule(const std::string& folder, const Tensors& in) {
  const Schedule schedule(read_schedule_config(folder));
  const at::Tensor &x = in.at("latents"), &noise = in.at("noise"), &t = in.at("timesteps");
  return {{"signal_shares", schedule.signal_shares()},
          {"noisy", schedule.add_noise(x, noise, t)},
          {"target", schedule.target(x, noise, t)},
          {"weights", schedule.loss_weights(t, 5)},
          {"euler", run_euler(schedule, x, noise)}};
}

// Steps on the same batch with a LoRA that is given; `folder` is the whole model.
Tensors run_training(const std::string& folder, const DtypePolicy& policy, const Tensors& in) {
  Unet unet(folder + "/unet", policy.unet);
  const Schedule schedule(read_schedule_config(folder + "/scheduler"));
  const at::Generator random;
  const int64_t rank = in.at("rank").item<int64_t>();
  std::vector<TrainedTensor> lora = add_lora(unet, rank, policy.trained, random);
  for (TrainedTensor& t : lora) {
    const at::Tensor& start = in.at(t.name);
    t.weight.detach().copy_(start);
    t.master.detach().copy_(start);
  }
  const Batch batch{in.at("latents"), in.at("noise"),  in.at("timesteps"),
                    in.at("text"),    in.at("pooled"), in.at("size_ids")};
  Tensors out;
  training_loss(unet, schedule, batch, {}).backward();
  for (const TrainedTensor& t : lora) out["gradient." + t.name] = t.weight.grad().clone();
  for (TrainedTensor& t : lora) t.weight.mutable_grad().reset();
  AdamW optimizer(lora, {.rate = 1e-3});
  GradScaler scaler(policy.scale_loss);
  std::vector<double> losses;
  for (int64_t i = 0; i < in.at("steps").item<int64_t>(); ++i) {
    losses.push_back(train_step(unet, schedule, batch, lora, optimizer, scaler, {0.5}).loss);
  }
  out["losses"] = at::tensor(losses, at::kDouble);
  for (const TrainedTensor& t : lora) out[t.name] = t.master;
  return out;
}

Tensors run_crop(const std::string& image, const Tensors& in) {
  const Crop crop = crop_to_square(read_image(image), in.at("side").item<int64_t>());
  return {{"pixels", crop.pixels}, {"size_ids", crop.size_ids}};
}

// Only reads, so that names and shapes are checked; the weights may be nothing but zeros.
Tensors run_load(const std::string& model, const DtypePolicy& policy) {
  const TextEncoder encoder1(model + "/text_encoder", policy.text_encoders, false);
  const TextEncoder encoder2(model + "/text_encoder_2", policy.text_encoders, true);
  const Vae vae(model + "/vae", policy.vae);
  Unet unet(model + "/unet", policy.unet);
  int64_t projections = 0;
  unet.for_each_projection([&](const std::string&, Linear&) { ++projections; });
  return {{"projections", at::scalar_tensor(projections, at::kLong)}};
}

Tensors run(const std::string& part, const std::string& folder, const DtypePolicy& policy,
            const Tensors& in) {
  if (part == "text_encoder") return run_text_encoder(folder, policy, in, false);
  if (part == "text_encoder_2") return run_text_encoder(folder, policy, in, true);
  if (part == "t5") return run_t5(folder, policy, in);
  if (part == "vae") return run_vae(folder, policy, in);
  if (part == "unet") return run_unet(folder, policy, in);
  if (part == "schedule") return run_schedule(folder, in);
  if (part == "training") return run_training(folder, policy, in);
  if (part == "load") return run_load(folder, policy);
  if (part == "crop") return run_crop(folder, in);
  throw InputError(part + ": is no part");
}

// One text a line on stdin, its token ids a line on stdout.
int tokenize(const std::string& folder) {
  const ClipTokenizer tokenizer(folder);
  for (std::string line; std::getline(std::cin, line);) {
    std::string ids;
    for (const int64_t id : tokenizer.encode(line)) ids += fmt::format("{} ", id);
    std::cout << ids << '\n';
  }
  return 0;
}

}  // namespace
}  // namespace dtypecheck::runtime

int main(int argc, char** argv) {
  using namespace dtypecheck::runtime;
  try {
    if (argc == 3 && std::string(argv[1]) == "tokenize") return tokenize(argv[2]);
    if (argc != 6) throw dtypecheck::InputError("expected PART FOLDER POLICY IN OUT");
    save_tensors(argv[5], run(argv[1], argv[2], find_policy(argv[3]), load(argv[4])), {});
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "runtime_parity: " << error.what() << '\n';
    return 2;
  }
}
