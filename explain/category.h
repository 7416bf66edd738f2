// category.h: what a dtype fault is, as opposed to the sentence that reported it: one sentence
// belongs to many faults.
#pragma once

#include <array>
#include <iterator>
#include <string_view>

namespace dtypecheck::explain {

// What users and the files of explain/data/ call them.
#define DTYPECHECK_CATEGORIES(CATEGORY)              \
  CATEGORY(kInputWeight, "input-weight-mismatch")    \
  CATEGORY(kOverflowNan, "overflow-nan")             \
  CATEGORY(kAutocast, "autocast-misuse")             \
  CATEGORY(kOptimizerState, "optimizer-state-dtype") \
  CATEGORY(kLibraryLimits, "library-limits-dtype")   \
  CATEGORY(kGradScaler, "gradscaler-fp16-params")    \
  CATEGORY(kCpuHalf, "cpu-half-unimplemented")       \
  CATEGORY(kAttention, "attention-qkv")              \
  CATEGORY(kPromotion, "promotion-cat-or-arith")     \
  CATEGORY(kNorm, "norm-mixed")                      \
  CATEGORY(kDistributed, "distributed-dtype")        \
  CATEGORY(kExtension, "custom-extension-data_ptr")  \
  CATEGORY(kBackward, "backward-dtype")              \
  CATEGORY(kLoading, "loading-checkpoint-dtype")     \
  CATEGORY(kCublas, "cublas")                        \
  CATEGORY(kCompile, "compile-dtype")                \
  CATEGORY(kIndexPut, "index-put")                   \
  CATEGORY(kOther, "other")

enum class Category {
#define CATEGORY(name, text) name,
  DTYPECHECK_CATEGORIES(CATEGORY)
#undef CATEGORY
};

inline constexpr std::string_view kCategoryNames[] = {
#define CATEGORY(name, text) text,
    DTYPECHECK_CATEGORIES(CATEGORY)
#undef CATEGORY
};
inline constexpr size_t kCategoryCount = std::size(kCategoryNames);

constexpr std::string_view category_name(Category category) {
  return kCategoryNames[static_cast<size_t>(category)];
}

// A weight for each category.
using Scores = std::array<double, kCategoryCount>;

}  // namespace dtypecheck::explain
