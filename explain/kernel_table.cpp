#include "explain/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "explain/data_file.h"
#include "explain/embedded.h"
#include "explain/normal_text.h"
#include "platform/error.h"

namespace dtypecheck::explain {
namespace {

bool has_any_part(std::string_view kernel, const std::vector<std::string>& parts) {
  return std::ranges::any_of(
      parts, [&](const std::string& part) { return kernel.find(part) != std::string_view::npos; });
}

bool says_gpu(const KernelTable& table, std::string_view kernel) {
  return has_any_part(kernel, table.gpu_parts) ||
         std::ranges::any_of(table.gpu_between, [&](const auto& pair) {
           return kernel.starts_with(pair.first) &&
                  kernel.find(pair.second) != std::string_view::npos;
         });
}

bool is_of_extension(const KernelTable& table, std::string_view kernel) {
  return std::ranges::any_of(table.extensions,
                             [&](const std::string& name) { return kernel.starts_with(name); });
}

std::vector<std::string> exactly(size_t count, const Field& field) {
  std::vector<std::string> parts = field.parts();
  if (parts.size() != count) field.fail(fmt::format("expected {} parts between |", count));
  return parts;
}

OpPattern pattern_in(const Field& field, std::string_view text) {
  try {
    return parse_op_pattern(text);
  } catch (const InputError& error) {
    field.fail(error.what());
  }
}

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

void read_line(const Field& line, KernelTable& table) {
  if (line.key == "extension") {
    append(table.extensions, line.parts());
  } else if (line.key == "gpu") {
    append(table.gpu_parts, line.parts());
  } else if (line.key == "gpu-between") {
    const auto parts = exactly(2, line);
    table.gpu_between.emplace_back(parts[0], parts[1]);
  } else if (line.key == "cpu") {
    append(table.cpu_parts, line.parts());
  } else if (line.key == "read") {
    const auto parts = exactly(3, line);
    const auto dtype = parse_dtype(parts[1]);
    if (!dtype) line.fail(fmt::format("'{}' is no dtype", parts[1]));
    table.read.push_back({parts[0], *dtype, parts[2]});
  } else if (line.key == "kernel") {
    const auto parts = exactly(3, line);
    if (parts[0] != normal_text(parts[0])) line.fail(fmt::format("'{}' has upper case", parts[0]));
    if (const CpuKernel* earlier = table.find(parts[0]))
      line.fail(
          fmt::format("'{}' is never meant: '{}' above fits first", parts[0], earlier->beginning));
    table.cpu.push_back({parts[0], parts[1], pattern_in(line, parts[2])});
  } else {
    line.fail_unknown_key({"extension", "gpu", "gpu-between", "cpu", "read", "kernel"});
  }
}

}  // namespace

const CpuKernel* KernelTable::find(std::string_view kernel) const {
  const auto found = std::ranges::find_if(
      cpu, [&](const CpuKernel& row) { return kernel.starts_with(row.beginning); });
  return found == cpu.end() ? nullptr : &*found;
}

KernelTable read_kernel_table(std::string_view text, std::string_view file) {
  KernelTable table;
  for (const DataBlock& block : read_blocks(text, file)) {
    if (!block.fields.empty()) block.fields.front().fail("no fields are expected here");
    read_line(block.head, table);
  }
  return table;
}

const KernelTable& kernel_table() {
  static const KernelTable table =
      read_kernel_table(table_text("kernels.txt", embedded::kKernels), "kernels.txt");
  return table;
}

KernelReading judge_kernel(std::string_view kernel, std::string_view spelling,
                           std::optional<Dtype> dtype) {
  const KernelTable& table = kernel_table();
  KernelReading reading;
  reading.op = kernel;
  if (is_of_extension(table, kernel)) {
    reading.category = Category::kExtension;
    reading.weight = 4;
    return reading;
  }
  if (spelling == "torch.halftensor") {  // the CPU's tensor type; the GPU's has "cuda" in it
    reading.category = Category::kCpuHalf;
    reading.weight = 4;
    return reading;
  }
  if (says_gpu(table, kernel)) {
    for (const ReadKernel& read : table.read) {
      if (kernel.starts_with(read.beginning) && dtype == read.dtype)
        reading.since.sentence = read.sentence;
    }
    reading.weight = 4;
    return reading;
  }
  const CpuKernel* row = table.find(kernel);
  if (row) reading.op = fmt::format("{} ({})", row->what, kernel);
  const bool says_cpu = has_any_part(kernel, table.cpu_parts);
  const bool may_be_cpu = spelling.find("cuda") == std::string_view::npos;
  if (dtype == Dtype::kHalf && may_be_cpu && (row || says_cpu)) {
    reading.category = Category::kCpuHalf;
    reading.weight = 4;
    if (row) reading.since = since_when(row->asked, *dtype);
  } else if (dtype == Dtype::kBFloat16 && may_be_cpu && says_cpu) {
    reading.category = Category::kCpuHalf;
    if (row) reading.since = since_when(row->asked, *dtype);
  }
  return reading;
}

}  // namespace dtypecheck::explain
