// Finds: matrix products, convolutions and attention in Half on the CPU: where --fix served them,
// and where LibTorch's own have more than a second of work. Misses: what runs inside of oneDNN's
// recurrent layers.
#include <fmt/format.h>

#include <algorithm>

#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

// What LibTorch does in a second where it has no library for Half: one multiplication at a time.
constexpr double kProductsPerSecond = 1e9;

bool is_half_product(const RunIndex& index, const OpCall& call) {
  return index.has(call, ops::kMultiplies) && call.device_type() == "cpu" &&
         call.outcome != Outcome::kThrew && !was_let_through(call) &&
         call.floating_dtypes() == DtypeSet(Dtype::kHalf);
}

// At least so many multiplications: each number of one factor meets a row of the other, or, of a
// convolution and of a layer, each of its channels.
double least_work(const OpCall& call) {
  std::vector<const Operand*> factors;
  for (const Operand& operand : call.operands) {
    if (operand.has_shape && operand.shape.size() > 1) factors.push_back(&operand);
  }
  if (factors.size() < 2) return 0;
  const Operand &left = *factors[factors.size() - 2], &right = *factors.back();
  const bool is_weight = right.role == Role::kWeight;
  const int64_t width = is_weight ? right.shape.front() : right.shape.back();
  return element_count(left) * static_cast<double>(width) * static_cast<double>(call.count);
}

void check_run(const RunIndex& index, Findings& out) {
  for (const OpCall& call : index.judged_calls()) {
    if (!is_half_product(index, call)) continue;
    const OpCall* outer = index.run().call(call.parent);
    if (outer != nullptr && is_half_product(index, *outer)) continue;  // reported there
    const bool is_served = call.outcome == Outcome::kServed;
    if (!is_served && least_work(call) < kProductsPerSecond) continue;
    out.add(call, "a product or convolution runs in Half on the CPU", [&] {
      const std::string model =
          call.site.module.empty() ? "what it multiplies" : root_module(call.site.module);
      return Details{.odd = call.operands.front().name,
                     .why =
                         "on a processor without Half arithmetic LibTorch multiplies one number at "
                         "a time, about a hundred times slower than in Float",
                     .fix = fmt::format("on the CPU keep {} in BFloat16 or Float; until then run "
                                        "under dtypecheck trace --fix",
                                        model),
                     .follows = {{&outside_autocast}}};
    });
  }
}

}  // namespace

const Rule cpu_half_product = {
    .doc = {.id = "cpu-half-product",
            .severity = Severity::kNote,
            .summary = "a matrix product, convolution or attention runs in Half on the CPU",
            .why = "Most processors have no arithmetic in Half, and LibTorch then multiplies one "
                   "number at a time: about 1 GFLOP/s.",
            .fix =
                "On the CPU keep the model in Float or BFloat16; dtypecheck trace --fix computes "
                "these ops in Float and rounds once.",
            .example = R"(
op aten::addmm self=Half[1280] mat1=Half[1024,1280] mat2=Half[1280,1280] -> Half[1024,1280] count 4 at train.py:12 in unet.proj (Linear) phase forward
# EXPECT train.py:12: note: a product or convolution runs in Half on the CPU [cpu-half-product]
# BFloat16 has libraries.
op aten::addmm self=BFloat16[1280] mat1=BFloat16[1024,1280] mat2=BFloat16[1280,1280] -> BFloat16[1024,1280] count 4 at train.py:13 phase forward
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
