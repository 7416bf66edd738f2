// What each line of a paste is, and that lines about the environment change no answer.
#include "explain/segments.h"

#include <catch2/catch.hpp>

#include "explain/answer.h"
#include "explain/explain.h"

namespace dtypecheck::explain {

static Segment segment_of(std::string_view line) { return segments_of(line).front().segment; }

static Answer answer_of(std::string_view text) {
  LogScanner scanner;
  scanner.feed(text);
  scanner.finish();
  return explain(scanner);
}

TEST_CASE("lines about the environment are known wherever they stand") {
  for (const char* line :
       {"Triton: 3.3.1", "torch==2.4.1+cu121", "- `transformers` version: 4.46.2",
        "PyTorch version: 2.5.1+cu124", "[pip3] triton==3.1.0", "GPU: RTX 3090", "OS: Windows 11",
        "[conda] magma-cuda124             2.6.1                         1    pytorch",
        "torch.version.cuda: 12.1", "- Using distributed or parallel set-up in script?: no",
        "xformers 0.0.28", "apex==0.1", "2026-05-01 12:00:00,123 - INFO - CUDA: 12.1"}) {
    INFO(line);
    CHECK(segment_of(line) == Segment::kEnvironment);
  }
  for (const char* line :
       {"deepspeed stage 3 fails with torch 2.4.1 where 2.3 works", "apex", "lr: 0.0001",
        "mixed_precision: fp16", "I use triton and xformers", "the loss is nan since 2.1",
        "torch.cat: does not support different dtypes",
        "with torch.autocast(\"cuda\", dtype=torch.bfloat16):"}) {
    INFO(line);
    CHECK(segment_of(line) != Segment::kEnvironment);
  }
}

TEST_CASE("a section about the environment ends where something else begins") {
  const auto lines = segments_of(
      "### Environment\n\nWindows 11, Python 3.10\n- deepspeed, apex 2\n\n"
      "it happens with xformers\n\n### To reproduce\nrun with apex 2\n");
  const auto segment = [&](std::string_view text) {
    for (const SegmentLine& line : lines) {
      if (line.text == text) return line.segment;
    }
    FAIL(text);
    return Segment::kText;
  };
  CHECK(segment("Windows 11, Python 3.10") == Segment::kEnvironment);
  CHECK(segment("- deepspeed, apex 2") == Segment::kEnvironment);
  CHECK(segment("it happens with xformers") == Segment::kText);
  CHECK(segment("run with apex 2") == Segment::kText);
}

TEST_CASE("frames are told from all else") {
  CHECK(segment_of("  File \"train.py\", line 3, in <module>") == Segment::kTraceback);
  CHECK(segment_of("[rank3]:   File \"train.py\", line 3, in <module>") == Segment::kTraceback);
  for (const char* text : {"RuntimeError: expected scalar type Half but found Float",
                           "[2026-05-01 12:00:00] step 3 loss nan", "$ python train.py --fp16",
                           "torch_dtype = torch.float16", "it fails when I turn on fp16"})
    CHECK(segment_of(text) == Segment::kText);
}

TEST_CASE("frames are read behind what a launcher puts before each line") {
  const Answer answer = answer_of(
      "[rank3]: Traceback (most recent call last):\n"
      "[rank3]:   File \"train.py\", line 7, in main\n[rank3]:     out = model(x)\n"
      "[rank3]: RuntimeError: expected scalar type Half but found Float\n");
  REQUIRE(answer.errors.size() == 1);
  REQUIRE(answer.errors[0].frames.size() == 1);
  CHECK(answer.errors[0].frames[0].code == "out = model(x)");
}

TEST_CASE("an environment changes no answer, and is no sign") {
  const std::string message = "RuntimeError: expected scalar type Half but found Float\n";
  const Answer bare = answer_of(message);
  for (const char* environment :
       {"Triton: 3.3.1\n", "\n### System Info\n\n- DeepSpeed version: 0.15.4\n- apex: yes\n",
        "\nCollecting environment information...\nPyTorch version: 2.5.1\n\nVersions of relevant "
        "libraries:\n[pip3] onnxruntime==1.19.2\n[pip3] triton==3.1.0\n"}) {
    INFO(environment);
    for (const std::string& text : {message + environment, environment + ("\n" + message)}) {
      const Answer answer = answer_of(text);
      REQUIRE(answer.errors.size() == 1);
      CHECK(answer.errors[0].scores == bare.errors[0].scores);
    }
  }
  CHECK(answer_of(message + "torch==2.4.1\n").torch_version == "2.4.1");
  CHECK(answer_of(message + "requires torch>=2.4.1\n").torch_version.empty());
}

TEST_CASE("what MONAI prints of its configuration is no word") {
  const std::string message = "RuntimeError: expected scalar type Half but found Float\n";
  const std::string configuration =
      "MONAI version: 1.3.0\nNumpy version: 1.24.4\n"
      "MONAI flags: HAS_EXT = False, USE_COMPILED = False, USE_META_DICT = False\n"
      "MONAI __file__: /usr/lib/python3/monai/__init__.py\n\n"
      "Optional dependencies:\nITK version: NOT INSTALLED or UNKNOWN VERSION.\n\n"
      "================================\nPrinting GPU config...\n"
      "================================\nNum GPUs: 1\ncuDNN enabled: True\n"
      "Library compiled for CUDA architectures: ['sm_50', 'sm_80', 'sm_90']\n";
  const Answer bare = answer_of(message);
  for (const std::string& text : {message + configuration, configuration + message})
    CHECK(answer_of(text).errors.at(0).scores == bare.errors.at(0).scores);
  CHECK(answer_of(message + "in our HAS_EXT build\n").errors.at(0).scores != bare.errors[0].scores);
}

TEST_CASE("what somebody called his environment is no word") {
  const auto words = [](std::string_view text) { return ReadText(text).words(); };
  CHECK(words("failed: /home/me/anaconda3/envs/vae/bin/python").find("vae") == std::string::npos);
  CHECK(words("C:\\envs\\sdxl\\python.exe failed").find("sdxl") == std::string::npos);
  CHECK(words("/home/me/envs/x/lib/models/vae/decode").find("vae") != std::string::npos);
  CHECK(words("the envs/vae").find("vae") != std::string::npos);
}

}  // namespace dtypecheck::explain
