// What a replay says of cures: each a small program that was recorded, with the cure that would
// move the mismatch to the next line and the one that works.
#include "rules/engine/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "trace/text.h"

using namespace dtypecheck;
using namespace dtypecheck::rules;

namespace {

struct Judged {
  explicit Judged(const std::string& text) : run(parse_trace_text(text, "test").run) {
    findings = judge(index, options);
  }

  const Finding& finding(const std::string& rule) const {
    for (const Finding& finding : findings) {
      if (finding.rule == rule) return finding;
    }
    FAIL("no finding of " << rule);
    return findings.front();
  }

  // "holds", or "fails: " and why.
  std::string say(Cure cure, const std::string& rule = "mixed-operands") {
    Replay(index, options).judge(finding(rule), cure);
    const std::string verdict = cure_verdict_name(cure.verdict);
    return cure.verdict == CureVerdict::kFails || cure.verdict == CureVerdict::kUnchecked
               ? fmt::format("{}: {}", verdict, cure.reason)
               : verdict;
  }

  // The text of every line, which says whether it may cast.
  void every_line_is(const std::string& text) {
    options.line_text = [text](const std::string&, int) { return text; };
  }

  Run run;
  RunIndex index{run};
  JudgeOptions options;
  std::vector<Finding> findings;
};

Cure cure(CureKind kind, Dtype dtype, OpCallId call, const std::string& operand = "",
          int line = 0) {
  Cure cure{.kind = kind, .dtype = dtype, .call = call, .operand = operand};
  if (line > 0) cure.where = {"train.py", line, ""};
  return cure;
}

constexpr auto kOperand = CureKind::kCastOperand;
constexpr auto kResult = CureKind::kCastResult;
constexpr auto kInput = CureKind::kCastModuleInput;
constexpr auto kParameters = CureKind::kCastParameters;
constexpr auto kAutocast = CureKind::kOpenAutocast;
constexpr auto kMove = CureKind::kMoveAutocast;

const std::string kSoFar = "holds as far as the run got";

// One layer of a Float model was made in BFloat16.
const std::string kOneLayer = R"(
process libtorch=2.11.0
op aten::randn -> Float[2,8] at train.py:11 phase load
op aten::linear input=Float[2,8]<#1 weight=Float[8,8]%m.a.weight^^ bias=Float[8]%m.a.bias^^ -> Float[2,8]^ at train.py:9 in m.a (Linear) phase forward
op aten::addmm bias=Float[8]%m.a.bias^^ mat1=Float[2,8]<#1 mat2=Float[8,8]%m.a.weight^ -> Float[2,8]^ at train.py:9 in m.a (Linear) phase forward parent #2
op aten::linear input=Float[2,8]<#2^ weight=BFloat16[8,8]%m.b.weight^^ bias=BFloat16[8]%m.b.bias^^ raised "mat1 and mat2 must have the same dtype, but got Float and BFloat16" at train.py:9 in m.b (Linear) phase forward
op aten::addmm bias=BFloat16[8]%m.b.bias^^ mat1=Float[2,8]<#2^ mat2=BFloat16[8,8]%m.b.weight^ raised "mat1 and mat2 must have the same dtype, but got Float and BFloat16" at train.py:9 in m.b (Linear) phase forward parent #4
)";

// Time steps in Float meet a BFloat16 network.
const std::string kTimeSteps = R"(
process libtorch=2.11.0
op python::torch.tensor list[float]:=Double -> Float[2] at train.py:14 phase load
op aten::linear input=BFloat16[2,8] weight=BFloat16[16,8]%net.embed.weight^^ bias=BFloat16[16]%net.embed.bias^^ -> BFloat16[2,16]^ at train.py:9 in net.embed (Linear) phase forward
op aten::arange end:=16 -> Long[16] at train.py:10 in net (Net) phase forward
op aten::div.Tensor self=Long[16]<#3 other=Long[]$ -> Float[16] at train.py:10 in net (Net) phase forward
op aten::exp self=Float[16]<#4 -> Float[16] at train.py:10 in net (Net) phase forward
op aten::mul.Tensor self=Float[2,1]<#1 other=Float[16]<#5 -> Float[2,16] at train.py:10 in net (Net) phase forward
op aten::sin self=Float[2,16]<#6 -> Float[2,16] at train.py:10 in net (Net) phase forward
op aten::add.Tensor self=BFloat16[2,16]<#2^ other=Float[2,16]<#7 -> Float[2,16]^ at train.py:11 in net (Net) phase forward
op aten::_to_copy self=BFloat16[2,16]<#2^ dtype:=Float -> Float[2,16] at train.py:11 in net (Net) phase forward parent #8
op aten::linear input=Float[2,16]<#8^ weight=BFloat16[4,16]%net.out.weight^^ bias=BFloat16[4]%net.out.bias^^ raised "mat1 and mat2 must have the same dtype, but got Float and BFloat16" at train.py:11 in net.out (Linear) phase forward
op aten::addmm bias=BFloat16[4]%net.out.bias^^ mat1=Float[2,16]<#8^ mat2=BFloat16[16,4]%net.out.weight^ raised "mat1 and mat2 must have the same dtype, but got Float and BFloat16" at train.py:11 in net.out (Linear) phase forward parent #10
)";

}  // namespace

TEST_CASE("a cast of a model's input that its first layer refuses fails") {
  Judged run(kOneLayer);
  CHECK(run.say(cure(kInput, Dtype::kBFloat16, 5, "m")) ==
        "fails: aten::addmm at train.py:9 would refuse a BFloat16 input with a Float weight");
  CHECK(run.say(cure(kInput, Dtype::kFloat, 5, "m")) ==
        "fails: all that m is called with is Float already");
  CHECK(run.say(cure(kOperand, Dtype::kBFloat16, 5, "mat1")) == kSoFar);
  CHECK(run.say(cure(kOperand, Dtype::kBFloat16, 5, "bias")) == "fails: bias is BFloat16 already");
  CHECK(run.say(cure(kResult, Dtype::kBFloat16, 3)) == kSoFar);
  CHECK(run.say(cure(kResult, Dtype::kHalf, 2)) ==
        "fails: aten::addmm at train.py:9 would still refuse a Half input with a BFloat16 weight");
  CHECK(run.say(cure(kParameters, Dtype::kFloat, 5, "m.b")) == kSoFar);
  CHECK(run.say(cure(kParameters, Dtype::kFloat, 5, "m.a")) ==
        "fails: each parameter of m.a is Float already");
  CHECK(run.say(cure(kParameters, Dtype::kHalf, 5, "m.b")) ==
        "fails: aten::addmm at train.py:9 would still refuse a Float input with a Half weight");
  CHECK(run.say(cure(kAutocast, Dtype::kBFloat16, 5, "m", 11)) == kSoFar);
}

TEST_CASE("a cast that a promotion on the way takes back does not reach the op that failed") {
  Judged run(kTimeSteps);
  CHECK(run.say(cure(kResult, Dtype::kBFloat16, 1)) ==
        "fails: it does not reach aten::addmm at train.py:11, which would still refuse a Float "
        "input with a BFloat16 weight");
  CHECK(run.say(cure(kResult, Dtype::kBFloat16, 7)) == kSoFar);
  CHECK(run.say(cure(kOperand, Dtype::kBFloat16, 8, "other")) == kSoFar);
  CHECK(run.say(cure(kResult, Dtype::kBFloat16, 8)) == kSoFar);  // cast back at once
  CHECK(run.say(cure(kParameters, Dtype::kFloat, 8, "net")) ==
        "fails: aten::linear at train.py:9 would refuse a BFloat16 input with a Float weight");
}

TEST_CASE("a cast of what a line casts again does nothing, nor does autocast that is open") {
  // The norm of a network under autocast was made in Half.
  Judged run(R"(
process libtorch=2.11.0
op aten::randn -> Float[2,16] at train.py:12 phase load entered train.py:11 autocast cpu:BFloat16
op aten::linear input=Float[2,16]<#1 weight=Float[16,16]%net.fc.weight^^ bias=Float[16]%net.fc.bias^^ -> BFloat16[2,16]^ at train.py:8 in net.fc (Linear) phase forward entered train.py:11 autocast cpu:BFloat16 wrapper
op aten::_to_copy self=Float[16]%net.fc.bias^^ dtype:=BFloat16 -> BFloat16[16]^ at train.py:8 in net.fc (Linear) phase forward entered train.py:11 parent #2
op aten::_to_copy self=Float[16,16]%net.fc.weight^^ dtype:=BFloat16 -> BFloat16[16,16]^ at train.py:8 in net.fc (Linear) phase forward entered train.py:11 parent #2
op aten::_to_copy self=Float[2,16]<#1 dtype:=BFloat16 -> BFloat16[2,16] at train.py:8 in net.fc (Linear) phase forward entered train.py:11 parent #2
op aten::linear input=BFloat16[2,16]<#5 weight=BFloat16[16,16]<#4^ bias=BFloat16[16]<#3^ -> BFloat16[2,16]^ at train.py:8 in net.fc (Linear) phase forward entered train.py:11 autocast off inner parent #2
op aten::_to_copy self=BFloat16[2,16]<#2^ dtype:=Float -> Float[2,16]^ at train.py:9 in net (Block) phase forward entered train.py:11 autocast cpu:BFloat16
op aten::native_layer_norm input=Float[2,16]<#7^ weight=Half[16]%net.norm.weight^^ bias=Half[16]%net.norm.bias^^ eps:=1e-05 raised "mixed dtype (CPU): expect parameter to have scalar type of Float" at train.py:9 in net.norm (LayerNorm) phase forward entered train.py:11 autocast cpu:BFloat16
)");
  CHECK(
      run.say(cure(kInput, Dtype::kHalf, 8, "net")) ==
      "fails: it does not reach aten::native_layer_norm at train.py:9, which would still refuse a "
      "Float input with a Half weight");
  CHECK(run.say(cure(kAutocast, Dtype::kHalf, 8, "net", 12)) ==
        "fails: autocast is open there already, entered at train.py:11");
  CHECK(run.say(cure(kOperand, Dtype::kHalf, 8, "input")) == kSoFar);
  CHECK(run.say(cure(kParameters, Dtype::kFloat, 8, "net.norm")) == kSoFar);
  CHECK(run.say(cure(kParameters, Dtype::kBFloat16, 8, "net.norm")) ==
        "fails: aten::native_layer_norm at train.py:9 would still refuse a Float input with a "
        "BFloat16 weight");
}

TEST_CASE("a cast of what is written in place writes into a copy") {
  Judged run(R"(
process libtorch=2.11.0
op aten::zeros -> Half[4,4] at train.py:1 phase load
op aten::ones -> Float[2,4] at train.py:2 phase load
op aten::index_put_ self=Half[4,4]<#1!out indices=Long[2], values=Float[2,4]<#2 raised "Index put requires the source and destination dtypes match, got Half for the destination and Float for the source." at train.py:2 phase load
op aten::_index_put_impl_ self=Half[4,4]<#1!out indices=Long[2], values=Float[2,4]<#2 raised "Index put requires the source and destination dtypes match, got Half for the destination and Float for the source." at train.py:2 phase load parent #3
)");
  CHECK(run.say(cure(kOperand, Dtype::kFloat, 4, "self")) ==
        "fails: self.to(torch.float32) would be a copy, and what aten::_index_put_impl_ writes "
        "into it would be lost");
  CHECK(run.say(cure(kOperand, Dtype::kHalf, 4, "values")) == kSoFar);
  CHECK(run.say(cure(kResult, Dtype::kHalf, 2)) == kSoFar);
  CHECK(run.say(cure(kResult, Dtype::kFloat, 1)) == kSoFar);
}

TEST_CASE("a cast of one operand of three leaves the others mixed") {
  // A Float mask beside a Half attention whose module no variable holds.
  Judged run(R"(
process libtorch=2.11.0
op aten::_to_copy self=Float[8,8] dtype:=Half -> Half[8,8] at train.py:3 phase load
op aten::_to_copy self=Float[8] dtype:=Half -> Half[8] at train.py:3 phase load
op aten::_to_copy self=Float[4,1,8] dtype:=Half -> Half[4,1,8] at train.py:4 phase load
op aten::zeros -> Float[4,4] at train.py:4 phase load
op aten::linear input=Half[4,1,8]<#3 weight=Half[8,8]<#1^ bias=Half[8]<#2^ -> Half[4,1,8]^ at train.py:5 in MultiheadAttention (MultiheadAttention) phase forward
op aten::mul.Tensor self=Half[2,4,4]<#5^ other=Double[]$ other:=0.5 -> Half[2,4,4]^ at train.py:5 in MultiheadAttention (MultiheadAttention) phase forward
op aten::baddbmm bias=Float[1,4,4]<#4 batch1=Half[2,4,4]<#6^ batch2=Half[2,4,4]<#5^ raised "Input dtypes must be the same, got: input float, batch1: c10::Half, batch2: c10::Half" at train.py:5 in MultiheadAttention (MultiheadAttention) phase forward
)");
  CHECK(run.say(cure(kOperand, Dtype::kFloat, 7, "batch1"))
            .starts_with("fails: aten::baddbmm at train.py:5 would still refuse a Half batch2"));
  CHECK(run.say(cure(kOperand, Dtype::kHalf, 7, "bias")) == kSoFar);
  CHECK(run.say(cure(kResult, Dtype::kHalf, 4)) == kSoFar);
  CHECK(run.say(cure(kParameters, Dtype::kFloat, 7, "MultiheadAttention")) ==
        "fails: aten::linear at train.py:5 would refuse a Half input with a Float weight");
}

TEST_CASE("the states of a recurrent layer are cast together") {
  const std::string error =
      "raised \"could not create a primitive descriptor for the LSTM forward propagation "
      "primitive.\" dnnl::error at train.py:3 in LSTM (LSTM) phase forward";
  Judged run(fmt::format(R"(
process libtorch=2.11.0
op aten::zeros -> Half[1,1,4] at train.py:1 phase load
op aten::zeros -> Half[1,1,4] at train.py:2 phase load
op aten::lstm.input input=Float[2,1,4] hx=Half[1,1,4]<#1,Half[1,1,4]<#2 params=Float[16,4]%LSTM.weight_ih_l0^^,Float[16,4]%LSTM.weight_hh_l0^^,Float[16]%LSTM.bias_ih_l0^^,Float[16]%LSTM.bias_hh_l0^^ {0}
op aten::mkldnn_rnn_layer input=Float[2,1,4] weight0=Float[16,4]%LSTM.weight_ih_l0^^ weight1=Float[16,4]%LSTM.weight_hh_l0^^ weight2=Float[16]%LSTM.bias_ih_l0^^ weight3=Float[16]%LSTM.bias_hh_l0^^ hx_=Half[1,4]<#1 cx_=Half[1,4]<#2 {0} parent #3
)",
                         error));
  CHECK(run.say(cure(kOperand, Dtype::kFloat, 4, "hx_")).starts_with("fails: "));
  CHECK(run.say(cure(kOperand, Dtype::kFloat, 3, "hx")) == kSoFar);
}

namespace {

// Half data in a Half base and its Float LoRA, where --keep-going repaired what was refused.
const std::string kLora = R"(
process libtorch=2.11.0 fact:exit.status="0"
op aten::_to_copy self=Float[2,16] dtype:=Half -> Half[2,16] at train.py:9 phase load
op aten::linear input=Half[2,16]<#1 weight=Half[16,16]%m.base.weight bias=Half[16]%m.base.bias -> Half[2,16] at train.py:6 in m.base (Linear) phase forward
op aten::linear input=Half[2,16]<#1 weight=Float[4,16]%m.a.weight^^ -> Half[2,4]^ at train.py:6 in m.a (Linear) phase forward
op aten::mm self=Half[2,16]<#1 mat2=Float[16,4]%m.a.weight^ -> Half[2,4]^ raised "expected m1 and m2 to have the same dtype, but got: c10::Half != float" repaired at train.py:6 in m.a (Linear) phase forward parent #3
op aten::linear input=Half[2,4]<#3^ weight=Float[16,4]%m.b.weight^^ -> Half[2,16]^ at train.py:6 in m.b (Linear) phase forward
op aten::mm self=Half[2,4]<#3^ mat2=Float[4,16]%m.b.weight^ -> Half[2,16]^ raised "expected m1 and m2 to have the same dtype, but got: c10::Half != float" repaired at train.py:6 in m.b (Linear) phase forward parent #5 follows #4
op aten::add.Tensor self=Half[2,16]<#2 other=Half[2,16]<#5^ -> Half[2,16]^ at train.py:6 in m (LoRA) phase forward
)";

}  // namespace

TEST_CASE("a run that went on tells what comes behind the op that failed") {
  Judged run(kLora);
  CHECK(run.say(cure(kOperand, Dtype::kFloat, 4, "self")) ==
        "fails: then aten::add promotes self from Half to Float at train.py:6 (silent-promotion)");
  CHECK(run.say(cure(kParameters, Dtype::kHalf, 4, "m.a")) == "holds");
  CHECK(run.say(cure(kParameters, Dtype::kHalf, 4, "m")) == "holds");
  CHECK(run.say(cure(kInput, Dtype::kFloat, 4, "m")) ==
        "fails: aten::linear at train.py:6 would refuse a Float input with a Half weight");
  CHECK(run.say(cure(kAutocast, Dtype::kHalf, 4, "m", 10)) == "holds");
  CHECK(run.say(cure(kAutocast, Dtype::kBFloat16, 4, "m", 10)) == "holds");
}

TEST_CASE("the smallest change that keeps the most precision comes first") {
  Judged run(kLora);
  std::vector<Finding> findings = {run.finding("mixed-operands")};
  findings[0].fix = "first; m.a.weight became Float at train.py:5";
  findings[0].cures = {
      cure(kParameters, Dtype::kHalf, 4, "m.a"), cure(kParameters, Dtype::kHalf, 4, "m"),
      cure(kAutocast, Dtype::kHalf, 4, "m", 10), cure(kAutocast, Dtype::kBFloat16, 4, "m", 10),
      cure(CureKind::kSetting, Dtype::kBFloat16, 4)};
  const std::vector<std::string> texts = {"first", "second", "third", "fourth", "fifth"};
  for (size_t i = 0; i < texts.size(); ++i) findings[0].cures[i].text = texts[i];
  Replay(run.index, run.options).judge(findings);
  std::vector<std::string> order;
  for (const Cure& judged : findings[0].cures) order.push_back(judged.text);
  CHECK(order == std::vector<std::string>{"fourth", "third", "second", "first", "fifth"});
  CHECK(findings[0].fix == "fourth; m.a.weight became Float at train.py:5");
  findings[0].cures.resize(1);
  findings[0].cures[0] = cure(kInput, Dtype::kFloat, 4, "m");
  Replay(run.index, run.options).judge(findings);
  CHECK(findings[0].fix.starts_with("none that was checked holds; in general: "));
  CHECK(!findings[0].why.empty());
}

TEST_CASE("a cure that a rule would speak of fails") {
  // The optimizer steps the LoRA that is Float, and would step it in Half.
  Judged run(kLora + R"(
op aten::addcdiv_ self=Float[4,16]%m.a.weight!out^^ tensor1=Float[4,16] tensor2=Float[4,16] -> Float[4,16]^^ at train.py:12 phase optimizer step 1
)");
  CHECK(run.say(cure(kParameters, Dtype::kHalf, 4, "m")).starts_with("fails: "));
  CHECK(run.say(cure(kAutocast, Dtype::kHalf, 4, "m", 10)) == "holds");
}

TEST_CASE("integers that a dtype does not hold are not cast to it") {
  const auto steps = [](int end) {
    return fmt::format(R"(
process libtorch=2.11.0
op aten::arange end:={} -> Long[4] at train.py:1 phase load
op aten::_to_copy self=Long[4]<#1 dtype:=Float -> Float[4] at train.py:2 phase load
op aten::linear input=Float[4]<#2 weight=BFloat16[4,4]%net.weight^^ raised "expected m1 and m2 to have the same dtype, but got: float != c10::BFloat16" at train.py:3 in net (Linear) phase forward
)",
                       end);
  };
  Judged many(steps(1000)), few(steps(200));
  CHECK(many.say(cure(kOperand, Dtype::kBFloat16, 3, "input")) ==
        "fails: BFloat16 holds every integer up to 256 only, and aten::arange at train.py:1 gives "
        "some up to 999");
  CHECK(few.say(cure(kOperand, Dtype::kBFloat16, 3, "input")) == kSoFar);
  CHECK(many.say(cure(kParameters, Dtype::kFloat, 3, "net")) == kSoFar);
}

TEST_CASE("autocast does not take back a cast that a line made on purpose") {
  const auto program = [](const std::string& cast) {
    return fmt::format(R"(
process libtorch=2.11.0
op aten::linear input=Half[2,8] weight=Half[8,8]%m.a.weight -> Half[2,8] at train.py:8 in m.a (Linear) phase forward
{}
op aten::linear input=Float[2,8]<#2 weight=Half[8,8]%m.b.weight raised "expected m1 and m2 to have the same dtype, but got: float != c10::Half" at train.py:10 in m.b (Linear) phase forward
)",
                       cast);
  };
  Judged purpose(
      program("op aten::_to_copy self=Half[2,8]<#1 dtype:=Float -> Float[2,8] at train.py:9 in m "
              "(M) phase forward"));
  CHECK(purpose.say(cure(kAutocast, Dtype::kHalf, 3, "m", 12)) ==
        "fails: autocast would cast back what aten::_to_copy at train.py:9 casts to Float");
  Judged made_wide(program("op aten::ones -> Float[2,8] at train.py:9 in m (M) phase forward"));
  CHECK(made_wide.say(cure(kAutocast, Dtype::kHalf, 3, "m", 12)) == kSoFar);
}

TEST_CASE("of an op that nobody measured the run itself may tell") {
  const auto program = [](const std::string& first) {
    return fmt::format(R"(
process libtorch=2.11.0 fact:exit.status="0"
op fused::rope x={0}[2,8] table={0}[8] -> {0}[2,8] at train.py:5 phase forward
op aten::ones -> Float[2,8] at train.py:6 phase forward
op fused::rope x=Float[2,8]<#2 table=Float[8] -> Float[2,8] at train.py:7 phase forward
op aten::linear input=Float[2,8]<#3 weight=Half[8,8]%m.b.weight -> Half[2,8] raised "expected m1 and m2 to have the same dtype, but got: float != c10::Half" repaired at train.py:8 in m.b (Linear) phase forward
)",
                       first);
  };
  Judged seen(program("Half")), unseen(program("Float"));
  CHECK(seen.say(cure(kResult, Dtype::kHalf, 2)) ==
        "unchecked: it is not known whether fused::rope at train.py:7 takes a Float table with a "
        "Half input");
  CHECK(seen.say(cure(kOperand, Dtype::kHalf, 4, "input")) == "holds");
  CHECK(unseen.say(cure(CureKind::kSetting, Dtype::kFloat, 4)) ==
        "unchecked: the recorded op calls say nothing of it");
}

TEST_CASE("a loss is given both sides in one dtype") {
  Judged run(R"(
process libtorch=2.11.0
op aten::linear input=BFloat16[8,4] weight=BFloat16[1,4]%m.weight^^ -> BFloat16[8,1]^ at train.py:5 in m (Linear) phase forward
op aten::randn -> Float[8,1] at train.py:4 phase load
op aten::mse_loss self=BFloat16[8,1]<#1^ target=Float[8,1]<#2 -> Float[]^ at train.py:5 phase forward
op aten::ones_like self=Float[]<#3^ -> Float[] at train.py:6 phase backward
op aten::mse_loss_backward grad_output=Float[]<#4 self=BFloat16[8,1]<#1^ target=Float[8,1]<#2 raised "Found dtype Float but expected BFloat16" at train.py:6 phase backward
)");
  CHECK(run.say(cure(kResult, Dtype::kBFloat16, 2)) == kSoFar);
  CHECK(run.say(cure(kOperand, Dtype::kFloat, 3, "self"), "silent-promotion") == "holds");
  CHECK(run.say(cure(kOperand, Dtype::kFloat, 3, "self")) == kSoFar);
  CHECK(run.say(cure(kResult, Dtype::kBFloat16, 3)) ==
        "fails: aten::mse_loss_backward at train.py:6 would still refuse a Float target with a "
        "BFloat16 input");
}

TEST_CASE("what a library casts to its input's dtype follows the input") {
  const std::string in_unet =
      "at train.py:5 inside unet.py:9 in unet.time (TimestepEmbedding) phase forward";
  // Half latents, a Float UNet; and the other way round, where no cast is recorded.
  Judged low(fmt::format(R"(
process libtorch=2.11.0
op aten::randn dtype:=Half -> Half[2,4] at train.py:4 phase load
op aten::sin self=Float[2,4] -> Float[2,4] {0}
op aten::_to_copy self=Float[2,4]<#2 dtype:=Half -> Half[2,4] {0}
op aten::linear input=Half[2,4]<#3 weight=Float[4,4]%unet.time.weight raised "mat1 and mat2 must have the same dtype, but got Half and Float" {0}
op aten::add.Tensor self=Half[2,4]<#1 other=Half[2,4] -> Half[2,4] {0}
)",
                         in_unet));
  CHECK(low.say(cure(kInput, Dtype::kFloat, 4, "unet")) == kSoFar);
  Judged wide(fmt::format(R"(
process libtorch=2.11.0
op aten::randn -> Float[2,4] at train.py:4 phase load
op aten::arange end:=4 dtype:=Float -> Float[4] {0}
op aten::linear input=Float[2,4]<#2 weight=Half[4,4]%unet.time.weight raised "mat1 and mat2 must have the same dtype, but got Float and Half" {0}
op aten::add.Tensor self=Float[2,4]<#1 other=Float[2,4] -> Float[2,4] {0}
)",
                          in_unet));
  CHECK(wide.say(cure(kInput, Dtype::kHalf, 3, "unet")) ==
        "unchecked: it is not known whether unet casts what aten::linear at unet.py:9, called from "
        "train.py:5 gets to the dtype of its input");
}

TEST_CASE("a cast that changed nothing when it was recorded is not in the run") {
  const std::string program = R"(
process libtorch=2.11.0 fact:exit.status="0"
op aten::randn -> Float[2,8] at train.py:4 phase load
op aten::linear input=Float[2,8]<#1 weight=Half[8,8]%m.a.weight -> Float[2,8] raised "mat1 and mat2 must have the same dtype, but got Float and Half" repaired at train.py:8 in m.a (Linear) phase forward
op aten::linear input=Float[2,8]<#2 weight=Float[8,8]%m.b.weight -> Float[2,8] at train.py:9 in m.b (Linear) phase forward
)";
  Judged run(program);
  const Cure lowered = cure(kInput, Dtype::kHalf, 2, "m");
  CHECK(run.say(lowered) ==
        "fails: aten::linear at train.py:9 would refuse a Half input with a Float weight");
  run.every_line_is("return self.b(self.a(x).float())");
  CHECK(run.say(lowered) ==
        "unchecked: it is not known whether aten::linear at train.py:9 takes a Half input with a "
        "Float weight");
}

TEST_CASE("under autocast an op that --keep-going repaired goes with the op around it") {
  Judged run(kLora);
  CHECK(run.say(cure(kAutocast, Dtype::kHalf, 6, "m", 10)) == "holds");
  CHECK(run.say(cure(kAutocast, Dtype::kHalf, 7, "", 6)) == "holds");
}

TEST_CASE("a line that casts a whole model casts more than the layer that failed") {
  Judged run(R"(
process libtorch=2.11.0
op aten::_to_copy self=Float[8,8] dtype:=BFloat16 -> BFloat16[8,8] at train.py:12 phase load
op aten::_to_copy self=Float[4,8] dtype:=BFloat16 -> BFloat16[4,8] at train.py:12 phase load
op aten::linear input=BFloat16[2,8] weight=BFloat16[8,8]%net.a.weight<#1 -> BFloat16[2,8] at train.py:9 in net.a (Linear) phase forward
op aten::add.Tensor self=BFloat16[2,8]<#3 other=Float[2,8] -> Float[2,8] at train.py:10 in net (Net) phase forward
op aten::linear input=Float[2,8]<#4 weight=BFloat16[4,8]%net.out.weight<#2 raised "mat1 and mat2 must have the same dtype, but got Float and BFloat16" at train.py:11 in net.out (Linear) phase forward
)");
  Cure layer = cure(kParameters, Dtype::kFloat, 5, "net.out", 12);
  CHECK(run.say(layer) == kSoFar);
  layer.replaces = "Net().to(torch.bfloat16)";
  CHECK(run.say(layer) ==
        "fails: aten::linear at train.py:9 would refuse a BFloat16 input with a Float weight");
}

TEST_CASE("what a DataLoader's worker makes is followed into the process that reads it") {
  Judged run(R"(
process pid=1 libtorch=2.11.0
op aten::linear input=Double[8,4] weight=Float[2,4]%net.weight raised "mat1 and mat2 must have the same dtype, but got Double and Float" at train.py:14 in net (Linear) phase forward
process pid=2 parent_pid=1 libtorch=2.11.0
op python::torch.from_numpy ndarray:=Double -> Double[4] at train.py:8 phase data
op aten::stack tensors=Double[4]<#2,Double[4]<#2 -> Double[8,4] at collate.py:3 phase data
)");
  CHECK(run.say(cure(kResult, Dtype::kFloat, 2)) == kSoFar);
}

TEST_CASE("a cast in one call of a line is not one in another call there") {
  const std::string head =
      "op aten::sqrt self=Double[4] -> Double[4] at train.py:1[5-9]\n"
      "op aten::mul self=Double[4]<#1 other=Float[4] -> Double[4] at train.py:2[5-17]\n"
      "op aten::sqrt self=Double[4] -> Double[4] at train.py:2[21-29]\n";
  const std::string tail =
      "op aten::add self=Double[4]<#2 other=Double[4]<#4 -> Double[4] at train.py:2[5-33]\n"
      "op aten::addmm self=Float[4]%fc.bias mat1=Double[4,4]<#5 mat2=Float[4,4]%fc.weight raised "
      "\"mat1 and mat2 must have the same dtype, but got Double and Float\" at train.py:3 in fc "
      "(Linear)\n";
  // The second product has a Double of its own …
  Judged other(head +
               "op aten::mul self=Double[4]<#3 other=Float[4] -> Double[4] at "
               "train.py:2[21-33]\n" +
               tail);
  CHECK_THAT(other.say(cure(kOperand, Dtype::kFloat, 2, "self", 2)), Catch::StartsWith("fails"));
  // … or the same one, which the line reads twice.
  Judged same(head +
              "op aten::mul self=Double[4]<#1 other=Float[4] -> Double[4] at "
              "train.py:2[21-33]\n" +
              tail);
  CHECK(same.say(cure(kOperand, Dtype::kFloat, 2, "self", 2)) == "holds as far as the run got");
}

TEST_CASE("a region that ended too early takes in the lines behind it") {
  const std::string text = R"(
process libtorch=2.11.0
op aten::linear input=Float[2,8] weight=Float[8,8]%m.a.weight^^ bias=Float[8]%m.a.bias^^ -> BFloat16[2,8]^ at train.py:12 (run) in m.a (Linear) phase forward entered train.py:11 (run) autocast cpu:BFloat16 wrapper
op aten::mul.Tensor self=BFloat16[2,8]<#1^ other=BFloat16[2,8]<#1^ -> BFloat16[2,8]^ at train.py:14 (run) phase forward
op aten::linear input=BFloat16[2,8]<#2^ weight=Float[8,8]%m.b.weight^^ bias=Float[8]%m.b.bias^^ raised "mat1 and mat2 must have the same dtype, but got BFloat16 and Float" at train.py:15 (run) in m.b (Linear) phase forward
op aten::addmm bias=Float[8]%m.b.bias^^ mat1=BFloat16[2,8]<#2^ mat2=Float[8,8]%m.b.weight^ raised "mat1 and mat2 must have the same dtype, but got BFloat16 and Float" at train.py:15 (run) in m.b (Linear) phase forward parent #3
)";
  Judged run(text);
  CHECK(run.say(cure(kMove, Dtype::kBFloat16, 3, "", 15)) == kSoFar);
  run.options.line_text = [](const std::string&, int line) -> std::string {
    return line == 11 ? "    with torch.autocast('cpu'):" : "    y = m.b(h)";
  };
  const std::vector<Finding> findings = judge(run.index, run.options);
  const auto is_move = [](const Cure& cure) { return cure.kind == kMove; };
  const auto& cures = findings.front().cures;
  const auto found = std::find_if(cures.begin(), cures.end(), is_move);
  REQUIRE(found != cures.end());
  CHECK(
      found->text ==
      "let the autocast of train.py:11 take in the line, train.py:15: with torch.autocast('cpu'):");

  // A region of another function is not this one's to move.
  std::string other = text;
  other.replace(other.find("entered train.py:11 (run)"), 25, "entered train.py:11 (one)");
  Judged apart(other);
  apart.options.line_text = run.options.line_text;
  const std::vector<Finding> rest = judge(apart.index, apart.options);
  CHECK(std::none_of(rest.front().cures.begin(), rest.front().cures.end(), is_move));
}

TEST_CASE("what refuses an input that is not as its weights takes weights that are as it") {
  Judged run(R"trace(
process libtorch=2.11.0
op python::RNNBase.check_input input=Double[8,5,1] weight_ih_l0=Float[32,1]%m.lstm.weight_ih_l0^^ bias_ih_l0=Float[32]%m.lstm.bias_ih_l0^^ raised "RNN input dtype (torch.float64) does not match weight dtype (torch.float32). Convert input: input.to(torch.float32), or convert model: model.to(torch.float64)" at train.py:26 in m.lstm (LSTM) phase forward
)trace");
  CHECK(run.say(cure(kParameters, Dtype::kDouble, 1, "m")) == kSoFar);
  CHECK(run.say(cure(kInput, Dtype::kFloat, 1, "m.lstm")) == kSoFar);
  CHECK(run.say(cure(kParameters, Dtype::kHalf, 1, "m")).starts_with("fails: "));
}
