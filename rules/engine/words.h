// words.h: how rules write dtypes, places and operands in their sentences.
#pragma once

#include <string>
#include <string_view>

#include "core/run.h"

namespace dtypecheck::rules {

std::string torch_dtype(Dtype dtype);            // "torch.float16"
std::string dtype_word(const Operand& operand);  // "Half"; "Half|Float" for a set
bool is_in_cpp(const OpCall& call);              // called by a line of C++
// ".to(torch.float16)", in C++ ".to(torch::kHalf)".
std::string to_dtype(const OpCall& call, Dtype dtype);

// "train.py:91", the user's line without the folders; "" when it is not known.
std::string place(const Site& site);
// " at train.py:91", or in a library " at embeddings.py:12, called from train.py:91"; or "".
std::string at_place(const Site& site);
std::string made_by(const OpCall& call);  // "aten::ones at data.py:17"
// The op is called by the user's own line, which they can edit, not by a library below it.
bool is_users_own(const Site& site);

// "tensors[2]" to "tensors"; other names unchanged.
std::string_view list_name(std::string_view operand_name);

// "unet" of "unet.conv_in"; the module part "unet.conv_in" of the parameter "unet.conv_in.weight".
std::string root_module(std::string_view path);
std::string owner_module(std::string_view parameter);

// The cure where a kernel is missing for this dtype: to compute in Float; for a GradScaler's ops,
// to do without it.
std::string without_kernel(const OpCall& call, Dtype dtype);

// "1e-08", "0.001": as short as it can be read back.
std::string number(double value);

}  // namespace dtypecheck::rules
