#include "trace/text.h"

#include <catch2/catch.hpp>
#include <limits>

#include "platform/error.h"
#include "random_run.h"

namespace dtypecheck {
namespace {

Run parse(std::string_view text) { return parse_trace_text(text, "case.trace").run; }

OpCall parse_one(std::string_view line) {
  const Run run = parse(line);
  REQUIRE(run.calls.size() == 1);
  return run.calls[0];
}

std::string error_of(std::string_view text) {
  try {
    parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("an op line with everything in it") {
  const OpCall call = parse_one(
      "op aten::addmm.out bias=Float[320]%unet.linear_1.bias^^ mat1=Half[2,320]@cuda:0<#1 "
      "mat2=Float[320,1280] beta:=1 dtype:=Half -> Half|Float[2,1280],none "
      "raised \"mat1 and \\\"mat2\\\"\" c10::Error at train.py:1065 main inside unet.py:3 \"step\" "
      "in unet.linear_1 (Linear) phase forward step 1-3 count 4 throws 2 "
      "autocast cpu:BFloat16,cuda:Half wrapper parent #1 non-finite nan clean inexact 1365 1368");
  CHECK(call.op == "aten::addmm");
  CHECK(call.overload == "out");
  REQUIRE(call.operands.size() == 3);
  CHECK(call.operands[0].name == "bias");
  CHECK(call.operands[0].role == Role::kBias);
  CHECK(call.operands[0].parameter == "unet.linear_1.bias");
  CHECK(call.operands[0].is_leaf);
  CHECK(call.operands[1].device == Device{"cuda", 0});
  CHECK(call.operands[1].shape == std::vector<int64_t>{2, 320});
  CHECK(call.operands[1].origin == 1);
  CHECK(call.scalar("beta")->value == 1);
  CHECK(call.scalar("dtype")->dtype == Dtype::kHalf);
  REQUIRE(call.results.size() == 2);
  CHECK(call.results[0].dtypes == (DtypeSet(Dtype::kHalf) | Dtype::kFloat));
  CHECK(call.results[1].kind == TensorKind::kUndefined);
  CHECK(call.outcome == Outcome::kThrew);
  CHECK(call.error == "mat1 and \"mat2\"");
  CHECK(call.error_type == "c10::Error");
  CHECK(call.site.line == SourceLine{"train.py", 1065, "main"});
  CHECK(call.site.inner == SourceLine{"unet.py", 3, "step"});
  CHECK(call.site.module == "unet.linear_1");
  CHECK(call.site.module_class == "Linear");
  CHECK(call.site.phase == Phase::kForward);
  CHECK((call.first_step == 1 && call.last_step == 3));
  CHECK((call.count == 4 && call.throws == 2));
  CHECK(call.autocast.region_for("cuda")->dtype == Dtype::kHalf);
  CHECK((call.autocast.is_wrapper && !call.autocast.is_inner));
  CHECK(call.parent == 1);
  CHECK((call.first_nan() && call.first_nan()->operands_were_finite));
  CHECK(call.inexact == InexactValue{1365, 1368});
}

TEST_CASE("a line has the extent of the call on it") {
  const OpCall one = parse_one("op aten::mm self=Half[] at train.py:7[12-30] main");
  CHECK(one.site.line.extent == Extent{12, 7, 30});
  CHECK(one.site.line.function == "main");
  const OpCall two = parse_one("op aten::mm self=Half[] at \"a b.py\":7[12-3+2]");
  CHECK(two.site.line.extent == Extent{12, 9, 3});
  CHECK(one.site.line == SourceLine{"train.py", 7, "main"});
}

TEST_CASE("what an op line leaves out") {
  const OpCall call = parse_one("op aten::add self=Half other=Float[]");
  CHECK_FALSE(call.operands[0].has_shape);
  CHECK((call.operands[1].has_shape && call.operands[1].shape.empty()));
  CHECK(call.operands[0].device == Device{"cpu", -1});
  CHECK(call.outcome == Outcome::kReturned);
  CHECK((call.count == 1 && call.throws == 0 && call.id == 1));
  CHECK(parse_one("op aten::add raised \"no\" count 3").throws == 3);
  CHECK(parse_one("op aten::add at train.py:3").site.inner.file == "train.py");
}

TEST_CASE("lists name their elements") {
  const OpCall call = parse_one("op aten::cat tensors=Half[1],Float[2] one=Half, alone=Half");
  REQUIRE(call.operands.size() == 4);
  CHECK(call.operands[0].name == "tensors[0]");
  CHECK(call.operands[1].name == "tensors[1]");
  CHECK(call.operands[2].name == "one[0]");
  CHECK(call.operands[3].name == "alone");
}

TEST_CASE("a function that is named like a key is quoted") {
  const OpCall call = parse_one("op aten::add at adam.py:3 \"step\" step 3");
  CHECK(call.site.line.function == "step");
  CHECK(call.first_step == 3);
  CHECK(parse_one("op aten::add at adam.py:3 step 3").site.line.function.empty());
}

TEST_CASE("roles follow the argument's name unless given") {
  const OpCall call = parse_one(
      "op aten::f weight=Half running_mean=Half max_exp_avg_sqs=Half state_steps=Half,Half "
      "self=Half:weight out=Half!out");
  CHECK(call.operand("weight")->role == Role::kWeight);
  CHECK(call.operand("running_mean")->role == Role::kState);
  CHECK(call.operand("max_exp_avg_sqs")->role == Role::kState);
  CHECK(call.operand("state_steps[1]")->role == Role::kState);
  CHECK(call.operand("self")->role == Role::kWeight);
  CHECK(call.operand("out")->role == Role::kOut);
}

TEST_CASE("names of Python functions keep their dots") {
  const OpCall call = parse_one("op python::GradScaler._unscale_grads_ grad=Half");
  CHECK(call.op == "python::GradScaler._unscale_grads_");
  CHECK(call.overload.empty());
}

TEST_CASE("ids given are labels") {
  const Run run =
      parse("op aten::a id #70\nop aten::b self=Half<#70 parent #90\nop aten::c id #90");
  CHECK(run.calls[0].id == 1);
  CHECK(run.calls[1].operands[0].origin == 1);
  CHECK(run.calls[1].parent == 3);
}

TEST_CASE("ops belong to the process line before them") {
  const Run run = parse(
      "process pid=7 rank=0 steps=3 libtorch=2.11.0 fact:accelerate.mixed_precision=\"fp16\"\n"
      "op aten::a self=Half@cuda:1\n"
      "process pid=8 end=running damaged=\"cut short\" devices=none\n"
      "op aten::b self=Half\n");
  REQUIRE(run.processes.size() == 2);
  CHECK(run.processes[0].facts.at("accelerate.mixed_precision") == "fp16");
  CHECK(run.processes[0].steps_traced == 3);
  CHECK(run.processes[0].devices == std::vector<std::string>{"cuda"});
  CHECK(run.processes[0].end == EndState::kExited);
  CHECK(run.processes[1].devices.empty());
  CHECK(run.processes[1].end == EndState::kRunning);
  CHECK_FALSE(run.processes[1].complete());
  CHECK((run.calls[0].process == 0 && run.calls[1].process == 1));
}

TEST_CASE("a backslash continues a line, and errors tell its first") {
  CHECK(parse_one("op aten::add \\\n   self=Half \\\n  other=Float").operands.size() == 2);
  CHECK(error_of("\nop aten::add \\\n self=Hlaf").starts_with("case.trace:2: "));
}

TEST_CASE("parse errors name file, line, what was expected and what came") {
  CHECK(error_of("op aten::add self=Hlaf") ==
        "case.trace:1: expected a dtype (Half, float16), got \"Hlaf\"");
  CHECK(error_of("# x\nopp aten::add") ==
        "case.trace:2: expected op, process, time, gpu-time, health, health-step, values-checked "
        "or #, got \"opp\"");
  CHECK(error_of("op add") ==
        "case.trace:1: expected an op with its namespace, as in aten::addmm, got \"add\"");
  CHECK(error_of("op aten::a at train.py") ==
        "case.trace:1: expected FILE:LINE, as in train.py:91, got \"train.py\"");
  CHECK(error_of("op aten::a count x") == "case.trace:1: expected how many calls, got \"x\"");
  CHECK(error_of("op aten::a count") ==
        "case.trace:1: expected a value after \"count\", got the end of the line");
  CHECK(error_of("op aten::a count 1 count 2") == "case.trace:1: \"count\" appears twice");
  CHECK(error_of("op aten::a self=Half<#3") == "case.trace:1: there is no op call #3");
  CHECK(error_of("op aten::a id #3\nop aten::b id #3") == "case.trace:2: op call #3 appears twice");
  CHECK(error_of("op aten::a self=Half[2") ==
        "case.trace:1: expected \"]\", got the end of the line");
  CHECK(error_of("op aten::a raised \"x") ==
        "case.trace:1: expected a closing quote, got the end of the line");
  CHECK(error_of("process pdi=1") ==
        "case.trace:1: expected pid=, rank=, steps=, fact:NAME=, got \"pdi=1\"");
  CHECK(error_of("op aten::a self=Half phase middle") ==
        "case.trace:1: expected a phase (forward, backward, load), got \"middle\"");
  CHECK(error_of("op aten::a \"\\q\"=Half") ==
        "case.trace:1: expected \\\", \\\\, \\n or \\xHH after the \\, got \"q\\\"=Half\"");
}

TEST_CASE("expectations") {
  const TraceText text = parse_trace_text(
      "# prose may say anything\n"
      "op aten::cat tensors=Half,Float\n"
      "# EXPECT train.py:91: warning: promotes tensors[0] from Half [silent-promotion]\n"
      "# EXPECT-ODD tensors[1]\n"
      "# EXPECT-FIX mask.to(latents.dtype)\n"
      "# EXPECT -: error: no scaler [outside-autocast]\n",
      "case.trace");
  REQUIRE(text.expectations.size() == 2);
  const Expectation& first = text.expectations[0];
  CHECK(first.text_line == 3);
  CHECK(first.file == "train.py");
  CHECK(first.line == 91);
  CHECK(first.severity == "warning");
  CHECK(first.message == "promotes tensors[0] from Half");
  CHECK(first.rule == "silent-promotion");
  CHECK(first.odd_operand == "tensors[1]");
  CHECK(first.fix == "mask.to(latents.dtype)");
  CHECK(text.expectations[1].file.empty());
  CHECK(error_of("# EXPECT nonsense").find("case.trace:1: expected") == 0);
  CHECK(error_of("# EXPECT a.py:1: fatal: x [r]") ==
        "case.trace:1: expected error, warning or note, got \"fatal\"");
}

TEST_CASE("a parse error shows the beginning of what came, not a line of megabytes") {
  const std::string long_word(1000000, 'x');
  const std::string begin = "\"" + std::string(60, 'x') + "\"… (1000000 bytes)";
  CHECK(error_of(long_word) ==
        "case.trace:1: expected op, process, time, gpu-time, health, health-step, values-checked "
        "or #, got " +
            begin);
  CHECK(error_of("op aten::a count " + long_word) ==
        "case.trace:1: expected how many calls, got " + begin);
  CHECK(error_of("op " + long_word) ==
        "case.trace:1: expected an op with its namespace, as in aten::addmm, got " + begin);
  CHECK(error_of("# EXPECT a.py:1: " + long_word + ": x [y]") ==
        "case.trace:1: expected error, warning or note, got " + begin);
  CHECK(error_of(std::string(60, 'x')).ends_with("got \"" + std::string(60, 'x') + "\""));
  CHECK(error_of(std::string(59, 'x') + "é" + long_word)
            .ends_with("got \"" + std::string(59, 'x') + "\"… (1000061 bytes)"));
  CHECK(error_of("# EXPECT-FIX x") == "case.trace:1: EXPECT-FIX needs an EXPECT line before it");
}

TEST_CASE("a dump cannot drive a terminal") {
  OpCall call;
  call.op = "aten::a";
  call.error = "\x1b[31m\xc2\x9b\xff ä";
  call.outcome = Outcome::kThrew;
  call.throws = 1;
  CHECK(to_text(call) == "op aten::a raised \"\\x1b[31m\\xc2\\x9b\\xff ä\"");
}

TEST_CASE("a common op call reads well") {
  const std::string line =
      "op aten::addmm bias=Float[320]%unet.l.bias^^ mat1=Half[2,320]<#1 mat2=Float[320,4] beta:=1 "
      "raised \"mat1 and mat2 must have the same dtype\" c10::Error at train.py:1065 main "
      "inside unet.py:7 forward in unet.l (Linear) phase forward step 1-2 count 3 id #1";
  CHECK(to_text(parse_one(line)) == line);
}

void check_reads_back(const Run& run) {
  const std::string text = to_text(run);
  const Run again = parse_trace_text(text, "dump").run;
  REQUIRE(again.calls.size() == run.calls.size());
  for (size_t i = 0; i < run.calls.size(); ++i) {
    CHECK(to_text(again.calls[i]) == to_text(run.calls[i]));
    CHECK(again.calls[i] == run.calls[i]);
  }
  CHECK(to_text(again) == text);
  CHECK(again == run);
}

TEST_CASE("every run reads back as itself") {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    INFO("seed " << seed);
    check_reads_back(test::random_run(seed));
  }
}

}  // namespace
}  // namespace dtypecheck
