// kernel_table.h: what the name of a dispatched kernel says about the device it runs on.
// LibTorch names the kernel, not the op or the device: "slow_conv2d_cpu" not implemented for
// 'Half'.
#pragma once

#include <string>
#include <string_view>

#include "explain/category.h"

namespace dtypecheck::explain {

struct KernelVerdict {
  Category category = Category::kLibraryLimits;
  double weight = 2;
  std::string op;       // what users call it
  std::string version;  // since when the kernel is there, or that it is still missing
};

KernelVerdict judge_kernel(std::string_view kernel, std::string_view dtype);

}  // namespace dtypecheck::explain
