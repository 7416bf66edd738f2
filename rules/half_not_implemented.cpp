// Finds: an op that this LibTorch has no Half or BFloat16 kernel for on this device, from what it
// said when it was refused.
// Misses: what would be missing in another version or on another device.
#include <fmt/format.h>

#include <algorithm>

#include "core/follow_links.h"
#include "rules/cures/cures.h"
#include "rules/engine/foreign_call.h"
#include "rules/engine/formatting.h"
#include "rules/engine/mix.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

bool is_innermost(const RunIndex& index, const OpCall& call) {
  return index.throwing_call(call) == &call;
}

// The first LibTorch that takes the call: the inner op may be called in some versions only, the op
// that the program calls is in all of them.
std::string first_version_with(const OpCall& call, const Process& process, const Run& run,
                               const contracts::Contracts& contracts) {
  std::string version;
  follow_links(&call, [&](const OpCall& asked) {
    version = contracts.first_accepting(call.device_type(), process.libtorch, asked);
    return version.empty() ? run.call(asked.parent) : nullptr;
  });
  return version;
}

// Programs call aten::fft_rfft, of which aten::_fft_r2c is a part.
const std::string& called_op(const Run& run, const OpCall& call) {
  const OpCall* outer = &call;
  while (outer->op.starts_with("aten::_fft") && run.call(outer->parent) != nullptr)
    outer = run.call(outer->parent);
  return outer->op;
}

// It is refused in Float as well: a mask was meant, or whole numbers.
bool takes_no_floats(const contracts::Contracts& contracts, const Process& process,
                     const OpCall& call, Dtype missing) {
  const auto runtime = contracts.find(call.device_type(), process.libtorch);
  OpCall in_float = call;
  for (Operand& operand : in_float.operands)
    if (operand.dtypes == DtypeSet(missing)) operand.dtypes = Dtype::kFloat;
  return runtime && contracts.ask(*runtime, in_float).acceptance == contracts::Acceptance::kRejects;
}

// Computed in Float: the tensor, where it is one, or the layer that has the parameters.
std::vector<Cure> cures(const CureProposer& propose, const OpCall& call, Dtype dtype) {
  std::vector<const Operand*> tensors;
  const Operand* parameter = nullptr;
  for (const Operand& operand : call.operands) {
    if (operand.dtypes != DtypeSet(dtype) || operand.is_written) continue;
    if (is_parameter(operand)) parameter = &operand;
    if (!is_parameter(operand)) tensors.push_back(&operand);
  }
  std::vector<Cure> all;
  if (ops::facts_of(call.op) & ops::kScalesGradients) return all;
  if (parameter != nullptr) {
    const std::string root = root_module(parameter->parameter);
    all.push_back(propose.cast_parameters(call, *parameter, root, Dtype::kFloat));
  } else if (tensors.size() == 1) {
    all = propose.raise_operand(call, *tensors[0], noun_of(*tensors[0]));
  } else if (auto both = propose.cast_operands(call, tensors, Dtype::kFloat)) {
    all.push_back(*std::move(both));
  }
  return all;
}

std::string why(const OpCall& call, const Process& process, const MissingKernel& missing,
                const std::string& version) {
  const std::string device = call.device_type();
  if (!missing.sizes.empty())
    return "cuFFT transforms Half only in sizes that are powers of two, and Float in any";
  const std::string kernel =
      "the kernel is compiled for some dtypes only, and this is not one of them" +
      (version.empty()
           ? ""
           : fmt::format("; LibTorch {} is the first that has it on {}", version, device));
  if (device != "cpu") return kernel;
  return kernel + (process.has_gpu()
                       ? "; other tensors of this run are on a GPU, these are on the CPU"
                       : "; all tensors of this run are on the CPU");
}

// AT_DISPATCH_FLOATING_TYPES() names the kernel and leaves out Half and BFloat16.
std::string why_foreign(const std::string& kernel) {
  return fmt::format(
      "the extension compiles {} for some dtypes only; in its source "
      "AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, …) has both, and dtypecheck lint "
      "finds the dispatches that leave them out",
      kernel.empty() ? "its kernel" : fmt::format("\"{}\"", kernel));
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  if (!was_refused(call) || call.error.empty() || !is_innermost(index, call)) return;
  const auto missing = missing_kernel(call.error);
  const bool is_norm = index.has(call, ops::kNorm) && call.device_type() == "cpu" && missing &&
                       missing->dtype == Dtype::kHalf;
  if (!missing || !kLowPrecision.contains(missing->dtype) || is_norm)
    return;  // cpu-half-norm speaks of the norms
  if (ops::is_python(call.op) && index.is_raised_by_an_op(call.process, call.error)) return;
  const Run& run = index.run();
  const Process& process = run.process_of(call);
  if (takes_no_floats(*out.options().contracts, process, call, missing->dtype)) return;
  const CureProposer propose(index, out.options());
  const std::string callee = foreign_call(out.options().line_text, call).callee;
  const bool is_foreign = !callee.empty();
  const std::string version = is_foreign                 ? ""
                              : process.libtorch.empty() ? " in this LibTorch"
                                                         : " in LibTorch " + process.libtorch;
  const std::string message =
      fmt::format("{} has no {} kernel{} on {}{}", is_foreign ? callee : called_op(run, call),
                  dtype_name(missing->dtype), missing->sizes, call.device_type(), version);
  out.add(call, message, [&] {
    const Operand* odd = call.first_operand_in(missing->dtype);
    const std::string first = first_version_with(call, process, run, *out.options().contracts);
    return Details{
        .odd = odd == nullptr ? "" : odd->name,
        .why = is_foreign ? why_foreign(missing->kernel) : why(call, process, *missing, first),
        .fix = without_kernel(call, missing->dtype),
        .cures = is_foreign ? std::vector{propose.cast_arguments(call, Dtype::kFloat, callee)}
                            : cures(propose, call, missing->dtype),
        .follows = {{&outside_autocast}}};
  });
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
                "a LibTorch that has the kernel.",
            .example = R"(
process libtorch=1.13.1
op aten::addmm self=Half[320] mat1=Half[2,320] mat2=Half[320,320] raised "\"addmm_impl_cpu_\" not implemented for 'Half'" at train.py:40 phase forward
# EXPECT train.py:40: error: aten::addmm has no Half kernel on cpu in LibTorch 1.13.1 [half-not-implemented]
# The same product in BFloat16 has had a kernel for long.
op aten::addmm self=BFloat16[320] mat1=BFloat16[2,320] mat2=BFloat16[320,320] -> BFloat16[2,320] at train.py:41 phase forward
)",
            .alias = "half-cpu-norm"},
    .check = check,
    .judges_source = true,
};

}  // namespace dtypecheck::rules
