// Finds: Int and Long tensors in one cat, stack or where, whose dtypes the function itself decides:
// sum and cumsum of Int answer in Long. Silent on purpose: tensors of a dtype that nobody knows.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static std::string all_of(DtypeSet dtypes) {
  std::string text = dtypes.to_string();
  for (size_t at = text.find('|'); at != text.npos; at = text.find('|', at)) {
    text.replace(at, 1, " and ");
  }
  return text;
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  for (const SourceOp& op : facts.ops) {
    DtypeSet all;
    for (const SourceOperand& operand : op.operands) all |= operand.dtypes;
    if (!all.within(kIntegral) || all.size() < 2) continue;
    out.add(integer_promotion, Severity::kNote, op.place, op.function,
            fmt::format("{} joins {}", op.op, all_of(all)));
  }
}

extern const Check integer_promotion = {
    .doc = {.id = "integer-promotion",
            .severity = Severity::kNote,
            .summary = "integral tensors of different dtypes are joined",
            .why =
                "The result is right by the promotion rules alone (cat and stack promote since "
                "LibTorch 1.5), and a pointer of the narrower type throws: sum and cumsum of Int "
                "give Long.",
            .fix =
                "Say the dtype: at::cumsum(x, 0, at::kLong), at::zeros({1}, opt.dtype(at::kLong)).",
            .example = R"(#include <torch/extension.h>

at::Tensor offsets(at::Tensor x) {
  const at::Tensor counts = at::empty({16}, x.options().dtype(at::kInt));
  const at::Tensor zero = at::zeros({1}, x.options().dtype(at::kInt));
  const at::Tensor same = at::cat({zero, counts});
  return at::cat({zero, counts.cumsum(0)});
  // EXPECT note: cat joins Int and Long [integer-promotion]
}
)"},
    .check = check,
};

}  // namespace dtypecheck::analyzer
