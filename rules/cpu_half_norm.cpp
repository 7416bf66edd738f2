// Finds: a layer, group, batch, instance or RMS norm in Half on the CPU. LibTorch 1.13 has no
// kernel for it; later ones have one, and it costs. Misses: norms that a program writes out by hand
// from means and squares.
#include <fmt/format.h>

#include <unordered_set>

#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

const Operand* half_input(const OpCall& call) {
  if (call.operands.empty()) return nullptr;
  const Operand& input = call.operands.front();
  const bool is_half = input.dtypes == DtypeSet(Dtype::kHalf) && input.device.type == "cpu";
  return is_half ? &input : nullptr;
}

std::string model_of(const OpCall& call) {
  return call.site.module.empty() ? "the norm" : root_module(call.site.module);
}

void report_missing(const RunIndex& index, const OpCall& call, const Operand& input,
                    Findings& out) {
  const Process& process = index.run().process_of(call);
  const std::string message =
      fmt::format("{} has no Half kernel on cpu in LibTorch {}", call.op,
                  process.libtorch.empty() ? "of this run" : process.libtorch);
  out.add(call, message, [&] {
    const std::string version =
        out.options().contracts->first_accepting("cpu", process.libtorch, call);
    const std::string since =
        version.empty()
            ? "Half norms came late to the CPU"
            : fmt::format("LibTorch {} is the first that has this norm in Half on the CPU",
                          version);
    const std::string model = model_of(call);
    return Details{
        .odd = input.name,
        .why = since + "; autocast casts no norm there",
        .fix = fmt::format("on the CPU keep {} in Float or BFloat16, {}.to(dtype=torch.float32), "
                           "and its inputs too; if there is a GPU, move both there first",
                           model, model),
        .severity = Severity::kError,
        .follows = {{&outside_autocast}}};
  });
}

void report_cost(const OpCall& call, const Operand& input, Findings& out) {
  out.add(call, fmt::format("{} runs in Half on the CPU", call.op), [&] {
    const std::string version = out.options().contracts->first_accepting("cpu", "0", call);
    const std::string since =
        version.empty() ? "" : fmt::format(", those before {} refuse the call", version);
    return Details{
        .odd = input.name,
        .why = fmt::format("this LibTorch has a kernel{}; but Half is the slowest dtype on most "
                           "CPUs, in the layers around the norm even more than in the norm",
                           since),
        .fix =
            fmt::format("on the CPU use BFloat16, or Float, for {} and its inputs", model_of(call)),
        .follows = {{&outside_autocast}}};
  });
}

// aten::layer_norm runs aten::native_layer_norm: one norm, reported of the inner one that has the
// kernel.
std::unordered_set<OpCallId> composites(const RunIndex& index) {
  std::unordered_set<OpCallId> around;
  for (const OpCall& call : index.run().calls) {
    if (index.has(call, ops::kNorm)) around.insert(call.parent);
  }
  return around;
}

bool is_in_repaired(const OpCall& call, const Run& run) {
  const OpCall* outer = run.call(call.parent);
  return outer != nullptr && was_let_through(*outer);
}

void check_norm(const RunIndex& index, const OpCall& call, Findings& out) {
  const Operand* input = half_input(call);
  if (input == nullptr || is_in_repaired(call, index.run())) return;
  if (!was_refused(call)) return report_cost(call, *input, out);
  const auto missing = missing_kernel(call.error);
  if (missing && missing->dtype == Dtype::kHalf) report_missing(index, call, *input, out);
}

void check_run(const RunIndex& index, Findings& out) {
  const std::unordered_set<OpCallId> around = composites(index);
  for (const OpCall& call : index.judged_calls()) {
    if (!index.has(call, ops::kNorm) || around.contains(call.id)) continue;
    check_norm(index, call, out);
  }
}

}  // namespace

const Rule cpu_half_norm = {
    .doc =
        {.id = "cpu-half-norm",
         .severity = Severity::kNote,
         .summary = "a layer, group, batch or RMS norm runs in Half on the CPU",
         .why =
             "LibTorch 1.13 has no CPU kernel for it and raises. Later versions have one, but Half "
             "is the slowest dtype on most CPUs.",
         .fix = "On the CPU keep norms, or the whole model, in Float or BFloat16.",
         .example = R"(
process libtorch=1.13.1
op aten::native_layer_norm input=Half[2,77,768] weight=Half[768] bias=Half[768] raised "\"LayerNormKernelImpl\" not implemented for 'Half'" at train.py:12 in text_encoder.layer_norm1 (LayerNorm) phase forward
# EXPECT train.py:12: error: aten::native_layer_norm has no Half kernel on cpu in LibTorch 1.13.1 [cpu-half-norm]
# BFloat16 has a kernel in every version.
op aten::native_layer_norm input=BFloat16[2,77,768] weight=BFloat16[768] bias=BFloat16[768] -> BFloat16[2,77,768] at train.py:13 phase forward
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
