// formatting.h: how rules write dtypes, places and operands in their sentences.
#pragma once

#include <string>
#include <string_view>

#include "core/run.h"
#include "ops/arguments.h"

namespace dtypecheck::rules {

std::string dtype_word(const Operand& operand);  // "Half"; "Half|Float" for a set
bool is_in_cpp(const OpCall& call);              // called by a line of C++
// ".to(torch.float16)", in C++ ".to(torch::kHalf)".
std::string to_dtype(const OpCall& call, Dtype dtype);

using ops::list_name;

// "unet" of "unet.conv_in"; the module part "unet.conv_in" of the parameter "unet.conv_in.weight".
std::string root_module(std::string_view path);
std::string owner_module(std::string_view parameter);

// The cure where a kernel is missing for this dtype: to compute in Float; for a GradScaler's ops,
// to do without it.
std::string without_kernel(const OpCall& call, Dtype dtype);

// "1e-08", "0.001": as short as it can be read back.
std::string number(double value);

}  // namespace dtypecheck::rules
