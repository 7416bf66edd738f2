// Products of matrices: each variant beside the reference, which is the formula in double.
#include "kernels/matmul/matmul.h"

#include <array>

#include "kernels/threads.h"
#include "tests/kernels/numbers.h"

namespace dtypecheck::kernels {

struct MatmulCase {
  MatmulCase(int64_t batch, int64_t rows, int64_t cols, int64_t inner, Dtype of_a, Dtype of_b,
             Dtype of_y)
      : a(of_a, batch * rows * inner),
        b(of_b, batch * inner * cols),
        bias(of_b, cols),
        y(of_y, batch * rows * cols, NAN) {
    a.fill_normal(0.1f, 1, 1);
    b.fill_normal(-0.1f, 1, 2);
    bias.fill_normal(0, 3, 3);
    m.batch = batch;
    m.rows = rows;
    m.cols = cols;
    m.inner = inner;
    m.y_row_stride = cols;
    m.y_batch_stride = rows * cols;
    m.a = row_major({}, inner, rows * inner);
    m.b = row_major({}, cols, inner * cols);
  }
  // Of one product: a is rows x inner, or is kept as inner x rows; b likewise.
  void transpose_a() { m.a = Matrix{{}, 1, m.rows, m.rows * m.inner}; }
  void transpose_b() { m.b = Matrix{{}, 1, m.inner, m.inner * m.cols}; }
  Matmul arguments() {
    Matmul result = m;
    result.a.numbers = a.input();
    result.b.numbers = b.input();
    result.bias = bias.input();
    result.y = y.output();
    return result;
  }
  // The sum of |a b| and |bias| for each y, and y without rounding.
  std::vector<double> exact, magnitude;
  void solve() {
    for (int64_t i = 0; i < m.batch * m.rows * m.cols; ++i) {
      const int64_t n = i / (m.rows * m.cols), r = i / m.cols % m.rows, c = i % m.cols;
      double sum = bias[c], size = std::fabs(sum);
      for (int64_t k = 0; k < m.inner; ++k) {
        const double product =
            double{a[n * m.a.batch_stride + r * m.a.row_stride + k * m.a.col_stride]} *
            b[n * m.b.batch_stride + k * m.b.row_stride + c * m.b.col_stride];
        sum += product;
        size += std::fabs(product);
      }
      exact.push_back(sum);
      magnitude.push_back(size);
    }
  }
  void check(double of_products) const {
    for (int64_t i = 0; i < y.size(); ++i) {
      const size_t j = static_cast<size_t>(i);
      const double allowed = of_products * magnitude[j] + 2 * rounding_of(y.dtype(), exact[j]);
      if (std::fabs(y[i] - exact[j]) <= allowed) continue;
      FAIL_CHECK("number " << i << " of " << m.batch << " x " << m.rows << " x " << m.cols
                           << " over " << m.inner << ": " << y[i] << ", expected " << exact[j]
                           << " within " << allowed);
      return;
    }
  }

  Matmul m;
  Numbers a, b, bias, y;
};

// Each factor may be off by half a step of BFloat16.
static double of_products(const Matmul& m) {
  const bool rounds = m.compute == Compute::kBFloat16;
  return matmul_tolerance(m.inner) + (rounds ? 2 * 0x1p-9 + 0x1p-17 : 0);
}

static void check_variants(MatmulCase c) {
  c.solve();
  MatmulCase expected = c;
  matmul_ref(expected.arguments());
  expected.check(0x1p-50);
  with_each_variant<Matmul>(matmul_variants(), c.arguments(), [&](auto variant) {
    MatmulCase found = c;
    variant(found.arguments());
    found.check(of_products(c.m));
  });
}

TEST_CASE("matmul: variants give what the reference gives, of each three dtypes") {
  for (const Dtype a : kDtypes)
    for (const Dtype b : kDtypes)
      for (const Dtype y : kDtypes)
        for (const Compute compute : {Compute::kFloat, Compute::kBFloat16}) {
          MatmulCase c(2, 17, 35, 41, a, b, y);
          c.m.compute = compute;
          check_variants(c);
        }
}

TEST_CASE("matmul: sizes beside the tile, the vector and the block") {
  for (const int64_t rows : {1, 2, 4, 5, 6, 7, 8, 13, 14, 15, 29}) {
    for (const int64_t cols : {1, 7, 8, 15, 16, 17, 31, 32, 33, 49})
      check_variants(MatmulCase(1, rows, cols, 19, Dtype::kFloat, Dtype::kHalf, Dtype::kFloat));
  }
  for (const int64_t inner : {1, 2, 15, 16, 17, 31, 32, 33, 383, 384, 385, 767, 768, 769, 1600}) {
    for (const Compute compute : {Compute::kFloat, Compute::kBFloat16}) {
      MatmulCase c(1, 5, 18, inner, Dtype::kHalf, Dtype::kHalf, Dtype::kHalf);
      c.m.compute = compute;
      check_variants(c);
    }
  }
  check_variants(MatmulCase(1, 1030, 20, 400, Dtype::kBFloat16, Dtype::kHalf, Dtype::kFloat));
  check_variants(MatmulCase(1, 20, 1100, 400, Dtype::kFloat, Dtype::kHalf, Dtype::kBFloat16));
  check_variants(MatmulCase(1, 1030, 20, 800, Dtype::kBFloat16, Dtype::kBFloat16, Dtype::kHalf));
  // Two blocks of rows, with columns packed once and, over a deep inner dimension, twice.
  check_variants(MatmulCase(1, 1530, 3, 20, Dtype::kHalf, Dtype::kHalf, Dtype::kFloat));
  check_variants(MatmulCase(1, 1530, 3, 2400, Dtype::kHalf, Dtype::kFloat, Dtype::kFloat));
  check_variants(MatmulCase(1, 18, 3, 4800, Dtype::kBFloat16, Dtype::kBFloat16, Dtype::kFloat));
}

TEST_CASE("matmul: few rows, whose weights are read as they lie") {
  for (const Dtype dtype : kDtypes) {
    for (const Compute compute : {Compute::kFloat, Compute::kBFloat16}) {
      for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 16, 17}) {
        for (const int64_t cols : {1, 2, 3, 4, 5, 63, 64, 65, 131}) {
          MatmulCase c(2, rows, cols, 21, Dtype::kHalf, dtype, Dtype::kHalf);
          c.transpose_b();
          c.m.compute = compute;
          check_variants(c);
        }
      }
      for (const int64_t inner : {1, 15, 16, 17, 31, 32, 33, 63, 65, 1280}) {
        MatmulCase c(1, 6, 9, inner, dtype, Dtype::kHalf, Dtype::kFloat);
        c.transpose_b();
        c.m.compute = compute;
        check_variants(c);
      }
      // What the one before left behind its rows is not read by the next, whose rows lie apart.
      MatmulCase before(1, 1, 9, 64, dtype, Dtype::kHalf, Dtype::kFloat);
      before.transpose_b();
      before.m.compute = compute;
      before.a.fill([](int64_t) { return NAN; });
      matmul(before.arguments());
      MatmulCase apart(1, 1, 9, 5, dtype, Dtype::kHalf, Dtype::kFloat);
      apart.transpose_b();
      apart.m.compute = compute;
      apart.a = Numbers(dtype, 20);
      apart.a.fill_normal(0, 1, 1);
      apart.m.a.col_stride = 3;
      apart.m.a.row_stride = 20;
      check_variants(apart);
    }
  }
}

TEST_CASE("matmul: either factor transposed, rows apart, broadcast, without bias") {
  for (const Dtype dtype : kDtypes) {
    for (const Compute compute : {Compute::kFloat, Compute::kBFloat16}) {
      for (int which = 0; which < 4; ++which) {
        MatmulCase c(2, 21, 40, 37, dtype, dtype, Dtype::kFloat);
        c.m.compute = compute;
        if (which & 1) c.transpose_a();
        if (which & 2) c.transpose_b();
        check_variants(c);
      }
      MatmulCase apart(1, 9, 12, 5, dtype, dtype, dtype);
      apart.a = Numbers(dtype, 9 * 20);
      apart.a.fill_normal(0, 1, 1);
      apart.m.a.row_stride = 20;
      apart.m.a.col_stride = 3;
      check_variants(apart);
      MatmulCase shared(3, 9, 12, 5, dtype, dtype, dtype);
      shared.m.b.batch_stride = 0;
      shared.bias.fill([](int64_t) { return 0.f; });
      check_variants(shared);
      shared.solve();
      const auto compute_y = [&](MatmulCase s, Input bias) {
        Matmul m = s.arguments();
        m.bias = bias;
        matmul(m);
        return s.y;
      };
      check_same(compute_y(shared, {}), compute_y(shared, shared.bias.input()));
    }
  }
}

TEST_CASE("matmul: y's rows may be apart, and what is between them stays") {
  MatmulCase c(1, 3, 5, 4, Dtype::kHalf, Dtype::kFloat, Dtype::kHalf);
  c.solve();
  Numbers y(Dtype::kHalf, 3 * 8, 7);
  Matmul m = c.arguments();
  m.y = y.output();
  m.y_row_stride = 8;
  matmul(m);
  for (int64_t i = 0; i < 24; ++i) {
    if (i % 8 >= 5) CHECK(y[i] == 7);
    if (i % 8 < 5) CHECK(std::fabs(y[i] - c.exact[static_cast<size_t>(i / 8 * 5 + i % 8)]) < 0.02);
  }
}

TEST_CASE("matmul: nothing to add up is the bias, and nothing at all is nothing") {
  for (const Compute compute : {Compute::kFloat, Compute::kBFloat16}) {
    MatmulCase c(1, 3, 5, 0, Dtype::kHalf, Dtype::kHalf, Dtype::kHalf);
    c.m.compute = compute;
    check_variants(c);
    for (const auto& [batch, rows, cols] :
         {std::array<int64_t, 3>{0, 2, 2}, {1, 0, 2}, {1, 2, 0}}) {
      MatmulCase none(batch, rows, cols, 3, Dtype::kHalf, Dtype::kHalf, Dtype::kHalf);
      none.m.compute = compute;
      CHECK_NOTHROW(matmul(none.arguments()));
    }
  }
}

TEST_CASE("matmul: NaN and inf go to their row and no other; 65504 and what Half cannot hold") {
  for (const Dtype dtype : kDtypes) {
    for (const float bad : {NAN, INFINITY}) {
      MatmulCase c(1, 20, 33, 17, dtype, dtype, Dtype::kHalf);
      c.a.set(17 * 7 + 3, bad);
      with_each_variant<Matmul>(matmul_variants(), c.arguments(), [&](auto variant) {
        variant(c.arguments());
        for (int64_t i = 0; i < c.y.size(); ++i)
          if (std::isfinite(c.y[i]) != (i / 33 != 7)) FAIL("number " << i << ": " << c.y[i]);
      });
    }
  }
  // Sums are in Float: past 65504 on the way, not at the end; and past it at the end.
  MatmulCase c(1, 1, 2, 4, Dtype::kHalf, Dtype::kHalf, Dtype::kHalf);
  const float left[] = {60000, 60000, -60000, -60000 + 32};
  c.a.fill([&](int64_t i) { return left[i]; });
  c.b.fill([](int64_t i) { return i % 2 ? (i < 4 ? 1.f : 0.f) : 1.f; });
  c.bias.fill([](int64_t) { return 0.f; });
  with_each_variant<Matmul>(matmul_variants(), c.arguments(), [&](auto variant) {
    variant(c.arguments());
    CHECK(c.y[0] == 32);
    CHECK(c.y[1] == INFINITY);
  });
  // The smallest Half is a number yet, in either arithmetic.
  for (const Compute compute : {Compute::kFloat, Compute::kBFloat16}) {
    MatmulCase tiny(1, 1, 1, 1, Dtype::kHalf, Dtype::kHalf, Dtype::kFloat);
    tiny.m.compute = compute;
    tiny.a.set(0, 0x1p-24f);
    tiny.b.set(0, 0x1p-24f);
    tiny.bias.set(0, 0);
    matmul(tiny.arguments());
    CHECK(tiny.y[0] == 0x1p-48f);
  }
}

static void backwards(int64_t parts, Part part, void* context) {
  for (int64_t i = parts - 1; i >= 0; --i) part(context, i);
}

TEST_CASE("matmul: the same bits on any threads, in any order") {
  for (const Compute compute : {Compute::kFloat, Compute::kBFloat16}) {
    for (const int64_t batch : {1, 9}) {
      MatmulCase c(batch, 300, 600, 900 / batch, Dtype::kHalf, Dtype::kHalf, Dtype::kFloat);
      c.m.compute = compute;
      MatmulCase expected = c, again = c, other = c;
      set_parallel_for(in_order);
      matmul(expected.arguments());
      set_parallel_for(nullptr);
      matmul(again.arguments());
      set_parallel_for(backwards);
      matmul(other.arguments());
      set_parallel_for(nullptr);
      check_same(again.y, expected.y);
      check_same(other.y, expected.y);
    }
  }
}

TEST_CASE("matmul: arguments it cannot use") {
  using Catch::Matchers::Contains;
  const auto message = [](const std::function<void(Matmul&)>& spoil) {
    MatmulCase c(1, 2, 3, 4, Dtype::kHalf, Dtype::kFloat, Dtype::kHalf);
    Matmul m = c.arguments();
    spoil(m);
    try {
      matmul(m);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(message([](Matmul&) {}) == "none");
  CHECK_THAT(message([](Matmul& m) { m.inner = -1; }), Contains("inner of 0 or more"));
  CHECK_THAT(message([](Matmul& m) { m.a.numbers.data = nullptr; }), Contains("a is null"));
  CHECK_THAT(message([](Matmul& m) { m.b.numbers.dtype = Dtype::kLong; }), Contains("b is Long"));
  CHECK_THAT(message([](Matmul& m) { m.bias.dtype = Dtype::kDouble; }), Contains("bias is Double"));
  CHECK_THAT(message([](Matmul& m) { m.y_row_stride = 2; }), Contains("rows of y"));
}

}  // namespace dtypecheck::kernels
