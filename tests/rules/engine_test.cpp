// Folding, order, ids, links between findings, and a run of many calls.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <set>

#include "rules/engine/rule.h"
#include "trace/text.h"

using namespace dtypecheck;
using namespace dtypecheck::rules;

namespace {

std::vector<Finding> judge_text(const std::string& text) {
  return judge(parse_trace_text(text, "test").run);
}

std::string mismatch(int line, const std::string& module, const std::string& more = "") {
  return fmt::format(
      "op aten::addmm self=Float[4]%{0}.bias mat1=Half[2,4] mat2=Float[4,4]%{0}.weight raised "
      "\"mat1 and mat2 must "
      "have the same dtype, but got Half and Float\" at train.py:{1} in {0} (Linear) phase forward "
      "{2}\n",
      module, line, more);
}

const std::string kMaskedLatents =
    "op aten::cat tensors=Half[1,4,8,8],Float[1,1,8,8] -> Float[1,5,8,8] at train.py:91 phase "
    "forward\n"
    "op aten::conv2d input=Float[1,5,8,8]<#1 weight=Half[8,5,3,3]%unet.conv_in.weight "
    "bias=Half[8]%unet.conv_in.bias "
    "raised \"Input type (float) and bias type (c10::Half) should be the same\" at train.py:95 "
    "phase forward\n";

}  // namespace

TEST_CASE("equal findings are one, with the summed count and the earliest step") {
  const auto findings = judge_text(mismatch(10, "unet.a", "count 3 throws 2 step 4") +
                                   mismatch(10, "unet.b", "count 5 throws 5 step 2"));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].count == 7);
  CHECK(findings[0].first_step == 2);
  CHECK(findings[0].site.module == "unet.a");
  CHECK(findings[0].related == std::vector<OpCallId>{2});
}

TEST_CASE("equal findings keep the words of the first") {
  const std::string made = "op aten::ones -> Half[2,4] at data.py:1\n";
  const std::string second = mismatch(10, "unet.a") + made;
  std::string first = mismatch(10, "unet.a");
  first.replace(first.find("mat1=Half[2,4]"), 14, "mat1=Half[2,4]<#3");
  const auto words = [](const std::vector<Finding>& findings) {
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].count == 2);
    return findings[0].why.find("aten::ones at data.py:1") != std::string::npos;
  };
  CHECK(words(judge_text(first + second)));
  CHECK(!words(judge_text(mismatch(10, "unet.a") + first + made)));
}

TEST_CASE("what is true of the run is one finding, however many processes it is true of") {
  const std::string process =
      "process fact:accelerate.mixed_precision=fp16\n"
      "op aten::add_ self=Float[4]%net.weight!out^^ other=Float[4] -> Float[4] at a.py:9 "
      "phase optimizer step 1\n";
  const auto findings = judge_text(process + process);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].count == 1);
}

TEST_CASE("calls that were read in source are judged by the rules that one call is enough for") {
  const Run run = parse_trace_text(
                      "op aten::add_ self=Half[4]%net.weight!out^^ other=Half[4] -> Half[4] at "
                      "a.py:9 phase optimizer step 1\n",
                      "test")
                      .run;
  REQUIRE(judge(run).size() == 2);
  const auto findings = judge(run, {.is_source = true});
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].rule == fp16_trainable.doc.id);
}

TEST_CASE("another line is another finding, and so is another module class") {
  CHECK(judge_text(mismatch(10, "unet.a") + mismatch(11, "unet.a")).size() == 2);
}

TEST_CASE("ranks that fail alike are one finding") {
  const auto findings = judge_text("process pid=1 rank=0\n" + mismatch(10, "unet.a") +
                                   "process pid=2 rank=1\n" + mismatch(10, "unet.a"));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].count == 2);
}

TEST_CASE("ids do not change with counts, lines above or folders, and are never shared") {
  const auto first = judge_text(mismatch(10, "unet.a") + mismatch(11, "unet.a"));
  const auto moved =
      judge_text(mismatch(20, "unet.a", "count 9 throws 9") + mismatch(21, "unet.a"));
  REQUIRE(first.size() == 2);
  REQUIRE(moved.size() == 2);
  CHECK(first[0].id == moved[0].id);
  CHECK(first[0].id != first[1].id);
}

TEST_CASE("a consequence names its cause and stands after it") {
  const auto findings = judge_text(kMaskedLatents);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].rule == "silent-promotion");
  CHECK(findings[1].rule == "mixed-operands");
  CHECK(findings[1].follows == findings[0].id);
  CHECK(findings[1].odd_operand == "input");
  CHECK(findings[0].follows.empty());
  CHECK(findings[0].severity == Severity::kError);  // what came of it is one
}

TEST_CASE("a Half LoRA is one cause with three consequences") {
  const auto findings = judge_text(R"(
process pid=1 fact:accelerate.mixed_precision="fp16"
op aten::linear input=Half[2,4] weight=Half[4,4]%unet.lora.weight^^ -> Half[2,4]^ at a.py:80 in unet.lora (Linear) phase forward
op aten::_foreach_add_.Scalar self=Half[4,4]!out, scalar:=1e-08 at a.py:90 phase optimizer step 1-2
op aten::addcdiv_ self=Half[4,4]%unet.lora.weight!out^^ tensor1=Half[4,4] tensor2=Half[4,4] -> Half[4,4] at a.py:90 phase optimizer step 1-2
)");
  REQUIRE(findings.size() == 4);
  CHECK(findings[0].rule == "outside-autocast");
  CHECK(findings[0].severity == Severity::kError);
  CHECK(findings[0].follows.empty());
  CHECK(findings[1].rule == "fp16-trainable");
  CHECK(findings[1].follows == findings[0].id);
  CHECK(findings[2].follows == findings[1].id);
  CHECK(findings[3].follows == findings[1].id);
}

TEST_CASE("a backward of the program's own is reported with the forward it belongs to") {
  const auto findings = judge_text(R"(
op aten::mul self=Half[2,4] other=Half[2,4] -> Half[2,4] at f.py:3 Scaled.forward in net.0 (Scaling) phase forward
op aten::mm self=Half[2,4] mat2=Float[4,4] raised "expected m1 and m2 to have the same dtype, but got: c10::Half != float" at f.py:8 Scaled.backward phase backward
)");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].site.module == "net.0");
  CHECK(findings[0].why.find("its forward is at f.py:3, in net.0") != std::string::npos);
}

TEST_CASE("a refusal follows the promotion that its model was about to read") {
  const auto findings = judge_text(
      "op aten::cat tensors=Half[1,4,8,8],Float[1,1,8,8] -> Float[1,5,8,8] at train.py:24 phase "
      "forward\n"
      "op aten::to.dtype self=Half[1,4] dtype:=Float -> Float[1,4] at train.py:25 inside unet.py:9 "
      "in unet (UNet) "
      "phase forward\n"
      "op aten::addmm self=Half[4]%unet.l.bias mat1=Float[1,4]<#2 mat2=Half[4,4]%unet.l.weight "
      "raised \"mat1 and mat2 "
      "must have the same dtype, but got Float and Half\" at train.py:25 inside unet.py:10 in "
      "unet.l (Linear)\n");
  REQUIRE(findings.size() == 2);
  CHECK(findings[1].follows == findings[0].id);
  CHECK(findings[1].why.find("aten::cat at train.py:24 promoted a tensor to Float") !=
        std::string::npos);
}

// Two repaired calls at lines 10 and 11, the second one with `more` at its end.
static std::vector<Finding> judge_repairs(const std::string& more) {
  const auto repaired = [](int line, const std::string& end) {
    return "op aten::mm self=Half[2,4] mat2=Float[4,4] -> Half[2,4] raised \"expected m1 and m2 to "
           "have the same dtype, but got: c10::Half != float\" repaired at a.py:" +
           std::to_string(line) + " phase forward " + end + "\n";
  };
  return judge_text(repaired(10, "") + repaired(11, more));
}

TEST_CASE("what keep-going repaired follows the repair that its operands came from") {
  const auto findings = judge_repairs("follows #1");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].site.line.line == 10);
  CHECK(findings[0].follows.empty());
  CHECK(findings[1].follows == findings[0].id);
}

TEST_CASE("a second repair of other operands is a cause of its own") {
  const auto findings = judge_repairs("");
  REQUIRE(findings.size() == 2);
  CHECK(findings[1].follows.empty());
}

TEST_CASE("what one op repairs inside of it for several operands is one refusal") {
  const auto judge_states = [](const char* parent) {
    const std::string layer =
        "raised \"expected m1 and m2 to have the same dtype, but got: c10::Half != float\" "
        "repaired "
        "at a.py:3 in net (LSTM) phase forward step 1 ";
    const std::string text =
        "op aten::_to_copy self=Float[2,4] dtype:=Half -> Half[2,4] at a.py:1 id #1\n"
        "op aten::zeros dtype:=Half -> Half[1,4] at a.py:2 id #2\n"
        "op aten::mm self=Half[2,4]<#1 mat2=Float[4,4]%net.w -> Half[2,4] " +
        layer +
        "id #3\n"
        "op aten::lstm input=Half[2,4]<#1 params=Float[4,4]%net.w -> Half[2,4] at a.py:4 id #4\n"
        "op aten::mm self=Half[2,4]<#1 mat2=Float[4,4]%net.w -> Half[2,4] " +
        layer +
        "parent #4 follows #3 id #5\n"
        "op aten::mm self=Half[1,4]<#2 mat2=Float[4,4]%net.v -> Half[1,4] " +
        layer + parent + "id #6\n";
    return judge_text(text);
  };
  const auto causes_of = [](const std::vector<Finding>& findings) {
    return std::count_if(findings.begin(), findings.end(),
                         [](const Finding& finding) { return finding.follows.empty(); });
  };
  CHECK(causes_of(judge_states("parent #4 ")) == 1);  // the states that an LSTM makes
  CHECK(causes_of(judge_states("")) == 2);
}

TEST_CASE("what has no cause comes in order of severity, step and place") {
  const std::string inexact =
      "op aten::_to_copy self=Long[1] -> BFloat16[1] inexact 257 256 at a.py:1\n";
  const auto findings =
      judge_text(inexact + mismatch(12, "unet.a", "step 2") + mismatch(11, "unet.b", "step 1") +
                 mismatch(10, "unet.c", "step 2"));
  REQUIRE(findings.size() == 4);
  CHECK(findings[0].site.line.line == 11);
  CHECK(findings[1].site.line.line == 10);
  CHECK(findings[2].site.line.line == 12);
  CHECK(findings[3].rule == "low-precision-index");
}

TEST_CASE("what makes numbers wrong comes before what costs memory alone") {
  const std::string lost =
      "op aten::addcdiv_ self=BFloat16[8]%net.a!out^^ tensor1=BFloat16[8] tensor2=BFloat16[8] -> "
      "BFloat16[8] at a.py:9 phase optimizer step 2\n";
  const std::string promoted =
      "op aten::cat tensors=Half[1,4,8,8],Float[1,1,8,8] -> Float[1,5,8,8] at a.py:4 phase forward "
      "step 1\n";
  const auto findings = judge_text(promoted + lost);
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].rule == "lost-update");
  CHECK(findings[1].rule == "silent-promotion");
  CHECK(findings[0].severity == findings[1].severity);
}

TEST_CASE("a run without calls, and parents and origins in a circle") {
  CHECK(judge(Run{}).empty());
  Run run = parse_trace_text(kMaskedLatents, "test").run;
  run.calls[0].parent = 1;
  run.calls[0].operands[1].origin = 2;
  run.calls[1].parent = 1;
  CHECK_NOTHROW(judge(run));
  for (Operand& operand : run.calls[0].operands) operand.origin = 1;
  CHECK_NOTHROW(judge(run));
  run.calls[0].operands[1].origin = 4000000000u;
  run.calls[0].parent = 4000000000u;
  CHECK_NOTHROW(judge(run));
}

TEST_CASE("every rule is documented") {
  std::set<std::string> ids;
  for (const Rule* rule : all_rules()) {
    CAPTURE(rule->doc.id);
    CHECK(ids.insert(rule->doc.id).second);
    CHECK(find_rule(rule->doc.id) == rule);
    for (const char* text : {rule->doc.summary, rule->doc.why, rule->doc.fix, rule->doc.example}) {
      REQUIRE(text != nullptr);
      CHECK(std::string(text).size() > 20);
    }
    CHECK((rule->check != nullptr) != (rule->check_run != nullptr));
  }
  CHECK(find_rule("no-such-rule") == nullptr);
}

// By the facts of the process: how the refusal at train.py:10 is reported.
Severity severity_with(const std::string& facts) {
  const auto findings =
      judge_text("process pid=7 parent_pid=1 host=a " + facts + "\n" + mismatch(10, "unet.a"));
  REQUIRE(findings.size() == 1);
  return findings.front().severity;
}

TEST_CASE("a refusal that the program caught is a note") {
  CHECK(severity_with("fact:exit.status=\"0\"") == Severity::kNote);
  // Of a process that was killed, or that a test runner ended, nothing is known.
  CHECK(severity_with("") == Severity::kError);
  CHECK(severity_with("fact:exit.status=\"1\"") == Severity::kError);
  const std::string said = "mat1 and mat2 must have the same dtype, but got Half and Float";
  CHECK(severity_with("fact:exit.status=\"1\" fact:uncaught=\"RuntimeError: " + said + "\"") ==
        Severity::kError);
  // An exception that wraps it may say something else.
  CHECK(severity_with("fact:exit.status=\"1\" fact:uncaught=\"ValueError: no\"") ==
        Severity::kError);
}

TEST_CASE("what a worker raised ended the process that made it") {
  const std::string worker =
      "process pid=8 parent_pid=7 host=a fact:exit.status=\"0\"\n" + mismatch(10, "unet.a");
  const auto alone = judge_text(worker);
  REQUIRE(alone.size() == 1);
  CHECK(alone.front().severity == Severity::kNote);
  const auto both = judge_text(worker + "process pid=7 host=a fact:exit.status=\"1\"\n");
  REQUIRE(both.size() == 1);
  CHECK(both.front().severity == Severity::kError);
}

TEST_CASE("of two refusals the one that ended the program is the error") {
  const auto findings = judge_text(
      "process pid=7 fact:exit.status=\"1\" fact:uncaught=\"RuntimeError: expected scalar type "
      "Float but found Half\"\n" +
      mismatch(10, "unet.a") +
      "op aten::bmm self=Float[1,2,2] mat2=Half[1,2,2] raised \"expected scalar type Float but "
      "found Half\" at train.py:20\n");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].site.line.line == 20);
  CHECK(findings[0].severity == Severity::kError);
  CHECK(findings[1].severity == Severity::kNote);
}

// A loop over all calls for each would take minutes here, but for a sanitizer, which is given
// fewer. The printed figures are for people: a machine that is busy with other things fails no
// test.
TEST_CASE("what differs in its numbers alone is one finding, in several processes too") {
  const auto lost = [](int line, const char* lost) {
    return fmt::format(
        "op aten::_to_copy self=Float[64] dtype:=Byte -> Byte[64] inexact {} 0 at "
        "data.py:{} phase data\n",
        lost, line);
  };
  const std::string text =
      lost(4, "0.108") + lost(5, "0.108") + "process pid=2\n" + lost(4, "0.25");
  const auto findings = judge(parse_trace_text(text, "test").run);
  REQUIRE(findings.size() == 2);
  CHECK(findings.front().message == "0.108 became 0 in a cast to Byte");
  CHECK(findings.front().count == 2);
}

TEST_CASE("a hundred thousand calls in chains are judged") {
#ifdef DTYPECHECK_SANITIZED
  constexpr OpCallId kCalls = 10000;
#else
  constexpr OpCallId kCalls = 100000;
#endif
  const int every = GENERATE(2, 1000);
  Run run = parse_trace_text(
                mismatch(10, "unet.a") +
                    "op aten::mul self=Half[2,4] other=Float[2,4] -> Float[2,4] at train.py:11\n",
                "test")
                .run;
  const OpCall refused = run.calls[0], promoting = run.calls[1];
  run.calls.clear();
  for (OpCallId id = 1; id <= kCalls; ++id) {
    OpCall call = id % every == 0 ? refused : promoting;
    call.id = id;
    call.site.line.line = static_cast<int>(id % 500);
    if (id > 2) call.operands[1].origin = id - 2 + id % 2;
    run.calls.push_back(call);
  }
  const auto start = std::chrono::steady_clock::now();
  const size_t count = judge(run).size();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("judged {} calls, 1 in {} refused, in {:.3f} s\n", run.calls.size(), every, seconds);
  CHECK(count > 0);
}
