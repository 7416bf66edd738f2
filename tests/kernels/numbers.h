// numbers.h: what the tests of kernels share: buffers of any of the three dtypes, made to be
// awkward, and each variant on each instruction set that this machine has.
#pragma once

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/dtype_set.h"
#include "kernels/element.h"
#include "kernels/variant.h"

namespace dtypecheck::kernels {

inline constexpr Dtype kDtypes[] = {Dtype::kFloat, Dtype::kHalf, Dtype::kBFloat16};

// Beside 8 and 16 lanes, beside four vectors of them, past the chunk that sums are kept in; the
// UNet's.
inline constexpr int64_t kSizes[] = {1,  7,  8,  9,  15,  16,   17,   31,
                                     33, 63, 64, 65, 320, 4096, 4097, 12301};

// Set, numbers are aligned to 16 bytes: a GPU reads vectors only of those.
inline const int64_t kNumbersBefore = std::getenv("DTYPECHECK_TEST_ALIGNED") ? 0 : 1;

// n numbers that start one number into their allocation and end where it ends, so that no vector is
// aligned and the address sanitizer sees a read or a write past them.
class Numbers {
 public:
  Numbers(Dtype dtype, int64_t n, float value = 0)
      : dtype_(dtype),
        n_(n),
        bytes_(static_cast<size_t>((n + kNumbersBefore) * dtype_size_bytes(dtype))) {
    fill([=](int64_t) { return value; });
  }

  int64_t size() const { return n_; }
  Dtype dtype() const { return dtype_; }
  void* data() { return bytes_.data() + kNumbersBefore * dtype_size_bytes(dtype_); }
  const void* data() const { return bytes_.data() + kNumbersBefore * dtype_size_bytes(dtype_); }
  float* floats() { return static_cast<float*>(data()); }
  Input input() const { return {data(), dtype_}; }
  Output output() { return {data(), dtype_}; }
  float operator[](int64_t i) const { return load(input(), i); }
  void set(int64_t i, float value) { store(output(), i, value); }
  void fill(const std::function<float(int64_t)>& value) {
    for (int64_t i = 0; i < n_; ++i) set(i, value(i));
  }
  // The first numbers are kept, where a test has put what it is about; the same each time.
  void fill_normal(float mean, float spread, unsigned seed, int64_t from = 0) {
    std::minstd_rand random(seed + 1);
    std::normal_distribution<float> normal(mean, spread);
    for (int64_t i = from; i < n_; ++i) set(i, normal(random));
  }

 private:
  Dtype dtype_;
  int64_t n_;
  std::vector<unsigned char> bytes_;
};

inline bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// Equal to the bit, but for what a NaN carries. Names the first that is not.
inline void check_same(const Numbers& found, const Numbers& expected) {
  REQUIRE(found.size() == expected.size());
  for (int64_t i = 0; i < found.size(); ++i) {
    if (same_bits(found[i], expected[i])) continue;
    FAIL_CHECK("number " << i << " of " << found.size() << ": " << found[i] << ", expected "
                         << expected[i]);
    return;
  }
}

// Half a step of the dtype beside `value`: what rounding it once may cost.
inline double rounding_of(Dtype dtype, double value) {
  const double least = dtype == Dtype::kHalf ? 0x1p-25 : 0x1p-150;
  const double part = dtype == Dtype::kFloat ? 0x1p-24 : dtype == Dtype::kHalf ? 0x1p-11 : 0x1p-8;
  return std::max(least, std::fabs(value) * part);
}

// Within `tolerance` plus twice the rounding of the dtype; infinite and NaN where the other is.
inline void check_near(const Numbers& found, const std::vector<double>& expected,
                       double tolerance) {
  REQUIRE(static_cast<size_t>(found.size()) == expected.size());
  for (int64_t i = 0; i < found.size(); ++i) {
    const double want = expected[static_cast<size_t>(i)], got = found[i];
    if (std::isnan(want) && std::isnan(got)) continue;
    if (got == want) continue;
    if (std::fabs(got - want) <= tolerance + 2 * rounding_of(found.dtype(), want)) continue;
    FAIL_CHECK("number " << i << " of " << found.size() << ": " << got << ", expected " << want
                         << " within " << tolerance << " and the rounding of "
                         << dtype_name(found.dtype()));
    return;
  }
}

inline std::vector<double> doubles(const Numbers& numbers) {
  std::vector<double> result;
  for (int64_t i = 0; i < numbers.size(); ++i) result.push_back(numbers[i]);
  return result;
}

// Calls use() once for each instruction set that the vectorised variants are compiled for and this
// processor has.
void on_each_instruction_set(const std::function<void()>& use);

// Calls use(run) for each variant but the reference, on each instruction set; says which it left
// out.
template <class Arguments>
void with_each_variant(std::span<const Variant<Arguments>> variants, const Arguments& arguments,
                       const std::function<void(void (*)(const Arguments&))>& use) {
  for (const Variant<Arguments>& variant : variants.first(variants.size() - 1)) {
    if (!variant.can_run(arguments)) {
      static std::set<std::string> said;
      if (said.insert(variant.name).second)
        WARN("left out here, or for some arguments: " << variant.name);
      continue;
    }
    INFO("variant " << variant.name);
    if (std::string(variant.name) == "grid") return use(variant.run);  // the others have a test
    on_each_instruction_set([&] { use(variant.run); });
  }
}

}  // namespace dtypecheck::kernels
