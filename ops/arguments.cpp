#include "ops/arguments.h"

#include <algorithm>
#include <iterator>

#include "ops/ops.h"

namespace dtypecheck {
namespace ops {
namespace {

struct Argument {
  std::string_view name;  // a star at the end stands for any ending
  Role role;
  uint32_t facts;
};

// clang-format off
constexpr Argument kArguments[] = {
    {"self",                Role::kInput,  kGenericName | kFactor},
    {"input",               Role::kInput,  kGenericName},
    {"x",                   Role::kInput,  kGenericName},
    {"mat1",                Role::kInput,  kGenericName | kFactor},
    {"mat2",                Role::kInput,  kGenericName | kFactor | kRightFactor},
    {"batch1",              Role::kInput,  kFactor},
    {"batch2",              Role::kInput,  kFactor | kRightFactor},
    {"other",               Role::kInput,  kFactor | kDivisor | kAddend},
    {"tensor2",             Role::kInput,  kDivisor},
    {"scalar*",             Role::kInput,  kAddend},
    {"min",                 Role::kInput,  kAddend},
    {"eps",                 Role::kInput,  kAddend},
    {"weight",              Role::kWeight, 0},
    {"weights",             Role::kWeight, 0},
    {"w_*",                 Role::kWeight, 0},
    {"qkv_weight",          Role::kWeight, 0},
    {"proj_weight",         Role::kWeight, 0},
    {"ffn_weight_*",        Role::kWeight, 0},
    {"norm_weight_*",       Role::kWeight, 0},
    {"gamma",               Role::kWeight, 0},
    {"bias",                Role::kBias,   0},
    {"b_*",                 Role::kBias,   0},
    {"qkv_bias",            Role::kBias,   0},
    {"proj_bias",           Role::kBias,   0},
    {"ffn_bias_*",          Role::kBias,   0},
    {"norm_bias_*",         Role::kBias,   0},
    {"beta",                Role::kBias,   0},
    {"running_mean",        Role::kState,  kWrittenSilently},
    {"running_var",         Role::kState,  kWrittenSilently},
    {"running_*",           Role::kState,  0},
    {"exp_avg*",            Role::kState,  0},
    {"max_exp_avg*",        Role::kState,  0},
    {"momentum_buffer*",    Role::kState,  0},
    {"state_steps",         Role::kState,  kOwnDtype},
    {"state*",              Role::kState,  0},
    {"found_inf",           Role::kInput,  kOwnDtype},
    {"grad_scale",          Role::kInput,  kOwnDtype},
    {"scale_*",             Role::kInput,  kScale},
    {"lr",                  Role::kInput,  kOwnDtype},
    {"tensor_lr",           Role::kInput,  kOwnDtype},
    {"ind*",                Role::kInput,  kIndex},
    {"offsets",             Role::kInput,  kIndex},
    {"batch_sizes",         Role::kInput,  kIndex},
    {"mask*",               Role::kInput,  kCondition},
    {"condition",           Role::kInput,  kCondition},
    {"target*",             Role::kInput,  kLabels},
    {"labels",              Role::kInput,  kLabels},
};
// clang-format on

struct Signature {
  std::string_view op, arguments;
};

// Ops that take an index, a mask or labels, and layers.
constexpr Signature kSignatures[] = {
    {"binary_cross_entropy", "self target weight"},
    {"binary_cross_entropy_with_logits", "self target weight pos_weight"},
    {"conv1d", "input weight bias"},
    {"conv2d", "input weight bias"},
    {"conv3d", "input weight bias"},
    {"cross_entropy_loss", "self target weight"},
    {"embedding", "weight indices"},
    {"gather", "self dim index"},
    {"index_add", "self dim index source"},
    {"index_copy", "self dim index source"},
    {"index_fill", "self dim index value"},
    {"index_put", "self indices values"},
    {"index_select", "self dim index"},
    {"masked_fill", "self mask value"},
    {"masked_scatter", "self mask source"},
    {"masked_select", "self mask"},
    {"nll_loss", "self target weight"},
    {"scaled_dot_product_attention", "query key value attn_mask"},
    {"scatter", "self dim index src"},
    {"scatter_add", "self dim index src"},
    {"take", "self index"},
    {"take_along_dim", "self indices"},
    {"where", "condition self other"},
};

bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.back() != '*') return pattern == name;
  pattern.remove_suffix(1);
  return name.substr(0, pattern.size()) == pattern;
}

const Argument* find(std::string_view name) {
  name = list_name(name);
  const auto found =
      std::find_if(std::begin(kArguments), std::end(kArguments),
                   [&](const Argument& argument) { return fits(argument.name, name); });
  return found == std::end(kArguments) ? nullptr : found;
}

}  // namespace

Role role_of_argument(std::string_view name) {
  const Argument* found = find(name);
  return found ? found->role : Role::kInput;
}

uint32_t argument_facts(std::string_view name) {
  const Argument* found = find(name);
  return found ? found->facts : 0;
}

bool is_right_factor(std::string_view op, std::string_view name) {
  if (argument_facts(name) & kRightFactor) return true;
  return name == "other" && (facts_of(op) & kProduct) != 0;
}

bool is_divisor(std::string_view op, std::string_view name) {
  return parse_op_name(op).base == "reciprocal" || (argument_facts(name) & kDivisor) != 0;
}

std::string_view shown_argument(std::string_view op, std::string_view name) {
  return name == "self" && (facts_of(op) & kAddsProduct) ? "bias" : name;
}

std::string_view schema_argument(std::string_view op, std::string_view name) {
  return name == "bias" && (facts_of(op) & kAddsProduct) ? "self" : name;
}

std::string_view argument_at(std::string_view op, size_t position) {
  const std::string_view base = parse_op_name(op).base;
  const auto found = std::find_if(std::begin(kSignatures), std::end(kSignatures),
                                  [&](const Signature& signature) { return signature.op == base; });
  if (found == std::end(kSignatures)) return {};
  std::string_view rest = found->arguments;
  for (; position > 0; --position) {
    const size_t blank = rest.find(' ');
    if (blank == rest.npos) return {};
    rest.remove_prefix(blank + 1);
  }
  return rest.substr(0, rest.find(' '));
}

}  // namespace ops
}  // namespace dtypecheck
