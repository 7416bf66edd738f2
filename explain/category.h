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

// A weight for each category.
using Scores = std::array<double, kCategoryCount>;

std::string_view category_name(Category category);  // "input-weight-mismatch"

}  // namespace dtypecheck::explain
