#include "kernels/unscale/unscale.h"

#include "tests/kernels/numbers.h"

namespace dtypecheck::kernels {

struct Unscaled {
  Numbers y;
  double sum;
};

static Unscaled run(void (*variant)(const Unscale&), const Numbers& x, float factor) {
  Unscaled result{Numbers(Dtype::kFloat, x.size(), -1), -1};
  variant({x.size(), x.input(), factor, result.y.floats(), &result.sum});
  double sum_alone = -1;
  variant({x.size(), x.input(), factor, nullptr, &sum_alone});
  CHECK((sum_alone == result.sum || std::isnan(result.sum)));
  return result;
}

static void check_variants(const Numbers& x, float factor) {
  const Unscaled expected = run(unscale_ref, x, factor);
  with_each_variant<Unscale>(unscale_variants(), {}, [&](auto variant) {
    INFO(x.size() << " numbers of " << dtype_name(x.dtype()));
    const Unscaled found = run(variant, x, factor);
    check_same(found.y, expected.y);
    if (std::isfinite(expected.sum)) {
      CHECK(found.sum == Approx(expected.sum).epsilon(kUnscaleTolerance).margin(0));
    } else {
      CHECK_FALSE(std::isfinite(found.sum));
    }
  });
}

TEST_CASE("unscale: variants give what the reference gives") {
  for (const Dtype dtype : kDtypes) {
    for (const int64_t n : kSizes) {
      Numbers x(dtype, n);
      x.fill_normal(0, 1, static_cast<unsigned>(n));
      check_variants(x, 1 / 65536.f);
      check_variants(x, 0.3f);  // no power of two: a product is rounded
    }
    check_variants(Numbers(dtype, 0), 1);
  }
}

TEST_CASE("unscale: every Half and BFloat16 there is") {
  for (const Dtype dtype : {Dtype::kHalf, Dtype::kBFloat16}) {
    Numbers x(dtype, 0x10000);
    for (unsigned bits = 0; bits < 0x10000; ++bits)
      static_cast<uint16_t*>(x.data())[bits] = static_cast<uint16_t>(bits);
    check_variants(x, 0.5f);
  }
}

TEST_CASE("unscale: the sum is finite exactly when all numbers are, wherever the bad one is") {
  for (const Dtype dtype : kDtypes) {
    for (const int64_t n : {1, 16, 17, 40}) {
      for (int64_t i = 0; i < n; ++i) {
        for (const float bad : {NAN, INFINITY, -INFINITY}) {
          Numbers x(dtype, n, 1);
          x.set(i, bad);
          check_variants(x, 1);
          CHECK_FALSE(std::isfinite(run(unscale_ref, x, 1).sum));
        }
      }
    }
  }
  // What squared would be infinite or 0 in Float.
  for (const float edge : {3e38f, 1e-30f, 0x1p-149f}) {
    const Numbers x(Dtype::kFloat, 40, edge);
    check_variants(x, 1);
    CHECK(run(unscale_ref, x, 1).sum == Approx(40.0 * edge * edge).epsilon(1e-12).margin(0));
  }
  // Finite as it came, infinite unscaled.
  check_variants(Numbers(Dtype::kFloat, 40, 3e38f), 4);
  CHECK_FALSE(std::isfinite(run(unscale_ref, Numbers(Dtype::kFloat, 40, 3e38f), 4).sum));
}

TEST_CASE("unscale: the least Half keeps its value in Float") {
  const Unscaled found = run(unscale_ref, Numbers(Dtype::kHalf, 3, 0x1p-24f), 0x1p-16f);
  CHECK(found.y[0] == 0x1p-40f);
  CHECK(found.sum == 3 * 0x1p-80);
}

TEST_CASE("unscale: in place, and nothing beside the numbers is written") {
  Numbers x(Dtype::kFloat, 21);
  x.fill_normal(0, 1, 3);
  const Numbers before = x;
  double sum = 0;
  unscale({20, x.input(), 0.5f, x.floats(), &sum});
  for (int64_t i = 0; i < 20; ++i) CHECK(x[i] == before[i] / 2);
  CHECK(x[20] == before[20]);
}

TEST_CASE("unscale: arguments it cannot use") {
  using Catch::Matchers::Contains;
  double sum = 7;
  CHECK_THROWS_WITH(unscale({-1, {}, 1, nullptr, &sum}),
                    Contains("unscale: expected n of 0 or more"));
  CHECK_THROWS_WITH(unscale({1, {}, 1, nullptr, &sum}), Contains("unscale: x is null"));
  CHECK_THROWS_WITH(unscale({0, {}, 1, nullptr, nullptr}),
                    Contains("unscale: expected a place for the sum"));
  unscale({0, {}, 1, nullptr, &sum});
  CHECK(sum == 0);
}

}  // namespace dtypecheck::kernels
