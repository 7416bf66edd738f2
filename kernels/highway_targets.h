// highway_targets.h: comes before any header of Highway. Left out are the instruction sets that
// convert Half in software (Highway 1.0.3 truncates there) or whose vectors have no size at compile
// time.
#pragma once

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
