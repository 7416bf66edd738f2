// accuracy.h: what the operations promise of their results, which the tests hold them to: how far a
// number may be from the reference, which sums in double and rounds once, on any instruction set
// and any number of threads.
#pragma once

#include <string_view>

namespace dtypecheck::kernels {

// In units in the last place of the result's dtype, at the largest number of the result: a norm's
// small numbers are differences of larger ones. Two numbers that were rounded to either side of a
// middle are one unit apart, which is what is left of 16 bits; in Float the operation's own
// rounding shows. For numbers of about 1 in the sizes of an SDXL UNet; tests of the operations say
// how a bound grows with |mean| / spread.
struct UlpBound {
  std::string_view result;
  double of_float, of_half, of_bfloat16;
};

// clang-format off
inline constexpr UlpBound kUlpBounds[] = {
    {"layer_norm y",              4, 1, 1},
    {"layer_norm dx",             8, 1, 1},
    {"layer_norm dgamma",         8, 1, 1},
    {"group_norm y",              4, 1, 1},
    {"group_norm dx",             8, 1, 1},
    {"group_norm dgamma",         8, 1, 1},
    {"group_norm silu y",         8, 1, 1},
    {"group_norm silu dx",        8, 1, 1},
    {"group_norm nhwc y",         4, 1, 1},
    {"group_norm nhwc dx",        8, 1, 1},
    {"group_norm nhwc dgamma",    8, 1, 1},
    {"rms_norm y",                4, 1, 1},
    {"rms_norm dx",               8, 1, 1},
    {"rms_norm dgamma",           8, 1, 1},
    {"matmul y",                 16, 1, 1},  // over 1280; as BFloat16: matmul.h
    {"unscale y",                 0, 0, 0},
    {"adamw weight",              0, 0, 0},
};
// clang-format on

}  // namespace dtypecheck::kernels
