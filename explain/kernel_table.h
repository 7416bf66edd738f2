// kernel_table.h: what the name of a dispatched kernel says about the device it runs on.
// LibTorch names the kernel, not the op or the device: "slow_conv2d_cpu" not implemented for
// 'Half'. The table is explain/data/kernels.txt.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype_set.h"
#include "explain/category.h"
#include "explain/since.h"

namespace dtypecheck::explain {

// A kernel of the CPU.
struct CpuKernel {
  std::string beginning;  // of its name, in lower case
  std::string what;       // what users call its ops
  OpPattern asked;        // which op the contracts are asked about
};

// What was read of a kernel on a GPU.
struct ReadKernel {
  std::string beginning;
  Dtype dtype = Dtype::kUndefined;
  std::string sentence;
};

struct KernelTable {
  std::vector<std::string> extensions;  // beginnings of names
  std::vector<std::string> gpu_parts, cpu_parts;
  std::vector<std::pair<std::string, std::string>> gpu_between;  // beginning, later part
  std::vector<CpuKernel> cpu;
  std::vector<ReadKernel> read;

  const CpuKernel* find(std::string_view kernel) const;
};

const KernelTable& kernel_table();
// Throws InputError with file and line.
KernelTable read_kernel_table(std::string_view text, std::string_view file);

// What a name weighs that the table does not know: it may be an extension's own.
constexpr double kUnknownKernel = 2;

struct KernelReading {
  Category category = Category::kLibraryLimits;
  double weight = kUnknownKernel;
  std::string op;  // what users call it, with the kernel's name as the log has it
  Since since;     // when the kernel is there, or that it is still missing; may be empty
};

// Both as the message has them, in normal form; `dtype` is nothing where that is no dtype.
KernelReading judge_kernel(std::string_view kernel, std::string_view spelling,
                           std::optional<Dtype> dtype);

}  // namespace dtypecheck::explain
