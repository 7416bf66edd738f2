// What following dtypes through a function costs, beside the parse of its file: a function of 100
// lines with checks, branches, loops, calls and a dispatch, against the bundled LibTorch.
// CPU time.
//   build/bin/bench_dtype_flow
#include <clang/Frontend/ASTUnit.h>
#include <clang/Tooling/Tooling.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "analyzer/clang/file_facts.h"

constexpr int kFunctions = 20;
constexpr int kRounds = 20;

static std::string numbered(std::string text, int n) {
  for (size_t at = text.find('#'); at != text.npos; at = text.find('#', at)) {
    text.replace(at, 1, std::to_string(n));
  }
  return text;
}

// Ten lines each: nine blocks and what opens and closes a function are a hundred.
static const char* const kBlocks[] = {
    R"(  TORCH_CHECK(x.dim() == 2 && weight.dim() == 2);
  TORCH_CHECK(x.scalar_type() == weight.scalar_type());
  at::Tensor a# = at::empty_like(x);
  at::Tensor b# = a#.to(at::kFloat);
  at::Tensor c# = b#.contiguous().view({-1});
  if (x.size(0) > # && index.defined()) {
    c# = c# + at::ones({4});
  } else {
    c# = c#.index_select(0, index.to(at::kLong));
  }
)",
    R"(  at::Tensor d# = at::zeros({x.size(0)}, x.options().dtype(at::kInt));
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (i % 2 == 0) continue;
    out = out + x[i] * weight[i];
    d# = d#.to(at::kLong);
  }
  const bool is_half# = x.scalar_type() == at::kHalf;
  at::Tensor e# = is_half# ? x.to(at::kFloat) : x;
  at::Tensor f# = at::matmul(e#, weight.to(e#.scalar_type()));
  out = out + f#.sum(0).to(out.scalar_type());
)",
    R"(  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "op#", [&] {
    const scalar_t* from = x.data_ptr<scalar_t>();
    const scalar_t* scale = weight.data_ptr<scalar_t>();
    scalar_t* to = out.data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      to[i] = from[i] * scale[i % weight.numel()];
      if (i > #) break;
    }
  });
  out = out.clone();
)"};

static std::string source() {
  std::string text = "#include <torch/extension.h>\n";
  for (int n = 0; n < kFunctions; ++n) {
    text += numbered("at::Tensor op_#(at::Tensor x, at::Tensor weight, at::Tensor index) {\n", n);
    text += "  at::Tensor out = at::zeros_like(x);\n";
    for (int block = 0; block < 9; ++block) text += numbered(kBlocks[block % 3], block);
    text += "  return out;\n}\n";
  }
  return text;
}

static double cpu_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

int main() {
  const std::string stubs = DTYPECHECK_SOURCE_DIR "/analyzer/stubs/torch";
  const double begin = cpu_ms();
  const auto unit = clang::tooling::buildASTFromCodeWithArgs(
      source(),
      {"-std=c++17", "-w", "-isystem", stubs, "-resource-dir", DTYPECHECK_CLANG_RESOURCES},
      "bench.cpp");
  const double parse = cpu_ms() - begin;
  if (unit == nullptr || unit->getDiagnostics().hasErrorOccurred()) {
    std::fputs("bench_dtype_flow: its own source does not parse\n", stderr);
    return 2;
  }
  std::vector<double> costs;
  size_t reads = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double start = cpu_ms();
    reads = dtypecheck::analyzer::facts_of(unit->getASTContext()).reads.size();
    costs.push_back((cpu_ms() - start) / kFunctions);
  }
  std::sort(costs.begin(), costs.end());
  std::printf(
      "a function of 100 lines: %.2f ms at best, %.2f ms the median of %d rounds, %zu reads\n",
      costs.front(), costs[costs.size() / 2], kRounds, reads / kFunctions);
  std::printf("the parse of the file: %.0f ms, %.2f ms a function\n", parse, parse / kFunctions);
  return 0;
}
