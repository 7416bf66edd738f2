// compiled_ops.h: the ops inside of a torch.compile region. The dispatcher does not see them once
// they are fused, so they are read from Inductor's graph and code, which the tracer keeps as a fact
// of the process.
#pragma once

#include <string>
#include <vector>

#include "core/run.h"

namespace dtypecheck {

struct CompiledOp {
  std::string op;        // "aten::mul"
  std::string inputs;    // dtypes: "BFloat16", "BFloat16|Float"
  std::string result;    // a dtype: what it answers in, in the graph and in eager
  std::string computed;  // that of the arithmetic, after which nothing was rounded

  bool is_raised() const { return computed != result; }
};

// Of a region, views and copies left out; none where Inductor's code was not read.
std::vector<CompiledOp> compiled_ops(const Run& run, const OpCall& region);

}  // namespace dtypecheck
