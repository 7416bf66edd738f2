#include "core/compiled_ops.h"

#include <string_view>

#include "ops/ops.h"
#include "platform/text.h"

namespace dtypecheck {

std::vector<CompiledOp> compiled_ops(const Run& run, const OpCall& region) {
  std::vector<CompiledOp> ops;
  const std::string name = region.op.substr(ops::kCompiled.size());
  std::string_view rest = run.process_of(region).fact(FactKey::kCompiled, name);
  while (!rest.empty()) {
    std::string_view line = next_piece(rest, ';');
    CompiledOp op;
    for (std::string* word : {&op.op, &op.inputs, &op.result, &op.computed})
      *word = next_piece(line, ' ');
    const bool is_whole = !op.computed.empty() && line.empty();
    if (is_whole && (ops::facts_of(op.op) & (ops::kView | ops::kCopy | ops::kQuestion)) == 0)
      ops.push_back(std::move(op));
  }
  return ops;
}

}  // namespace dtypecheck
