// Finds: an op that this LibTorch has no Half or BFloat16 kernel for on this device, from what it
// said when it was refused.
// Misses: what would be missing in another version or on another device.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rules/rule.h"
#include "rules/run_index.h"
#include "rules/throws.h"
#include "rules/words.h"

namespace dtypecheck::rules {
namespace {

// Kernels that LibTorch 1.13 lacks on the CPU and 2.6 was measured to have, by a part of their
// name.
constexpr std::array<std::string_view, 30> kThereIn2_6 = {"addmm_impl_cpu_",
                                                          "bmm",
                                                          "addmv_impl_cpu",
                                                          "dot",
                                                          "slow_conv2d_cpu",
                                                          "compute_columns3d",
                                                          "slow_conv_transpose2d_out_cpu",
                                                          "clamp_min_cpu",
                                                          "clamp_scalar_cpu",
                                                          "GeluKernelImpl",
                                                          "silu_cpu",
                                                          "mish_cpu",
                                                          "sigmoid_cpu",
                                                          "tanh_vml_cpu",
                                                          "elu_cpu",
                                                          "leaky_relu_cpu",
                                                          "hardswish_cpu",
                                                          "softplus_cpu",
                                                          "log_sigmoid_cpu",
                                                          "glu_cpu",
                                                          "prelu_cpu",
                                                          "softmax",
                                                          "nll_loss_out_frame",
                                                          "bernoulli_scalar_cpu_",
                                                          "compute_indices_weights_",
                                                          "cumsum_out_cpu",
                                                          "lerp_kernel_scalar",
                                                          "addcmul_cpu_out",
                                                          "addcdiv_cpu_out",
                                                          "rsqrt_cpu"};

bool is_there_in_2_6(const std::string& kernel) {
  return std::any_of(kThereIn2_6.begin(), kThereIn2_6.end(),
                     [&](std::string_view known) { return kernel.starts_with(known); });
}

std::string device_of(const OpCall& call) {
  for (const Operand& operand : call.operands) {
    if (operand.kind != TensorKind::kUndefined) return operand.device.type;
  }
  return "cpu";
}

bool is_innermost(const RunIndex& index, const OpCall& call) {
  return index.thrower(call) == &call;
}

std::string fix(const OpCall& call, const Process& process, const MissingKernel& missing) {
  const std::string device = device_of(call);
  if (call.op.find("_amp_") != std::string::npos) {
    return "leave the GradScaler out: BFloat16 has the range of Float, so its gradients need no "
           "scale";
  }
  std::string text = fmt::format("compute this op in Float: x.float(), then back: .to({})",
                                 torch_dtype(missing.dtype));
  if (device == "cpu" && missing.dtype == Dtype::kHalf && is_there_in_2_6(missing.kernel) &&
      is_before(process.libtorch, 2, 6)) {
    text += "; LibTorch 2.6 has this kernel, and BFloat16 works on the CPU in most versions";
  }
  return text;
}

std::string why(const OpCall& call, const Process& process) {
  const std::string device = device_of(call);
  const auto is_gpu = [](const std::string& type) { return type != "cpu" && type != "meta"; };
  const bool has_gpu = std::any_of(process.devices.begin(), process.devices.end(), is_gpu);
  const std::string kernel =
      "the kernel is compiled for some dtypes only, and this is not one of them";
  if (device != "cpu") return kernel;
  return kernel + (has_gpu ? "; other tensors of this run are on a GPU, these are on the CPU"
                           : "; all tensors of this run are on the CPU");
}

void check(const OpCall& call, const Run& run, Findings& out) {
  if (!was_refused(call) || call.error.empty() || !is_innermost(out.index(), call)) return;
  const auto missing = missing_kernel(call.error);
  const bool is_norm = out.index().has(call, kIsNorm) && device_of(call) == "cpu" && missing &&
                       missing->dtype == Dtype::kHalf;
  if (!missing || is_norm) return;  // cpu-half-norm speaks of the norms
  if (call.op.starts_with("python::") && out.index().is_raised_by_an_op(call.process, call.error))
    return;
  const Process& process = run.process_of(call);
  const std::string version =
      process.libtorch.empty() ? "this LibTorch" : "LibTorch " + process.libtorch;
  Finding& finding =
      out.add(call, fmt::format("{} has no {} kernel on {} in {}", call.op,
                                dtype_name(missing->dtype), device_of(call), version));
  if (!finding.why.empty()) return;
  if (const Operand* odd = call.first_operand_in(missing->dtype)) finding.odd_operand = odd->name;
  finding.why = why(call, process);
  finding.fix = fix(call, process, *missing);
}

}  // namespace

const Rule half_not_implemented = {
    .doc = {.id = "half-not-implemented",
            .severity = Severity::kError,
            .summary = "an op has no Half or BFloat16 kernel on this device in this LibTorch",
            .why =
                "A kernel is compiled for some dtypes only, and which ones differs by device and "
                "version. Often the tensors are on the CPU when the GPU was meant.",
            .fix =
                "Compute the op in Float, x.float(), move it to the device that was meant, or use "
                "a LibTorch that has the kernel."},
    .check = check,
    .example = R"(
process libtorch=1.13.1
op aten::addmm self=Half[320] mat1=Half[2,320] mat2=Half[320,320] raised "\"addmm_impl_cpu_\" not implemented for 'Half'" at train.py:40 phase forward
# EXPECT train.py:40: error: aten::addmm has no Half kernel on cpu in LibTorch 1.13.1 [half-not-implemented]
# The same product in BFloat16 has had a kernel for long.
op aten::addmm self=BFloat16[320] mat1=BFloat16[2,320] mat2=BFloat16[320,320] -> BFloat16[2,320] at train.py:41 phase forward
)",
};

}  // namespace dtypecheck::rules
