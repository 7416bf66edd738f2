#include "tests/reports/cases.h"

#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "platform/error.h"

namespace dtypecheck::reports {

namespace {

Run read_run(const std::string& name) {
  const std::string path =
      fmt::format("{}/tests/reports/cases/{}.trace", DTYPECHECK_SOURCE_DIR, name);
  std::ifstream in(path);
  if (!in) throw InputError(path + ": cannot be read");
  std::stringstream text;
  text << in.rdbuf();
  return parse_trace_text(text.str(), path).run;
}

// As rules::Findings fills it in from the call.
Finding about(const Report& report, OpCallId id, const std::string& rule, Severity severity) {
  const OpCall& call = *report.run.call(id);
  Finding finding;
  finding.id = rule + "-" + std::to_string(id);
  finding.rule = rule;
  finding.severity = severity;
  finding.call = id;
  finding.site = call.site;
  finding.count = call.count;
  finding.first_step = call.first_step;
  finding.process = call.process;
  return finding;
}

void add_half_float_addmm(Report& report) {
  Finding finding = about(report, 3, "mixed-operands", Severity::kError);
  finding.message = "Half input meets a Float weight";
  finding.why =
      "autocast is off for cpu:Half here, so nothing casts the weights to the input's dtype";
  finding.fix =
      "run the UNet under autocast, or load it in the same dtype: unet.to(dtype=weight_dtype)";
  finding.odd_operand = "mat1";
  report.findings = {finding};
  report.rules = {{.id = "mixed-operands",
                   .severity = Severity::kError,
                   .summary = "an op whose operands disagree in floating dtype",
                   .why = "LibTorch casts no operand by itself outside of autocast.",
                   .fix = "Cast the odd operand where it is made.",
                   .example = "op aten::addmm …"}};
  report.line_text = [](const std::string& file, int line) {
    const bool known = file == "train.py" && line == 1042;
    return std::string(known ? "emb = emb.to(weight_dtype)" : "");
  };
}

void add_concat_promotion(Report& report) {
  Finding cause = about(report, 3, "silent-promotion", Severity::kError);
  cause.message = "aten::cat promotes its Half operands to Float";
  cause.why = "the mask is Float, and a concatenation takes the widest dtype of its operands";
  cause.fix = "cast the mask where it is made: mask = mask.to(latents.dtype)";
  cause.odd_operand = "tensors[1]";
  Finding effect = about(report, 4, "mixed-operands", Severity::kError);
  effect.message = "Float input meets Half weights";
  effect.why = "the input became Float in the concatenation";
  effect.fix = "see the cause";
  effect.odd_operand = "input";
  effect.follows = cause.id;
  effect.related = {3};
  report.findings = {cause, effect};
}

void add_partial(Report& report) {
  report.left_out = {"run/node-1-103.dtrace: version 3, this build reads 5; record it again",
                     "pid 104 ran untraced: no compiler was found for LibTorch 2.12"};
  report.remarks = {"2 findings are suppressed by dtypecheck.suppressions"};
}

void add_keep_going(Report& report) {
  Finding finding = about(report, 1, "mixed-operands", Severity::kError);
  finding.message = "Float input meets a Half weight";
  finding.why = "the head was left in Half when the model was cast to Float";
  finding.fix = "head->to(torch::kFloat);";
  finding.odd_operand = "mat2";
  report.findings = {finding};
}

void add_many(Report& report) {
  Finding first = about(report, 1, "mixed-operands", Severity::kError);
  first.message = "Half input meets a Float weight";
  first.why = "nothing casts here";
  first.fix = "cast the input";
  first.odd_operand = "mat1";
  report.findings.push_back(first);
  Finding list = about(report, 2, "optimizer-state-dtype", Severity::kWarning);
  list.message = "one of the optimizer's parameters is Float while all others are Half";
  list.why = "a list that mixes dtypes takes the slow path of the optimizer";
  list.fix = "keep all of them in one dtype";
  list.odd_operand = "self[7]";
  report.findings.push_back(list);
  Finding whole;
  whole.id = "whole";
  whole.rule = "outside-autocast";
  whole.message = "mixed precision was asked for and no autocast region was ever opened";
  whole.why = "accelerate opens none for fp16 on the CPU, and says nothing";
  whole.fix = "use bf16 on the CPU: Accelerator(mixed_precision=\"bf16\")";
  report.findings.push_back(whole);
  for (int i = 0; i < 14; ++i) {
    Finding finding = about(report, 3, "silent-promotion", Severity::kNote);
    finding.id += fmt::format("-{}", i);
    finding.message = fmt::format("aten::add promotes self from Half to Float, in layer {}", i);
    finding.site.line.line += i;
    report.findings.push_back(finding);
  }
}

constexpr const char* kMarkup = "<script>alert(3)</script>\"'><img src=x onerror=alert(4)>";
constexpr const char* kEscapes = "\x1b]0;owned\x07\x1b[2J\x9b\xc2\x9b\xe2\x80\xae\xff\xfe";

void add_hostile(Report& report) {
  const std::string markup = kMarkup;
  const std::string escapes = kEscapes;
  Finding finding = about(report, 2, "rule" + markup + escapes, Severity::kError);
  finding.message = "message " + markup + escapes;
  finding.why = "why " + markup + escapes;
  finding.fix = "fix " + escapes + "\n" + markup;
  finding.odd_operand = report.run.calls[1].operands[1].name;
  finding.related = {1, 77};
  Finding ring = about(report, 1, "ring", Severity::kNote);
  ring.message = "follows itself";
  ring.follows = ring.id;
  ring.process = 99;
  report.findings = {finding, ring};
  static const std::string rule = finding.rule;
  report.rules = {{.id = rule.c_str(),
                   .severity = Severity::kError,
                   .summary = kMarkup,
                   .why = kEscapes,
                   .fix = kMarkup,
                   .example = kEscapes}};
  report.remarks = {"remark " + markup + escapes};
  report.left_out = {"left " + escapes + markup};
  report.line_text = [=](const std::string&, int) { return "code " + markup + escapes; };
}

const std::map<std::string, std::function<void(Report&)>> kCases = {
    {"clean", [](Report&) {}},      {"half_float_addmm", add_half_float_addmm},
    {"hostile", add_hostile},       {"concat_promotion", add_concat_promotion},
    {"keep_going", add_keep_going}, {"many", add_many},
    {"partial", add_partial},
};

Case case_of(const std::string& name, Run run) {
  Case made{name, std::make_unique<Run>(std::move(run)), nullptr};
  made.report = std::make_unique<Report>(Report{.run = *made.run, .tool_version = "0.0.0-test"});
  return made;
}

OpCall large_call(size_t i) {
  OpCall call;
  call.id = static_cast<OpCallId>(i + 1);
  call.op = i % 3 == 0 ? "aten::addmm" : i % 3 == 1 ? "aten::convolution" : "aten::_to_copy";
  call.site.line = {"train.py", static_cast<int>(100 + i % 900), "main"};
  call.site.inner = {"/opt/venv/lib/python3.11/site-packages/diffusers/models/attention.py",
                     static_cast<int>(i % 3000), "forward"};
  call.site.module = fmt::format(
      "unet.down_blocks.{}.attentions.{}.transformer_blocks.{}.attn1.to_q", i % 3, i % 5, i / 40);
  call.site.phase = i % 2 == 0 ? Phase::kForward : Phase::kBackward;
  for (const char* name : {"input", "weight", "bias"}) {
    Operand operand;
    operand.name = name;
    operand.dtypes = i % 7 == 0 ? Dtype::kHalf : Dtype::kFloat;
    operand.shape = {static_cast<int64_t>(i % 50), 320, 64};
    operand.parameter = *name == 'w' ? call.site.module + ".weight" : "";
    operand.origin = static_cast<OpCallId>(i);
    call.operands.push_back(operand);
  }
  call.results.push_back(call.operands.front());
  call.count = i;
  return call;
}

}  // namespace

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& [name, add] : kCases) names.push_back(name);
  return names;
}

Case load_case(const std::string& name) {
  Case made = case_of(name, read_run(name));
  kCases.at(name)(*made.report);
  return made;
}

Case large_case(size_t signatures) {
  Run run;
  run.processes.emplace_back();
  for (size_t i = 0; i < signatures; ++i) run.calls.push_back(large_call(i));
  Case made = case_of("large", std::move(run));
  for (size_t i = 0; i < signatures; i += 1000) {
    Finding finding = about(*made.report, static_cast<OpCallId>(i + 1), "a-rule", Severity::kNote);
    finding.message = "one of the findings";
    finding.odd_operand = "weight";
    made.report->findings.push_back(finding);
  }
  return made;
}

std::string written(const Report& report, const std::string& format) {
  std::ostringstream out;
  find_format(format)->write(report, out);
  return out.str();
}

}  // namespace dtypecheck::reports
