// What explain says of a kernel is what the contracts measured: the kernel's name stands in their
// refusals, so that each line of kernels.txt can be held to them without knowing the op it asks.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "explain/explain.h"
#include "explain/kernel_table.h"
#include "explain/normal_text.h"
#include "platform/libtorch_version.h"
#include "rules/contracts/table.h"

using namespace dtypecheck;
using namespace dtypecheck::explain;
using contracts::Op;
using contracts::Row;
using contracts::Table;

static const Table& cpu_table() {
  static const auto table = [] {
    std::ifstream in(DTYPECHECK_SOURCE_DIR "/rules/contracts/cpu.contracts");
    return contracts::read_table({std::istreambuf_iterator<char>(in), {}}, "cpu.contracts");
  }();
  return *table;
}

// The kernel's name of `"bmm" not implemented for '{S0}'`, in normal form; or nothing.
static std::string kernel_of(const std::string& message) {
  const std::string text = normal_text(message);
  const size_t end = text.find(" not implemented for ");
  return end == std::string::npos || text.find(' ') != end ? "" : text.substr(0, end);
}

static size_t count_of_operands(const Op& op) {
  if (op.operands.ends_with("[]") && op.operands.find(',') == op.operands.npos) return 1;
  return 1 + static_cast<size_t>(std::count(op.operands.begin(), op.operands.end(), ','));
}

// What the op says to Half alone in one version: the outcome's word, empty for not known.
static std::string outcome_in_half(const Op& op, size_t column) {
  const Row* row = cpu_table().row(op, "plain", column);
  if (!row) return "";
  return contracts::outcome_in(op.operands, row->pattern, std::string(count_of_operands(op), 'h'));
}

static std::string refusing_kernel(std::string_view outcome) {
  if (!outcome.starts_with('m')) return "";
  return kernel_of(cpu_table().messages.at(std::stoul(std::string(outcome.substr(1)))).text);
}

constexpr size_t kNever = 1000;

// For each kernel that refuses Half in some version, the first version in which an op that it
// refused goes through.
static std::map<std::string, size_t> measured_kernels() {
  std::map<std::string, size_t> first_column;
  for (const Op& op : cpu_table().ops) {
    std::set<std::string> kernels;
    size_t first = kNever;
    for (size_t column = cpu_table().runtimes.size(); column-- > 0;) {
      const std::string outcome = outcome_in_half(op, column);
      if (const std::string kernel = refusing_kernel(outcome); !kernel.empty())
        kernels.insert(kernel);
      if (!outcome.empty() && outcome[0] != 'm' && outcome[0] != '?') first = column;
    }
    for (const std::string& kernel : kernels) {
      const auto [known, is_new] = first_column.emplace(kernel, first);
      if (!is_new) known->second = std::min(known->second, first);
    }
  }
  return first_column;
}

static std::string minor_of(size_t column) {
  return parse_minor(cpu_table().runtimes[column].version)->minor_name();
}

static std::string versions_of(const std::string& kernel) {
  LogScanner scanner;
  scanner.feed("RuntimeError: \"" + kernel + "\" not implemented for 'Half'\n");
  scanner.finish();
  const Answer answer = explain::explain(scanner);
  REQUIRE(answer.errors.size() == 1);
  return answer.errors[0].versions;
}

TEST_CASE("explain dates each kernel as the contracts do") {
  const std::string newest = minor_of(cpu_table().runtimes.size() - 1);
  std::set<const CpuKernel*> checked;
  for (const auto& [kernel, column] : measured_kernels()) {
    const CpuKernel* row = kernel_table().find(kernel);
    if (!row) continue;
    INFO(kernel);
    CHECK(versions_of(kernel) ==
          (column == kNever ? "Half still missing on the CPU in " + newest + " (measured)"
                            : "Half on the CPU since " + minor_of(column) + " (measured)"));
    checked.insert(row);
  }
  CHECK(checked.size() > 36);
}

TEST_CASE("each kernel of the table has a date") {
  for (const CpuKernel& kernel : kernel_table().cpu) {
    INFO(kernel.beginning);
    CHECK_FALSE(since_when(kernel.asked, Dtype::kHalf).sentence.empty());
  }
}

TEST_CASE("a kernel that the table does not know has none") {
  CHECK(versions_of("no_such_kernel_cpu").empty());
}
