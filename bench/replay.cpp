// bench_replay: what it costs to check the cures of a run of 50,000 op calls. The run is that of a
// large model: blocks of attention and feed-forward layers whose shapes differ, forward, backward
// and an optimizer, with one layer in a hundred that --keep-going had to repair.
#include "rules/engine/replay.h"

#include <fmt/format.h>

#include <ctime>
#include <map>
#include <string>

#include "trace/text.h"

using namespace dtypecheck;

namespace {

class Model {
 public:
  Run run(int blocks) {
    text_ = "process libtorch=2.11.0 steps=3 fact:exit.status=\"0\"\n";
    int x = op("aten::randn", "", "Float[2,320]", "train.py:5 phase load");
    x = op("aten::_to_copy", fmt::format("self=Float[2,320]<#{} dtype:=Half", x), "Half[2,320]",
           "train.py:6 phase load");
    for (int i = 0; i < blocks; ++i) x = block(i, x);
    return parse_trace_text(text_, "bench").run;
  }

 private:
  int op(const std::string& name, const std::string& operands, const std::string& result,
         const std::string& rest) {
    text_ += fmt::format("op {} {} -> {} at {}\n", name, operands, result, rest);
    return ++count_;
  }

  int linear(int block, const std::string& layer, int input, int line, bool is_odd) {
    if (is_odd) line = 100 + block;  // a line of its own, so that it is a finding of its own
    const std::string module = fmt::format("unet.blocks.{}.{}", block, layer);
    const std::string weight = is_odd ? "Float" : "Half",
                      shape = fmt::format("[{},320]", block + 2);
    const std::string site =
        fmt::format("model.py:{} in {} (Linear) phase forward step 1-3", line, module);
    const int outer =
        op("aten::linear",
           fmt::format("input=Half{0}<#{1} weight={2}[320,320]%{3}.weight bias={2}[320]%{3}.bias",
                       shape, input, weight, module),
           "Half" + shape, site);
    op("aten::addmm",
       fmt::format("bias={2}[320]%{3}.bias mat1=Half{0}<#{1} mat2={2}[320,320]%{3}.weight", shape,
                   input, weight, module),
       "Half" + shape,
       site + fmt::format(" parent #{}{}", outer,
                          is_odd ? " raised \"mat1 and mat2 must have the same dtype, but got Half "
                                   "and Float\" repaired"
                                 : ""));
    return outer;
  }

  int unary(const std::string& name, int block, int input, int line) {
    const std::string tensor = fmt::format("Half[{},320]", block + 2);
    return op(
        name, fmt::format("self={}<#{}", tensor, input), tensor,
        fmt::format("model.py:{} in unet.blocks.{} (Block) phase forward step 1-3", line, block));
  }

  int block(int i, int x) {
    const std::string tensor = fmt::format("Half[{},320]", i + 2);
    const auto in_block = [&](int line) {
      return fmt::format("model.py:{} in unet.blocks.{} (Block) phase forward step 1-3", line, i);
    };
    const int first = x;
    for (int k = 0; k < 5; ++k) {
      x = linear(i, fmt::format("fc{}", k), x, 10 + k, /*is_odd=*/i % 100 == 99 && k == 3);
      x = unary("aten::gelu", i, x, 20 + k);
    }
    const int softmax =
        op("aten::_softmax", fmt::format("self={}<#{}", tensor, x), tensor, in_block(30));
    x = op("aten::add.Tensor", fmt::format("self={0}<#{1} other={0}<#{2}", tensor, softmax, first),
           tensor, in_block(31));
    int grad = x;
    for (int k = 0; k < 5; ++k) {
      grad = op("aten::mm", fmt::format("self={0}<#{1} mat2=Half[320,320]", tensor, grad), tensor,
                "train.py:50 phase backward step 1-3");
    }
    return x;
  }

  std::string text_;
  int count_ = 0;
};

}  // namespace

int main() {
  const Run run = Model().run(2200);
  const auto seconds = [](std::clock_t since) {  // of the processor: the machine may be busy
    return static_cast<double>(std::clock() - since) / CLOCKS_PER_SEC;
  };
  const rules::JudgeOptions options{.checks_cures = false};
  auto begin = std::clock();
  const rules::RunIndex index(run);
  std::vector<Finding> findings = rules::judge(index, options);
  fmt::print("{} op calls, {} findings, judged in {:.2f} s\n", run.calls.size(), findings.size(),
             seconds(begin));
  size_t count = 0;
  for (Finding& finding : findings) {
    const Operand* weight = run.call(finding.call)->operand("mat2");
    if (weight == nullptr) continue;
    const std::string layer = weight->parameter.substr(0, weight->parameter.rfind('.'));
    finding.cures = {
        {CureKind::kCastOperand, Dtype::kFloat, finding.call, "mat1"},
        {CureKind::kCastParameters, Dtype::kHalf, finding.call, layer},
        {CureKind::kCastParameters, Dtype::kFloat, finding.call, "unet"},
        {CureKind::kCastModuleInput, Dtype::kFloat, finding.call, "unet"},
        {CureKind::kOpenAutocast, Dtype::kHalf, finding.call, "unet"},
        {CureKind::kOpenAutocast, Dtype::kBFloat16, finding.call, "unet"},
    };
    count += finding.cures.size();
  }
  begin = std::clock();
  rules::Replay replay(index, options);
  replay.judge(findings);
  fmt::print("{} cures of {} findings checked in {:.2f} s\n", count, findings.size(),
             seconds(begin));
  std::map<std::string, int> verdicts;
  for (const Finding& finding : findings) {
    for (const Cure& cure : finding.cures)
      ++verdicts[fmt::format("{} {}: {} {}", cure_kind_name(cure.kind), dtype_name(cure.dtype),
                             cure_verdict_name(cure.verdict), cure.reason.substr(0, 90))];
  }
  for (const auto& [verdict, n] : verdicts) fmt::print("  {:5} {}\n", n, verdict);
}
