// category.h: what a dtype fault is, as opposed to the sentence that reported it: one sentence
// belongs to many faults.
#pragma once

#include <array>
#include <string_view>

namespace dtypecheck::explain {

enum class Category {
  kInputWeight,
  kOverflowNan,
  kAutocast,
  kOptimizerState,
  kLibraryLimits,
  kGradScaler,
  kCpuHalf,
  kAttention,
  kPromotion,
  kNorm,
  kDistributed,
  kExtension,
  kBackward,
  kLoading,
  kCublas,
  kCompile,
  kIndexPut,
  kOther,
  kCount
};

inline constexpr size_t kCategoryCount = static_cast<size_t>(Category::kCount);

// What users and the files of explain/data/ call them, in the order of the enumerators.
inline constexpr std::array<std::string_view, kCategoryCount> kCategoryNames = {
    "input-weight-mismatch",
    "overflow-nan",
    "autocast-misuse",
    "optimizer-state-dtype",
    "library-limits-dtype",
    "gradscaler-fp16-params",
    "cpu-half-unimplemented",
    "attention-qkv",
    "promotion-cat-or-arith",
    "norm-mixed",
    "distributed-dtype",
    "custom-extension-data_ptr",
    "backward-dtype",
    "loading-checkpoint-dtype",
    "cublas",
    "compile-dtype",
    "index-put",
    "other",
};

constexpr std::string_view category_name(Category category) {
  return kCategoryNames[static_cast<size_t>(category)];
}

// A weight for each category.
using Scores = std::array<double, kCategoryCount>;

}  // namespace dtypecheck::explain
