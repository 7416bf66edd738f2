#include "cli/demo_failures.h"

namespace dtypecheck::cli {

static std::vector<std::string> train(const std::string& model) {
  return {"lora",
          "--model",
          model + "/model",
          "--images",
          model + "/images",
          "--resolution",
          "64",
          "--rank",
          "2",
          "--steps",
          "3",
          "--seed",
          "1",
          "--out",
          "lora.safetensors"};
}

const std::vector<DemoFailure>& demo_failures() {
  static const std::vector<DemoFailure> failures = {
      {.name = "cpu-half-norm",
       .title = "float16 asked for, and no GPU there",
       .reported = "huggingface/autotrain-advanced issue 501, DreamBooth of SDXL",
       .story = "mixed precision fp16 moves the text encoders to Half; without a GPU their layer "
                "norms run on the CPU, which had no kernel for them before LibTorch 2.3",
       .arguments = train("tiny"),
       .broken = R"({"base": "fp16-mixed", "text_encoders": {"norm": "float16"}})",
       .fixed = "bf16-mixed",
       .says = "",
       .said_in_1_13 = "\"LayerNormKernelImpl\" not implemented for 'Half'",
       .damage = "none in this LibTorch, which has the kernel; 1.13 raised "
                 "\"LayerNormKernelImpl\" not implemented for 'Half'",
       .rules = {"cpu-half-norm"},
       .cure = "norms in float32, whatever the rest computes in; BFloat16 for what runs on a CPU"},
      {.name = "t5-fused-rmsnorm",
       .title = "a fused RMS norm that trusts its weight's dtype",
       .reported = "xdit-project/xDiT issues 101 and 226, PixArt-alpha with Apex",
       .story = "T5 keeps its last feed-forward layer in Float even in a Half model, so the states "
                "are Float from the second block on; the fused norm reads its Half weight as Float",
       .arguments = {"t5", "--model", "tiny/t5", "--tokens", "100,3,35,120,1"},
       .broken = R"({"base": "fp16-mixed",
 "t5": {"norm": "float16", "casts": false, "rms_norm": "fused"}})",
       .fixed = "bf16-mixed",
       .says = "expected scalar type Float but found Half",
       .said_in_1_13 = "",
       .damage = "",
       .rules = {"mixed-operands", "silent-promotion"},
       .cure = "the states in float32 between blocks, norm weights in float32, and a cast before "
               "each layer"},
      {.name = "text-encoder-half",
       .title = "a Float token table in a Half text encoder",
       .reported = "Nerogar/OneTrainer issue 752, SDXL with an output embedding",
       .story = "the token table is Float because a new token is to be learned; the sum with the "
                "Half positions is Float, and the Half layer norm behind it refuses",
       .arguments = train("tiny"),
       .broken = R"({"base": "fp16-mixed",
 "text_encoders": {"norm": "float16", "table": "float32", "casts": false}})",
       .fixed = "bf16-mixed",
       .says = "mixed dtype (CPU): expect parameter to have scalar type of Float",
       .said_in_1_13 = "expected scalar type Float but found Half",
       .damage = "",
       .rules = {"mixed-operands", "silent-promotion"},
       .cure = "a cast between the embeddings and the first layer; autocast would not do it, since "
               "it casts no norm on the CPU"},
      {.name = "float16-weights",
       .title = "a Float mask beside Half latents",
       .reported = "Nerogar/OneTrainer issue 402, inpainting with float16 weights",
       .story = "the mask comes from an image and is Float; the concatenation promotes all nine "
                "channels, and the first Half layer behind it refuses",
       .arguments = train("inpainting"),
       .broken = R"({"base": "fp16-mixed", "unet": {"norm": "float16", "casts": false}})",
       .fixed = "bf16-mixed",
       .says = "mat1 and mat2 must have the same dtype, but got Float and Half",
       .said_in_1_13 = "",
       .damage = "",
       .rules = {"mixed-operands", "silent-promotion"},
       .cure = "everything that is concatenated is cast first"},
      {.name = "unscale-fp16-grads",
       .title = "a LoRA that takes the dtype of a Half UNet",
       .reported =
           "huggingface/diffusers issues 6086, 6363, 6442 and 6552, SDXL LoRA with clipping",
       .story = "the LoRA is Half, and so are its gradients; dividing them by the loss scale in "
                "Half makes the small ones 0, and steps are below what Half can add",
       .arguments = train("tiny"),
       .broken = R"({"base": "fp16-mixed",
 "trained": {"stored": "float16", "saved": "float16", "unscaled": "float16"}})",
       .fixed = "fp16-mixed",
       .says = "",
       .said_in_1_13 = "",
       .damage = "gradients and steps that become 0, without a word; PyTorch's GradScaler, which "
                 "LibTorch has not, says: Attempting to unscale FP16 gradients.",
       .rules = {"fp16-trainable", "lost-update"},
       .cure =
           "trained weights in float32, or with float32 masters; gradients unscaled in float32"},
  };
  return failures;
}

const DemoFailure* find_demo_failure(std::string_view name) {
  for (const DemoFailure& failure : demo_failures()) {
    if (name == failure.name) return &failure;
  }
  return nullptr;
}

}  // namespace dtypecheck::cli
