// bfloat16_target.h: included first, it makes of a file of vectors (vectors-inl.h) one for
// AVX512-BF16, which sums products of BFloat16 and rounds to it in an instruction each. Highway
// 1.0.3 has no target with it: this is its AVX3 and those instructions, for x in BFloat16.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__)
#define DTYPECHECK_ON_BFLOAT16 1
#define HWY_COMPILE_ONLY_STATIC
#define HWY_BASELINE_TARGETS HWY_AVX3
// GCC 12 warns of its own _mm512_undefined_ps (bug 105593).
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#endif
