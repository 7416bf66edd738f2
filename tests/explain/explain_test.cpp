// Each message comes out as its fault, words around it decide between faults, and near misses stay
// silent.
#include "explain/explain.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <cstring>
#include <set>

#include "explain/answer.h"
#include "explain/message_table.h"

using namespace dtypecheck::explain;

static Answer answer_to(std::string_view text) {
  LogScanner scanner;
  scanner.feed(text);
  scanner.finish();
  return explain(scanner);
}

static std::string category_of(std::string_view text) {
  const Answer answer = answer_to(text);
  return answer.errors.empty() ? "" : std::string(category_name(answer.errors[0].categories[0]));
}

TEST_CASE("a message alone") {
  CHECK(category_of("mat1 and mat2 must have the same dtype, but got Half and Float") ==
        "input-weight-mismatch");
  CHECK(category_of("expected m1 and m2 to have the same dtype, but got: float!= c10::Half") ==
        "input-weight-mismatch");
  CHECK(category_of("mixed dtype (CPU): expect parameter to have scalar type of Float") ==
        "norm-mixed");
  CHECK(category_of("expected dtype float for `end` but got dtype c10::Half") ==
        "optimizer-state-dtype");
  CHECK(category_of("Attempting to unscale FP16 gradients.") == "gradscaler-fp16-params");
  CHECK(category_of(
            "Must flatten tensors with uniform dtype but got torch.float32 and torch.bfloat16") ==
        "distributed-dtype");
}

TEST_CASE("what refuses before any kernel") {
  const Answer fake = answer_to(
      "RuntimeError: expected dtype torch.float16 but got torch.bfloat16\n"
      "Error in op: torch.ops.demo.scale.default\n"
      "This error most often comes from an incorrect fake (aka meta) kernel for a custom op.");
  REQUIRE(fake.errors.size() == 1);
  CHECK(category_name(fake.errors[0].categories[0]) == "compile-dtype");
  CHECK(category_of("RuntimeError: Tensor dtype mismatch! Expected: BFloat16, Got: float") ==
        "compile-dtype");
  CHECK(category_of("Tensor size mismatch! Expected: [4], Got: [2]") == "");
  CHECK(category_of("Received data size doesn't match expected size. Expected: 8, got 4") ==
        "distributed-dtype");
  CHECK(category_of("expected dtype torch.bfloat16 for `end`, but got dtype torch.float32\n\n"
                    "Sharding propagation failed for aten.lerp.Scalar(Spec(bf16[256, 256](S(0))), "
                    "Spec(f32[256, 256](S(0))), 0.1) on DeviceMesh((1,), 'cpu', stride=((),)))") ==
        "optimizer-state-dtype");
}

TEST_CASE("the place tells one sentence's faults apart") {
  const std::string said = "RuntimeError: expected scalar type Float but found Half";
  CHECK(category_of(said) == "input-weight-mismatch");
  CHECK(category_of("  File \"/v/torch/nn/functional.py\", line 9, in layer_norm\n    return "
                    "torch.layer_norm(\n" +
                    said) == "norm-mixed");
  CHECK(category_of(said + "\nthrown in our deform_conv CUDA extension") ==
        "custom-extension-data_ptr");
  CHECK(category_of(said + "\nF.grid_sample with a Float grid") == "promotion-cat-or-arith");
}

TEST_CASE("full-width marks are what they stand for") {
  const Answer answer = answer_to(
      "RuntimeError：Input type （float） and bias type （c10::Half） should be the same。");
  REQUIRE(answer.errors.size() == 1);
  CHECK(answer.errors[0].dtypes == std::vector<std::string>{"Float", "Half"});
  CHECK(answer_to("expected scalar type 【Half】 but found 「Float」").errors.at(0).dtypes ==
        std::vector<std::string>{"Half", "Float"});
  CHECK(answer_to("mat1 and mat2 must have the same dtype，but got Float and Half")
            .errors.at(0)
            .operands.size() == 2);
  CHECK(category_of("形状（2，3）与（4，5）不符。") == "");
}

TEST_CASE("what is missing before any dtype counts is another error") {
  for (const char* text : {
           "OSError: Error no file named model.fp16.safetensors found in directory /m/sdxl.",
           "ValueError: You are trying to load the model files of the `variant=fp16`, but no such "
           "modeling files are available.",
           "TypeError: from_pretrained() got an unexpected keyword argument 'torch_dtype'",
       }) {
    INFO(text);
    CHECK(answer_to(text).errors.empty());
    CHECK_FALSE(answer_to(text).other_error.empty());
  }
  CHECK(category_of("Keyword arguments {'torch_dtype': torch.float16} are not expected by X and "
                    "will be ignored.") == "loading-checkpoint-dtype");
}

TEST_CASE("a kernel for a newer card") {
  const auto cause_of = [](std::string_view text) { return answer_to(text).errors.at(0).causes; };
  const std::string ptxas = "ptxas x.ptx, line 9; error : Feature ";
  const std::string bfloat16 = ptxas + "'.bf16' requires .target sm_80 or higher";
  CHECK(cause_of(bfloat16).at(0).cause.find("the card has no BFloat16") == 0);
  CHECK(category_of("Internal Triton PTX codegen error:\n" + bfloat16) == "library-limits-dtype");
  CHECK(cause_of(ptxas + "'cvt with .e4m3x2/.e5m2x2' requires .target sm_89 or higher")
            .at(0)
            .cause.find("the card has no float8") == 0);
  CHECK(category_of(ptxas + "'cp.async' requires .target sm_80 or higher") == "");
}

static std::vector<std::string> dtypes_named_in(const std::string& cause) {
  std::vector<std::string> named;
  for (const char* name : {"Half", "BFloat16", "Float", "Double", "Long", "Int", "Bool"}) {
    const auto is_letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    for (size_t at = cause.find(name); at != std::string::npos; at = cause.find(name, at + 1)) {
      const size_t end = at + std::strlen(name);
      if ((at > 0 && is_letter(cause[at - 1])) || (end < cause.size() && is_letter(cause[end])))
        continue;
      named.emplace_back(name);
      break;
    }
  }
  return named;
}

TEST_CASE("no cause names a dtype beside the two of the message") {
  const std::pair<const char*, const char*> pairs[] = {
      {"Float", "BFloat16"}, {"Half", "Float"}, {"Double", "Float"}, {"Long", "Float"}};
  size_t causes = 0;
  for (const Message& message : messages()) {
    for (std::string text : message.texts) {
      for (const auto& [first, second] : pairs) {
        std::string said = text;
        size_t holes = 0;
        for (size_t at = said.find("{}"); at != std::string::npos; at = said.find("{}"))
          said.replace(at, 2, holes++ == 0 ? first : second);
        for (const Explanation& error : answer_to("RuntimeError: " + said).errors) {
          if (error.dtypes.size() < 2) continue;
          for (const Cause& cause : error.causes) {
            ++causes;
            for (const std::string& name : dtypes_named_in(cause.cause)) {
              INFO(said << " | " << cause.cause);
              CHECK(std::find(error.dtypes.begin(), error.dtypes.end(), name) !=
                    error.dtypes.end());
            }
          }
        }
      }
    }
  }
  CHECK(causes > 500);
  const auto first_cause = [](std::string_view text) {
    return answer_to(text).errors.at(0).causes.at(0).cause;
  };
  CHECK(first_cause("expected scalar type Long but found Float").find("indices") == 0);
  CHECK(first_cause("Index put requires the source and destination dtypes match, got BFloat16 for "
                    "the destination and Float for the source.") ==
        "the source was made in Float and the destination is BFloat16");
}

TEST_CASE("an update of a library is none of the weights") {
  CHECK(category_of("After the update of diffusers the dtype check fails: q and k are fp32") ==
        "attention-qkv");
  CHECK(category_of("bf16 training: optimizer updates do not change the weights") ==
        "optimizer-state-dtype");
}

TEST_CASE("a title whose beginning is lost is the message below it") {
  const std::string whole = "\"ms_deform_attn_forward_cuda\" not implemented for 'Half'\n";
  const Answer answer = answer_to(whole.substr(20) + "\nRuntimeError: " + whole);
  REQUIRE(answer.errors.size() == 1);
  CHECK(category_name(answer.errors[0].categories[0]) == "custom-extension-data_ptr");
  CHECK(answer_to("\"add_cpu\" not implemented for 'Half'\n" + whole).errors.size() == 2);
}

// A title, then what the console printed.
TEST_CASE("the traceback below a title that repeats its last line") {
  const std::string said = "RuntimeError: expected scalar type Float but found Half\n";
  const std::string norm =
      "Traceback (most recent call last):\n  File \"run.py\", line 3, in <module>\n    go()\n"
      "  File \"/v/torch/nn/functional.py\", line 9, in layer_norm\n    return torch.layer_norm(\n";
  const Answer answer = answer_to(said + "\n" + norm + said);
  REQUIRE(answer.errors.size() == 1);
  CHECK(category_name(answer.errors[0].categories[0]) == "norm-mixed");
  CHECK(answer.errors[0].line == 1);
  CHECK(answer.errors[0].frames.size() == 2);
  CHECK(answer.command == "python run.py");
  // Frames without the line that ends them; a traceback that ends in something else.
  CHECK(category_of(said + norm.substr(norm.find('\n') + 1)) == "norm-mixed");
  CHECK(answer_to(said + norm + "KeyError: 'a'\n").errors[0].frames.empty());
}

TEST_CASE("an error in a backward function is the backward's") {
  const std::string said =
      "RuntimeError: self and mat2 must have the same dtype, but got Float and Half";
  const std::string frame = "  File \"lora.py\", line 3, in ";
  CHECK(category_of(frame + "backward\n    d_x.addmm_(d_y, lora_a)\n" + said) == "backward-dtype");
  CHECK(category_of(frame + "forward\n    y.addmm_(x, lora_a)\n" + said) ==
        "input-weight-mismatch");
}

TEST_CASE("Half beside BFloat16 was loaded so") {
  const std::string said = "RuntimeError: mat1 and mat2 must have the same dtype, but got ";
  const std::string beside = "\n\nfrom_pretrained, then the first forward";
  CHECK(category_of(said + "BFloat16 and Half" + beside) == "loading-checkpoint-dtype");
  CHECK(category_of(said + "Float and Half" + beside) == "input-weight-mismatch");
}

TEST_CASE("words count beside a sentence that any op may say") {
  const std::string said = "(no error) it hangs when ranks pass tensors of different dtypes";
  CHECK(category_of(said + "\n\nNCCL all_reduce") == "distributed-dtype");
  CHECK(category_of("RuntimeError: expected tensors of different dtypes") ==
        "input-weight-mismatch");
}

TEST_CASE("a model in Float that the fused attention refuses was loaded so") {
  const std::string dtypes = "supports torch.float16 and torch.bfloat16";
  CHECK(category_of("Flash Attention 2.0 only " + dtypes +
                    " dtypes, but the current dtype in LlamaModel is torch.float32.") ==
        "loading-checkpoint-dtype");
  CHECK(category_of("RuntimeError: FlashAttention only support fp16 and bf16 data type") ==
        "library-limits-dtype");
}

TEST_CASE("what was expected and what came, without further words") {
  CHECK(category_of("Expected Float, got Half\n\nthe rasterizer of gsplat") ==
        "custom-extension-data_ptr");
  CHECK(category_of("expected float32 but got float64, in nn.Linear") == "input-weight-mismatch");
  CHECK(category_of("expected 3, got 4").empty());
  CHECK(category_of("expected str, got float").empty());
}

TEST_CASE("kernels of quantized weights are an extension's") {
  const std::string said = "RuntimeError: expected scalar type Half but found BFloat16\n\n";
  CHECK(category_of(said + "an AWQ model, moe_wna16_marlin_gemm") == "custom-extension-data_ptr");
  CHECK(category_of(said + "a model") == "input-weight-mismatch");
}

TEST_CASE("an error that lists dtypes says which are taken") {
  CHECK(
      category_of("TypeError: Expected input of [torch.float16, torch.float32, torch.float64]. Got "
                  "torch.bfloat16") == "library-limits-dtype");
  CHECK(category_of("TypeError: input has torch.float16, target has torch.bfloat16") ==
        "input-weight-mismatch");
}

TEST_CASE("NaN under autocast is a value that does not fit") {
  CHECK(category_of("(no error) NaN appears since everything runs under autocast") ==
        "overflow-nan");
  CHECK(category_of("(no error) grad_fn is None since everything runs under autocast") ==
        "autocast-misuse");
}

TEST_CASE("what was not cast to the weights' dtype is the input") {
  CHECK(category_of("mismatch error in training: embeds are not cast to weight_dtype") ==
        "input-weight-mismatch");
  CHECK(category_of("no error, but the fp32 weights are not cast after loading the checkpoint") ==
        "loading-checkpoint-dtype");
}

TEST_CASE("gradients that underflow lack a scaler") {
  CHECK(category_of("(no error) fp16 gradients underflow to zero, there is no loss scaling") ==
        "gradscaler-fp16-params");
  CHECK(category_of("(no error) fp16 activations underflow to zero") == "overflow-nan");
}

TEST_CASE("the kernel's name says the device") {
  CHECK(category_of("\"addmm_impl_cpu_\" not implemented for 'Half'") == "cpu-half-unimplemented");
  CHECK(category_of("\"upsample_nearest2d_out_frame\" not implemented for 'BFloat16'") ==
        "library-limits-dtype");
  CHECK(category_of("\"ROIAlign_forward\" not implemented for 'Half'") ==
        "custom-extension-data_ptr");
  CHECK(category_of("\"add\" not implemented for 'torch.HalfTensor'") == "cpu-half-unimplemented");
  CHECK(category_of("\"add\" not implemented for 'torch.cuda.HalfTensor'") ==
        "library-limits-dtype");
  CHECK(answer_to("\"slow_conv2d_cpu\" not implemented for 'Half'").errors[0].versions ==
        "Half on the CPU since 2.2 (measured)");
  CHECK(category_of("\"dark mode\" not implemented for 'Windows'").empty());
  // A name that LibTorch does not have, beside an extension's.
  CHECK(category_of("\"scatter\" not implemented for 'Half'\n\ntorch_scatter.scatter_max") ==
        "custom-extension-data_ptr");
  CHECK(category_of("\"LayerNormKernelImpl\" not implemented for 'Half'\n\ntorch_scatter") ==
        "cpu-half-unimplemented");
}

TEST_CASE("tensors of one dtype on two devices are no mismatch of dtypes") {
  CHECK(category_of("Input type (torch.cuda.HalfTensor) and weight type (torch.HalfTensor) should "
                    "be the same") == "other");
  CHECK(category_of("Input type (torch.cuda.HalfTensor) and weight type (torch.cuda.FloatTensor) "
                    "should be the same") == "input-weight-mismatch");
}

TEST_CASE("the op that is named goes before the autocast around it") {
  const std::string said = "RuntimeError: expected scalar type Float but found Half";
  CHECK(category_of(said + "\nunder torch.cuda.amp.autocast") == "autocast-misuse");
  CHECK(category_of(said + "\nball_query under torch.cuda.amp.autocast") ==
        "custom-extension-data_ptr");
  CHECK(category_of(said + "\nF.layer_norm under torch.cuda.amp.autocast") == "norm-mixed");
}

TEST_CASE("a message that says its op outweighs what stands around") {
  const std::string around =
      "\nnative amp and apex amp, opt level O1, under autocast, amp.initialize";
  CHECK(category_of("Expected object of scalar type Half but got scalar type Float for sequence "
                    "element 1" +
                    around) == "promotion-cat-or-arith");
  CHECK(category_of("expected scalar type Float but found Half (data_ptr<float> at T.h:5)" +
                    around) == "custom-extension-data_ptr");
}

TEST_CASE("an extension of a program is not one of LibTorch") {
  const std::string said = "RuntimeError: expected scalar type Half but found Float";
  CHECK(category_of(said + "\nthe CUDA extension of a detector") == "custom-extension-data_ptr");
  CHECK(category_of(said + "\nthe DreamBooth extension of a web UI") == "input-weight-mismatch");
}

TEST_CASE("generation and validation are suspect beside training only") {
  const std::string said = "RuntimeError: mat1 and mat2 must have the same dtype";
  CHECK(category_of(said + "\ntraining works, the validation images fail") == "autocast-misuse");
  CHECK(category_of(said + "\nthe validation set of a pipeline") == "input-weight-mismatch");
}

TEST_CASE("checkpointing under autocast runs its second forward without it") {
  const std::string said = "RuntimeError: expected scalar type Half but found Float";
  CHECK(category_of(said + "\nuse_checkpoint: True with precision=16") == "autocast-misuse");
  CHECK(category_of(said + "\nuse_checkpoint: True") == "input-weight-mismatch");
}

TEST_CASE("torch.where spells dtypes as C++ does") {
  CHECK(category_of("expected scalar type float but found double") == "promotion-cat-or-arith");
  CHECK(category_of("expected scalar type Float but found Double") == "input-weight-mismatch");
}

TEST_CASE("of two messages at one place the table's first is meant") {
  CHECK(category_of("found_inf must be a float tensor.") == "gradscaler-fp16-params");
  CHECK(category_of("xyz must be a float tensor") == "custom-extension-data_ptr");
  CHECK(answer_to("found_inf must be a float tensor.").errors.size() == 1);
}

TEST_CASE("what newer LibTorch refuses") {
  CHECK(
      category_of("For RowWise scaling, a and b should be float8, scales should be float, scale_a "
                  "should be (4, 1)") == "library-limits-dtype");
  CHECK(
      category_of("torch.take_along_dim(): dtype of indices should be int but got Float instead") ==
      "promotion-cat-or-arith");
  CHECK(
      category_of("`fused=True` requires all the params to be floating point Tensors of supported "
                  "devices: ['cuda'].") == "optimizer-state-dtype");
  CHECK(category_of("make_graphed_callables does not support the autocast caching. Please set "
                    "`cache_enabled=False`.") == "autocast-misuse");
  CHECK(category_of("the scaling of a and b should be 8").empty());
  CHECK(category_of("fused=True is slower here").empty());
}

TEST_CASE("messages of libraries around LibTorch") {
  CHECK(category_of("ValueError: Bfloat16 is only supported on GPUs with compute capability of at "
                    "least 8.0.") == "library-limits-dtype");
  CHECK(category_of("TypeError: BFloat16 is not supported on MPS") == "library-limits-dtype");
  CHECK(category_of("Cannot convert a MPS Tensor to float64 dtype") == "library-limits-dtype");
  CHECK(category_of("ValueError: Cannot flatten integer dtype tensors") == "distributed-dtype");
  CHECK(category_of("Found param conv1.weight with type torch.cuda.HalfTensor, expected "
                    "torch.cuda.FloatTensor.") == "autocast-misuse");
  CHECK(category_of("Unexpected input data type. Actual: (tensor(float16)) , expected: "
                    "(tensor(float))") == "input-weight-mismatch");
  CHECK(category_of("expected dtype torch.bfloat16 for weight, but got torch.float32") ==
        "optimizer-state-dtype");
  CHECK(category_of("Float did not match Half") == "promotion-cat-or-arith");
  CHECK(category_of(
            "input types 'tensor<2x4xf16>' and 'tensor<4xf32>' are not broadcast compatible") ==
        "promotion-cat-or-arith");
  CHECK(category_of("Subtraction, the `-` operator, with a bool tensor is not supported.") ==
        "promotion-cat-or-arith");
  CHECK(
      category_of("Type Error: Type (tensor(float16)) of output arg (c) of node (n) does not match "
                  "expected type (tensor(float)).") == "compile-dtype");
  CHECK(category_of("hipFFT doesn't support transforms of type: Half") == "library-limits-dtype");
  CHECK(category_of("getCudnnDataTypeFromScalarType() not supported for Int") ==
        "library-limits-dtype");
  CHECK(category_of("TensorDescriptor does not support Int") == "library-limits-dtype");
  CHECK(category_of("HalfTensor is not supported") == "library-limits-dtype");
  CHECK(category_of("Expected running_var to have type Half but got Float") ==
        "input-weight-mismatch");
  CHECK(category_of("norm(): the desired output dtype should be either floating point or complex. "
                    "Got Int instead.") == "promotion-cat-or-arith");
  CHECK(category_of("expected probabilities tensor to have floating type, got Int") ==
        "promotion-cat-or-arith");
  CHECK(
      category_of("expected device cuda:0 and dtype Float but got device cuda:0 and dtype Half") ==
      "promotion-cat-or-arith");
  CHECK(category_of("the two shapes are not broadcast compatible").empty());
  CHECK(category_of("query.dtype: torch.float16\n  key.dtype  : torch.float32\n  value.dtype: "
                    "torch.float32") == "attention-qkv");
  CHECK(category_of("NotImplementedError: BF16 optimizer for ZeRO requires fp32 gradient "
                    "accumulation") == "distributed-dtype");
  CHECK(category_of("RuntimeError: expected Double tensor (got Float tensor)") ==
        "input-weight-mismatch");
  CHECK(category_of("the float did not match expectations").empty());
  CHECK(category_of("this plugin is only supported on GPUs with a fan").empty());
  CHECK(category_of("Found param lr with type str, expected a number").empty());
}

TEST_CASE("asserts and rotary embeddings of the fused attentions") {
  CHECK(category_of("AssertionError: Input and cos/sin must have the same dtype, got torch.float32 "
                    "and torch.bfloat16") == "attention-qkv");
  CHECK(category_of("    assert qkv.dtype in [torch.float16, torch.bfloat16]\nAssertionError") ==
        "library-limits-dtype");
  CHECK(answer_to("    assert labels.shape == targets.shape\nAssertionError").errors.empty());
}

TEST_CASE("integers that are to train are quantized weights, or FSDP's") {
  const std::string said = "only Tensors of floating point dtype can require gradients";
  CHECK(category_of(said + "\nself.qweight = Parameter(qweight)") == "library-limits-dtype");
  CHECK(category_of(said + "\nfully_shard(model)  # FSDP") == "distributed-dtype");
}

TEST_CASE("extensions are known by what they call their functions") {
  const std::string said = "\nRuntimeError: expected scalar type Half but found Float";
  CHECK(category_of("out = native.pool3d_forward_cuda(x, w)" + said) ==
        "custom-extension-data_ptr");
  CHECK(category_of("out = native.pool3d_forward(x, w)" + said) != "custom-extension-data_ptr");
}

TEST_CASE("what is no dtype error stays silent, and is named where it can be") {
  CHECK(answer_to("torch.cuda.OutOfMemoryError: CUDA out of memory, fp16 training").errors.empty());
  CHECK(
      answer_to("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5), dtype fp16")
          .errors.empty());
  CHECK(answer_to("Expected all tensors to be on the same device, but found at least two devices")
            .errors.empty());
  CHECK(answer_to("CUDA out of memory").other_error == "the device ran out of memory");
  CHECK(
      answer_to("epoch 1 loss 0.31, mixed precision fp16, AdamW, saved checkpoint").errors.empty());
  CHECK(answer_to("the build is green").errors.empty());
  CHECK(answer_to("KeyError: 'conv_in.weight' while loading the fp16 checkpoint").errors.empty());
  CHECK(answer_to("AttributeError: 'float' object has no attribute 'half'").errors.empty());
  CHECK(answer_to("    F.scaled_dot_product_attention(x.half(), y)\nAttributeError: module "
                  "'torch.nn.functional' has no attribute 'scaled_dot_product_attention'")
            .errors.empty());
  CHECK(answer_to("ValueError: --mixed_precision must be one of no, fp16, bf16").errors.empty());
}

TEST_CASE("a report in words, without a message") {
  CHECK(category_of("pictures of the fp16 VAE are black") == "overflow-nan");
  CHECK(category_of("the EMA weights never change when kept in bf16") == "optimizer-state-dtype");
  CHECK(category_of("no error, but embeds[mask] = features has mismatched dtypes") == "index-put");
  CHECK(category_of(
            "FSDP gradients reduced in fp16 although bf16 was asked for, results are worse") ==
        "distributed-dtype");
}

TEST_CASE("NaN and green pictures are complaints") {
  CHECK(category_of("plain green images in half precision on a 1650") == "overflow-nan");
  CHECK(answer_to("plain green images in the documentation").errors.empty());
  CHECK(category_of("in FP16 the loss becomes NaN, and FP32 runs out of memory") == "overflow-nan");
  CHECK(answer_to("RuntimeError: CUDA out of memory, also in FP16").errors.empty());
  CHECK(category_of("torch.cat: does not support different dtypes\n\nIt works in eager, but not "
                    "under torch.compile") == "compile-dtype");
}

TEST_CASE("words with an apostrophe count") {
  CHECK(category_of("in half precision the weights don't change") == "optimizer-state-dtype");
  CHECK(category_of("this backend doesn't support dtype float64") == "library-limits-dtype");
}

TEST_CASE("what a checkpoint changes is reported by what it holds") {
  CHECK(category_of("no error, but the weights are float32 after loading the bf16 checkpoint") ==
        "loading-checkpoint-dtype");
  CHECK(category_of("no error, but exp_avg is bf16 after loading the fp32 checkpoint") ==
        "optimizer-state-dtype");
  CHECK(answer_to("TypeError: Object of type float32 is not JSON serializable, in the checkpoint")
            .errors.empty());
}

TEST_CASE("there are always other faults to try") {
  for (const char* text : {"cuFFT doesn't support tensor of type: Half",
                           "cuFFT only supports dimensions whose sizes are powers of two",
                           "\"upsample_nearest2d_out_frame\" not implemented for 'BFloat16'",
                           "pictures of the fp16 VAE are black"}) {
    const auto categories = answer_to(text).errors.at(0).categories;
    CHECK(categories.size() >= 3);
    CHECK(std::set(categories.begin(), categories.end()).size() == categories.size());
  }
}

TEST_CASE("a fault that raises nothing is one of those that raise nothing") {
  CHECK(category_of("no error, but the result in bfloat16 is odd") == "overflow-nan");
  CHECK(answer_to("no error, but the result in bfloat16 is odd").errors[0].confidence < 0.5);
  CHECK(category_of("no errors, and half of the tests ran with precision").empty());
  CHECK(category_of("no error, but the fp16 weights never move") == "optimizer-state-dtype");
  CHECK(category_of("no error, then out of memory: autocast in bfloat16 casts in each forward") ==
        "autocast-misuse");
}

TEST_CASE("text in another script beside a message") {
  const Answer answer =
      answer_to("错误\"LayerNormKernelImpl\" not implemented for 'Half'错误。这个");
  REQUIRE(answer.errors.size() == 1);
  CHECK(category_name(answer.errors[0].categories[0]) == "cpu-half-unimplemented");
  CHECK(answer.errors[0].dtypes == std::vector<std::string>{"Half"});
}

TEST_CASE("an error leads before the signs that came earlier") {
  const Answer answer = answer_to("loss: nan\nAttempting to unscale FP16 gradients.\n");
  REQUIRE(answer.errors.size() == 2);
  CHECK(category_name(answer.errors[0].categories[0]) == "gradscaler-fp16-params");
  CHECK(answer.errors[1].is_symptom);
}

TEST_CASE("of phrases at one place the longest speaks") {
  // "no half" is a card's limit, "no half vae" a flag against overflow.
  CHECK(category_of("the pictures are wrong unless I pass no half vae") == "overflow-nan");
  CHECK(category_of("this card has no half, the fp16 run fails") == "library-limits-dtype");
}

TEST_CASE("a place is counted once for a category") {
  const Answer once =
      answer_to("RuntimeError: expected scalar type Half but found Float\nautocast");
  const Answer often = answer_to(
      "RuntimeError: expected scalar type Half but found Float\nautocast autocast autocast");
  CHECK(once.errors[0].scores == often.errors[0].scores);
}

TEST_CASE("a line that several spellings of a message fit is counted once") {
  const std::string said = "mat1 and mat2 must have the same dtype, but got Half and Float\n";
  CHECK(answer_to(said).errors[0].count == 1);
  CHECK(answer_to(said + said + said).errors[0].count == 3);
  CHECK(answer_to(said + "step 2\n" + said).errors[0].count == 2);
}

static std::vector<std::string> causes_of(std::string_view text) {
  std::vector<std::string> causes;
  const Answer answer = answer_to(text);
  for (const Cause& cause : answer.errors.at(0).causes) causes.push_back(cause.cause);
  return causes;
}

static bool is_among(const std::vector<std::string>& causes, std::string_view word) {
  return std::any_of(causes.begin(), causes.end(), [&](const std::string& cause) {
    return cause.find(word) != std::string::npos;
  });
}

TEST_CASE("causes belong to the message and its dtypes") {
  const auto overflow = causes_of("value cannot be converted to type at::Half without overflow");
  CHECK(overflow.at(0).find("constant") != std::string::npos);
  CHECK_FALSE(is_among(overflow, "VAE"));
  CHECK(causes_of("A tensor with all NaNs was produced in VAE").at(0).find("VAE") !=
        std::string::npos);
  const std::string operands = "mat1 and mat2 must have the same dtype, but got ";
  CHECK_FALSE(is_among(causes_of(operands + "Half and Float"), "numpy"));
  CHECK(is_among(causes_of(operands + "Double and Float"), "numpy"));
  CHECK_FALSE(is_among(causes_of(operands + "Double and Float"), "half"));
  CHECK(is_among(causes_of(operands + "Long and Float"), "integers"));
}

static std::string first_cause_of(std::string_view text) { return causes_of(text).at(0); }

TEST_CASE("the first cause fits what the message is about") {
  CHECK(first_cause_of("torch.nn.BCELoss are unsafe to autocast").find("probabilities") !=
        std::string::npos);
  CHECK_FALSE(is_among(causes_of("there seems to be an unexpected problem in type-casting"),
                       "probabilities"));
  CHECK(is_among(causes_of("Expected attn_mask dtype to be bool"), "mask"));
  CHECK_FALSE(is_among(causes_of("Expected query, key, and value to have the same dtype\n"
                                 "F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"),
                       "mask"));
  CHECK(first_cause_of("probability tensor contains either `inf`, `nan` or element < 0")
            .find("BFloat16") != std::string::npos);
  CHECK(first_cause_of("NaN detected in latents").find("BFloat16") == std::string::npos);
}

TEST_CASE("half on the CPU was asked for there, or a GPU was meant") {
  const std::string said = "RuntimeError: \"LayerNormKernelImpl\" not implemented for 'Half'";
  CHECK(first_cause_of(said).find("without GPU") != std::string::npos);
  CHECK(
      first_cause_of(said + "\nI run it on the GPU, an RTX 3090 with CUDA").find("GPU was meant") !=
      std::string::npos);
}

TEST_CASE("an extension without a Half kernel has no odd operand") {
  CHECK(first_cause_of("\"ms_deform_attn_forward_cuda\" not implemented for 'Half'")
            .find("autocast") == 0);
  CHECK(first_cause_of("out = deform_conv_ext.forward(x, offset)\n"
                       "RuntimeError: expected scalar type Half but found Float")
            .find("two of its tensors") == 0);
}

TEST_CASE("fused attention gets Float from an upcast or from the loaded model") {
  const std::string said = "RuntimeError: FlashAttention only support fp16 and bf16 data type\n";
  CHECK(first_cause_of(said + "q, k = apply_rotary_emb(q, k)").find("fused attention") == 0);
  CHECK(first_cause_of(said + "AutoModelForCausalLM.from_pretrained(path)").find("the model was") ==
        0);
}

TEST_CASE("floating indices are no activation that meets a weight") {
  const std::string said = "tensors used as indices must be long, byte or bool tensors";
  CHECK(category_of("IndexError: " + said) == "promotion-cat-or-arith");
  CHECK(causes_of(said).at(0).find("indices") == 0);
}

TEST_CASE("whose dtype it is, where the message says so") {
  const auto operands = answer_to("Input type (float) and bias type (c10::Half) should be the same")
                            .errors[0]
                            .operands;
  REQUIRE(operands.size() == 2);
  CHECK(operands[0].operand == "input");
  CHECK(operands[0].dtype == "Float");
  CHECK(operands[1].operand == "bias");
  CHECK(operands[1].dtype == "Half");
  CHECK(answer_to("self and mat2 must have the same dtype").errors[0].operands.empty());
}

TEST_CASE("the type of the exception does not matter") {
  const std::string said = "mat1 and mat2 must have the same dtype, but got Half and Float";
  for (const std::string type : {"RuntimeError: ", "AssertionError: ", "NotImplementedError: ",
                                 "TypeError: ", "assert failed: ", "rejected: ", "problem: "}) {
    INFO(type);
    CHECK(category_of(type + said) == "input-weight-mismatch");
    CHECK(category_of(type + "no kernel has BFloat16 on this card") == "library-limits-dtype");
  }
  CHECK(category_of("AssertionError: the list is empty").empty());
}

TEST_CASE("an unknown error that names dtypes is about them, and no answer is sure") {
  const Answer two = answer_to("TypeError: foo() got torch.float16 and wants c10::BFloat16");
  REQUIRE(two.errors.size() == 1);
  CHECK(two.other_error.empty());
  CHECK(two.errors[0].dtypes == std::vector<std::string>{"Half", "BFloat16"});
  CHECK(two.errors[0].confidence < 0.6);
  CHECK(answer_to("TypeError: foo() got a float and wants a half").other_error == "another error");
  CHECK(answer_to("KeyError: 'torch.float16'").errors.size() == 1);
}

TEST_CASE("one weak word is never sure") {
  const std::string said = "RuntimeError: expected scalar type BFloat16 but found Float\n\n";
  CHECK(answer_to(said + "outputs = model(**batch_inputs)").errors[0].confidence < 0.8);
  CHECK(answer_to(said + "pixel_values enter the first layer").errors[0].confidence > 0.8);
  const Answer answer = answer_to("the fp16 run fails in the forward");
  if (!answer.errors.empty()) CHECK(answer.errors[0].confidence < 0.6);
}

TEST_CASE("a sentence that says it all still reads what stands around it") {
  const std::string said =
      "Index put requires the source and destination dtypes match, got Half "
      "for the destination and Float for the source.";
  const auto alone = answer_to(said).errors[0].scores;
  const auto beside = answer_to(said + "\nunder torch.cuda.amp autocast").errors[0].scores;
  const auto autocast = static_cast<size_t>(Category::kAutocast);
  CHECK(beside[autocast] > alone[autocast]);
  CHECK(category_of(said + "\nunder torch.cuda.amp autocast") == "index-put");
}

TEST_CASE("the command that was run") {
  const std::string said = "RuntimeError: expected scalar type Half but found Float\n";
  CHECK(answer_to("$ accelerate launch train.py --bf16\n" + said).command ==
        "accelerate launch train.py --bf16");
  CHECK(answer_to("(base) me@host:~/x$ python -m trainer.main --lr 1e-4\n" + said).command ==
        "python -m trainer.main --lr 1e-4");
  CHECK(answer_to("Traceback (most recent call last):\n  File \"/home/me/train.py\", line 9, in "
                  "<module>\n    main()\n" +
                  said)
            .command == "python /home/me/train.py");
  // What a sentence says of python is no command, and what a shell would do more with is none.
  CHECK(answer_to("I use python 3.11 and train.py\n" + said).command.empty());
  CHECK(answer_to("$ python train.py; rm -rf /\n" + said).command.empty());
  CHECK(answer_to("$ python train.py $(reboot)\n" + said).command.empty());
}

static std::string text_of(std::string_view text, bool all = false) {
  return to_text(answer_to(text), {.all = all});
}

static auto lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST_CASE("ten lines for a usual error, and the rest with --all") {
  for (const Message& message : messages()) {
    INFO(message.texts[0]);
    CHECK(lines_of(text_of(message.texts[0])) <= 12);
  }
  const std::string usual = "mat1 and mat2 must have the same dtype, but got Half and Float";
  CHECK(lines_of(text_of(usual)) <= 10);
  CHECK(lines_of(text_of("expected scalar type Float but found Half")) <= 11);
  CHECK(text_of(usual).find("addmm") == std::string::npos);
  CHECK(text_of(usual, true).find("addmm") != std::string::npos);
  CHECK(text_of(usual).find("mat1 is Half, mat2 is Float") != std::string::npos);
}

TEST_CASE("an answer that is open says what shows the other") {
  const std::string open = text_of("expected scalar type Float but found Half");
  CHECK(
      open.find(
          "to tell it from autocast-misuse: print(torch.is_autocast_enabled()); this applies if") !=
      std::string::npos);
  CHECK(open.find("or: ") == std::string::npos);
  CHECK(
      text_of("  File \"train.py\", line 7, in main\n    y = x @ w\nRuntimeError: expected scalar "
              "type Float but found Half")
          .find("print(torch.is_autocast_enabled()) at train.py:7") != std::string::npos);
  const std::string sure = text_of("Attempting to unscale FP16 gradients.");
  CHECK(sure.find("or: ") != std::string::npos);
  CHECK(sure.find("to tell it from") == std::string::npos);
  CHECK(text_of("Attempting to unscale FP16 gradients.", true)
            .find("this applies if the traceback") != std::string::npos);
}

TEST_CASE("two errors of one fault share what is said of it") {
  const std::string one = "self and mat2 must have the same dtype, but got BFloat16 and Float\n";
  const std::string other = "mat1 and mat2 must have the same dtype, but got Half and Float\n";
  const std::string both = text_of(one + other);
  CHECK(both.find("causes and cures as of line 1") != std::string::npos);
  CHECK(lines_of(both) < lines_of(text_of(one)) + lines_of(text_of(other)) - 2);
  const std::string unlike = text_of(one + "Attempting to unscale FP16 gradients.\n");
  CHECK(unlike.find("causes and cures as of") == std::string::npos);
}

TEST_CASE("the answer ends with the command that finds the line") {
  const std::string said = "expected scalar type Float but found Half\n";
  CHECK(
      text_of("+ torchrun train.py\n" + said).ends_with("dtypecheck trace -- torchrun train.py\n"));
  CHECK(text_of(said).ends_with("dtypecheck trace -- COMMAND\n"));
}

TEST_CASE("a sentence quoted without its dtypes") {
  CHECK(category_of("Input type and bias type should be the same") == "input-weight-mismatch");
  CHECK(category_of("Input type should be the same") == "");
}

TEST_CASE("an error that no table has, by how it is put") {
  CHECK(category_of(
            "FooError: both blocks need the same element type\n\ntl.dot in a triton kernel") ==
        "compile-dtype");
  CHECK(category_of("FooError: blocks of different types: fp16 and fp32\n\nunder torch.compile") ==
        "compile-dtype");
  const Answer named = answer_to("FooError: got torch.float16 and torch.float32");
  REQUIRE(named.errors.size() == 1);
  CHECK(named.errors[0].dtypes == std::vector<std::string>{"Half", "Float"});
  CHECK(named.errors[0].confidence < 0.6);
  CHECK(category_of("FooError: operands need the same type, got fp16 and fp32") ==
        "input-weight-mismatch");
  // Words of sameness about anything else.
  CHECK(category_of("ValueError: both lists must have the same type of entries") == "");
  CHECK(category_of("TypeError: expected str but got int, types do not match") == "");
  CHECK(category_of("AssertionError: shapes do not match") == "");
}

TEST_CASE("a matrix product's sentence is no norm's, whatever norm stands beside it") {
  const std::string beside = "\n\nthe result of LlamaRMSNorm goes into a linear layer";
  CHECK(category_of("expected mat1 and mat2 to have the same dtype, but got: float != "
                    "c10::BFloat16" +
                    beside) == "input-weight-mismatch");
  CHECK(category_of("expected scalar type Float but found BFloat16" + beside) == "norm-mixed");
}

TEST_CASE("what works without the compiler is the compiler's, whichever sentence says so") {
  const std::string said = "RuntimeError: invalid dtype for bias - should match query's dtype";
  CHECK(category_of(said) == "attention-qkv");
  CHECK(category_of(said + "\n\ntraining with the inductor backend; eager works") ==
        "compile-dtype");
  CHECK(category_of(said + "\n\nmemory efficient attention, eager mode") == "attention-qkv");
}

TEST_CASE("the op that an old sentence names") {
  const std::string said = "Expected object of scalar type Float but got scalar type Half for ";
  CHECK(category_of(said + "argument #4 'source' in call to _th_index_add_") ==
        "promotion-cat-or-arith");
  CHECK(category_of(said + "argument #2 'mat1' in call to _th_addmm") == "input-weight-mismatch");
}

TEST_CASE("positions that a dtype cannot hold") {
  CHECK(category_of("(no error) wildly different values than in fp32\n\ncos and sin tables of the "
                    "rotary embedding are computed in bfloat16") == "overflow-nan");
}

namespace dtypecheck::explain {

static std::string cure_of(const std::string& text) {
  const Answer answer = answer_to(text);
  REQUIRE(!answer.errors.empty());
  REQUIRE(!answer.errors[0].causes.empty());
  return answer.errors[0].causes[0].cure;
}

TEST_CASE("SDXL's VAE is a cause of NaN only where something says diffusion") {
  CHECK(cure_of("loss becomes nan when training in fp16").find("--check-values") !=
        std::string::npos);
  CHECK(cure_of("the SDXL VAE gives black images in fp16").find("run the VAE") == 0);
  CHECK(cure_of("nan with RoPE positions in half precision").find("make them in Float") == 0);
  CHECK(cure_of("the fp16 TensorRT engine gives nan").find("keep those layers in Float") == 0);
  CHECK(cure_of("nan loss on mps in fp16").find("run in Float there") == 0);
  const Answer sage = answer_to("nan with SageAttention in fp16");
  CHECK(sage.errors[0].categories[0] == Category::kOverflowNan);
  CHECK(sage.errors[0].causes[0].cause.find("SageAttention") != std::string::npos);
}

TEST_CASE("the cure fits the card, which the environment names") {
  CHECK(cure_of("torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0")
            .find("run in BFloat16 there") == 0);
  const std::string said =
      "CUBLAS_STATUS_NOT_SUPPORTED when calling cublasGemmEx(a, CUDA_R_16BF, lda)\n";
  CHECK(cure_of(said + "GPU: Tesla T4\n") == "Half or Float there");
  CHECK(cure_of("CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul(CUDA_R_8F_E4M3)\nGPU: RTX "
                "5090\n")
            .find("sizes that divide by 16") == 0);
  CHECK(cure_of("CUBLAS_STATUS_NOT_SUPPORTED when calling cublasGemmEx(a, CUDA_R_16F, lda)\n")
            .find("Half or Float there") == std::string::npos);
  CHECK(cure_of("Required aspect fp64 is not supported on the device").find("write float32") == 0);
  CHECK(cure_of("No inf checks were recorded for this optimizer.").find("build the optimizer") ==
        0);
  CHECK(cure_of("AssertionError: Attempted step but _scale is None.  This may indicate your script "
                "did not use scaler.scale(loss or outputs) earlier in the iteration.")
            .find("scaler.scale(loss).backward()") == 0);
  CHECK(cure_of("output tensor must have the same type as input tensor").find("make it so") == 0);
}

TEST_CASE("a cure that needs its card, its dtype or its library") {
  const std::string nan = "loss becomes nan in fp16";
  CHECK(cure_of(nan + " on a GTX 1660").find("newer cuDNN") != std::string::npos);
  CHECK_FALSE(is_among(causes_of(nan + " on an RTX 4090"), "GTX 16"));
  const std::string labels =
      "RuntimeError: \"nll_loss_forward_reduce_cuda_kernel_2d_index\" not "
      "implemented for 'Int'";
  CHECK(cure_of(labels) == "convert them: labels.long()");
  const std::string chamfer =
      "chamfer.forward(a, b)\nRuntimeError: expected scalar type Float but found ";
  CHECK(cure_of(chamfer + "Double").find("make it Float where it is loaded") == 0);
  CHECK(cure_of(chamfer + "Half").find("leave autocast for it") == 0);
  CHECK(cure_of("mat1 and mat2 must have the same dtype, but got Half and Float\n"
                "model = AutoModel.from_pretrained(m, load_in_8bit=True)")
            .find("load it without load_in_8bit") == 0);
  CHECK(cure_of("mat1 and mat2 must have the same dtype, but got Half and Float\n"
                "File \"C:\\ComfyUI\\execution.py\", line 151, in execute")
            .find("set one precision in all of its loaders") == 0);
}

TEST_CASE("autocast makes no Double, and a link is no sign") {
  const std::string said = "found during evaluation while training\nRuntimeError: Found dtype ";
  CHECK(category_of(said + "Double but expected Float") == "backward-dtype");
  CHECK(category_of("expected scalar type Half but found Float, see https://x.org/a/mmdet3d.cpp") ==
        category_of("expected scalar type Half but found Float"));
}

TEST_CASE("a fault whose dtypes are others is not named beside the first") {
  const auto others = [](std::string_view text) { return answer_to(text).errors.at(0).categories; };
  const auto has_autocast = [&](std::string_view text) {
    const std::vector<Category> all = others(text);
    return std::find(all.begin(), all.end(), Category::kAutocast) != all.end();
  };
  const std::string unknown = "ValueError: found the dtype torch.";
  CHECK(has_autocast(unknown + "float32 but expect torch.bfloat16"));
  CHECK_FALSE(has_autocast(unknown + "float64 but expect torch.float32"));
  CHECK_FALSE(has_autocast("under autocast\nTypeError: weight must be torch.float64"));
  CHECK_FALSE(has_autocast("TypeError: Cannot convert a MPS Tensor to float64 dtype"));
}

TEST_CASE("which argument met another dtype tells an op from a layer") {
  const std::string said = "Expected object of scalar type Float but got scalar type Double for ";
  CHECK(category_of(said + "argument #2 'other'") == "promotion-cat-or-arith");
  CHECK(category_of(said + "argument #2 'mat2'") == "input-weight-mismatch");
  CHECK(cure_of("Expected object of scalar type Long but got scalar type Int for argument #2 "
                "'target'")
            .find("idx = idx.long(), labels.long()") == 0);
}

TEST_CASE("a cure belongs to what the text refuses") {
  CHECK(cure_of("ValueError: bf16 mixed precision requires PyTorch >= 1.10 and a supported device.")
            .find("Half there") == 0);
  CHECK(cure_of("TypeError: Got unsupported ScalarType BFloat16").find("x.float().numpy()") == 0);
  CHECK(cure_of("RuntimeError: User specified an unsupported autocast device_type 'mps'")
            .find("open none there") == 0);
  const std::string whisper =
      "ValueError: Requested float16 compute type, but the target device or backend do not "
      "support efficient float16 computation.";
  CHECK(category_of(whisper) == "library-limits-dtype");
  CHECK(cure_of(whisper).find("Float there") == 0);
  CHECK(answer_to("ValueError: Requested compute node is not supported").errors.empty());
  CHECK(category_of("expect input to have scalar type of BFloat16") == "norm-mixed");
}

TEST_CASE("sentences of vLLM, Megatron, torchao, TensorRT and ONNX Runtime") {
  CHECK(cure_of("ValueError: bfloat16 KV cache is not supported on Tesla T4 (compute capability "
                "7.5); bfloat16 requires sm80+. Re-run with --kv-cache-dtype float16.")
            .find("--kv-cache-dtype auto") == 0);
  CHECK(category_of("unsupported kv cache dtype: fp8") == "library-limits-dtype");
  CHECK(category_of("q, k, v tensors must have the same data type") == "attention-qkv");
  CHECK(category_of("cos and sin must have the same dtype") == "attention-qkv");
  CHECK(
      cure_of("Only one of self.fp16: True and self.bf16 True should be True.").find("leave one") ==
      0);
  CHECK(cure_of("TensorRT does not support float64 (double) precision.").find("truncate_double") ==
        0);
  CHECK(category_of("Unsupported aten data type") == "library-limits-dtype");
  CHECK(category_of("Dtype mismatch for 0th input(x). Expect torch.float16, got torch.float32.") ==
        "input-weight-mismatch");
  CHECK(category_of("Input data type does not match the expected data type") ==
        "input-weight-mismatch");
  CHECK(category_of("with A.dtype=torch.float16 and B.dtype=torch.float32. This operation is only "
                    "supported when A and B have the same data type.") == "input-weight-mismatch");
  CHECK(category_of("Input tensors must be in dtype of torch.float16 or torch.bfloat16") ==
        "library-limits-dtype");
  CHECK(answer_to("KV cache size: 12 GiB, auto dtype").errors.empty());
}

TEST_CASE("an upgrade is a cure where the text's LibTorch is older than the kernel") {
  const auto has_upgrade = [](const std::string& version) {
    return is_among(
        causes_of("RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'\n" + version),
        "older than the kernel");
  };
  CHECK(has_upgrade(""));
  CHECK(has_upgrade("torch==2.0.1\n"));
  CHECK_FALSE(has_upgrade("torch==2.9.0\n"));
}

TEST_CASE("errors in no table whose line says which dtype is wanted") {
  CHECK(category_of("AssertionError: lse must be float32.") == "library-limits-dtype");
  CHECK(category_of("ValueError: weight must be fp16") == "library-limits-dtype");
  CHECK(answer_to("ValueError: the learning rate must be positive").errors.empty());
  CHECK(answer_to("TypeError: expected a float, got an int").errors.empty());
}

TEST_CASE("what a C++ extension checks of a dtype") {
  CHECK(category_of("RuntimeError: Expected x0.dtype() == itype to be true, but got false.") ==
        "custom-extension-data_ptr");

  CHECK(category_of(
            "RuntimeError: Expected q.scalar_type() == at::kHalf to be true, but got false.") ==
        "custom-extension-data_ptr");
  CHECK(category_of(
            "RuntimeError: Expected x.dtype() == torch::kFloat32 to be true, but got false.") ==
        "custom-extension-data_ptr");
  CHECK(answer_to("RuntimeError: Expected x.is_contiguous() to be true, but got false.")
            .errors.empty());
  CHECK(category_of("ValueError: found the dtype torch.float32 but expect torch.bfloat16") ==
        "input-weight-mismatch");
  CHECK(
      category_of("AssertionError: FP8 execution requires 2D input matrices with height divisible "
                  "by 8 and width divisible by 16") == "library-limits-dtype");
  CHECK(category_of("RuntimeError: MPS: mixed dtype normalization is not supported") ==
        "norm-mixed");
}

}  // namespace dtypecheck::explain
