#include "reports/late_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/provenance.h"
#include "ops/arguments.h"
#include "platform/printable.h"
#include "reports/formatting.h"

namespace dtypecheck::reports {
namespace {

using Calls = std::vector<const OpCall*>;

constexpr size_t kNamed = 4;

// What a kernel can end in; other errors of CUDA's are of the call itself.
constexpr std::string_view kAssert = "device-side assert triggered";
constexpr std::string_view kOfKernels[] = {kAssert, "illegal memory access", "misaligned address",
                                           "unspecified launch failure", "illegal instruction"};

bool is_on_gpu(const OpCall& call) {
  return std::ranges::any_of(call.operands,
                             [](const Operand& operand) { return operand.device.type == "cuda"; });
}

// Kernels assert that an index is in range: of embedding, gather, index, nll_loss, one_hot.
bool takes_indices(const OpCall& call) {
  return std::ranges::any_of(call.operands, [](const Operand& operand) {
    const bool may_index = ops::argument_facts(operand.name) & (ops::kIndex | ops::kLabels);
    return may_index && !operand.is_floating();
  });
}

// CUPTI gives out the records of kernels that ended.
bool has_unfinished_work(const OpCall& call) {
  return call.gpu.empty() || std::ranges::any_of(call.gpu, [&](const GpuWork& work) {
           return work.count < call.count;
         });
}

Calls those_of(const Calls& calls, bool (*counts)(const OpCall& call)) {
  Calls kept;
  std::copy_if(calls.begin(), calls.end(), std::back_inserter(kept),
               [&](const OpCall* call) { return counts(*call); });
  return kept;
}

// What the process last launched, as far as that is known.
Calls in_flight(const Run& run, uint32_t process, bool is_assert) {
  uint32_t last_step = 0;
  Calls calls;
  for (const OpCall& call : run.calls) {
    if (call.process != process || call.outcome == Outcome::kThrew || !is_on_gpu(call)) continue;
    last_step = std::max(last_step, call.last_step);
    calls.push_back(&call);
  }
  std::erase_if(calls, [&](const OpCall* call) { return call->last_step != last_step; });
  const bool has_kernels =
      std::ranges::any_of(calls, [](const OpCall* call) { return !call->gpu.empty(); });
  if (has_kernels) calls = those_of(calls, has_unfinished_work);
  if (is_assert) return those_of(calls, takes_indices);
  return has_kernels ? calls : Calls();  // else it may have been any of the step
}

}  // namespace

std::string late_error_text(const Run& run, uint32_t process, std::string_view message) {
  const bool is_of_kernel = message.find("CUDA error") != message.npos &&
                            std::ranges::any_of(kOfKernels, [&](std::string_view kind) {
                              return message.find(kind) != message.npos;
                            });
  if (!is_of_kernel) return "";
  const bool is_assert = message.find(kAssert) != message.npos;
  const Calls calls = in_flight(run, process, is_assert);
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(calls.size(), kNamed); ++i)
    names.push_back(printable(made_by(*calls[i])));
  if (calls.size() > kNamed) names.push_back(counted(calls.size() - kNamed, "further op call"));
  const std::string which =
      names.empty() ? ""
                    : fmt::format("; in flight{} may have been {}",
                                  is_assert ? ", and given indices," : "", joined(names, ", "));
  return "CUDA reports it late: a kernel that was launched earlier failed, not the op of the "
         "traceback" +
         which + "; with CUDA_LAUNCH_BLOCKING=1 it is raised where it happens";
}

}  // namespace dtypecheck::reports
