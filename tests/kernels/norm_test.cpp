// The three norms, which are one formula: a layer norm is a group norm of one group and one place,
// an RMS norm is one without mean and beta. So one set of checks is for all, and for group norms
// with channels last and with SiLU.
#include "kernels/threads.h"
#include "tests/kernels/norm_numbers.h"

namespace dtypecheck::kernels {

struct Shape {
  int64_t samples, channels, spatial, groups;
  // Of number i.
  int64_t channel(int64_t i, bool channels_last) const {
    return channels_last ? i % channels : i / spatial % channels;
  }
  int64_t group(int64_t i, bool channels_last) const {
    return i / (channels * spatial) * groups + channel(i, channels_last) / (channels / groups);
  }
  int64_t size() const { return samples * channels * spatial; }
  int64_t group_size() const { return channels / groups * spatial; }
};

struct NormCase : NormNumbers {
  NormCase(const Shape& s, Dtype of_x, Dtype of_weights, float mean_of_x = 0, float spread = 1)
      : NormNumbers(of_x, of_weights, s.size(), s.channels, s.samples * s.groups), shape(s) {
    fill(mean_of_x, spread, 0.5f, 0.3f);
  }
  Shape shape;
  double eps = 1e-5;
};

template <bool kWithMean>
struct RowKernel {
  static constexpr bool kCentered = kWithMean, kGroups = false, kSilu = false;
  static constexpr bool kChannelsLast = false;
  using Forward = LayerNorm;
  using Backward = LayerNormBackward;
  static Forward forward(NormCase& c) {
    const Shape& s = c.shape;
    return kWithMean ? c.layer_norm(s.samples, s.channels, c.eps)
                     : c.rms_norm(s.samples, s.channels, c.eps);
  }
  static Backward backward(NormCase& c) {
    const Shape& s = c.shape;
    return kWithMean ? c.layer_norm_backward(s.samples, s.channels)
                     : c.rms_norm_backward(s.samples, s.channels);
  }
  static auto forward_variants() { return layer_norm_variants(); }
  static auto backward_variants() { return layer_norm_backward_variants(); }
  static void checked(const Forward& a) { layer_norm(a); }
  static void checked(const Backward& a) { layer_norm_backward(a); }
  static void reference(const Forward& a) { layer_norm_ref(a); }
  static void reference(const Backward& a) { layer_norm_backward_ref(a); }
  static void leave_out_weights(Forward& f, Backward& b) { f.gamma = f.beta = b.gamma = {}; }
};
using RmsKernel = RowKernel<false>;
using LayerKernel = RowKernel<true>;

template <Layout kLayout, bool kWithSilu>
struct AnyGroupKernel {
  static constexpr bool kCentered = true, kGroups = true, kSilu = kWithSilu;
  static constexpr bool kChannelsLast = kLayout == Layout::kChannelsLast;
  using Forward = GroupNorm;
  using Backward = GroupNormBackward;
  static Forward forward(NormCase& c) {
    const Shape& s = c.shape;
    return c.group_norm(s.samples, s.channels, s.spatial, s.groups, c.eps, kLayout, kSilu);
  }
  static Backward backward(NormCase& c) {
    const Shape& s = c.shape;
    return c.group_norm_backward(s.samples, s.channels, s.spatial, s.groups, kLayout, kSilu);
  }
  static auto forward_variants() { return group_norm_variants(); }
  static auto backward_variants() { return group_norm_backward_variants(); }
  static void checked(const Forward& a) { group_norm(a); }
  static void checked(const Backward& a) { group_norm_backward(a); }
  static void reference(const Forward& a) { group_norm_ref(a); }
  static void reference(const Backward& a) { group_norm_backward_ref(a); }
  static void leave_out_weights(Forward& f, Backward& b) {
    f.gamma = f.beta = b.gamma = b.beta = {};
  }
};
using GroupKernel = AnyGroupKernel<Layout::kChannelsFirst, false>;
using GroupSiluKernel = AnyGroupKernel<Layout::kChannelsFirst, true>;
using GroupLastKernel = AnyGroupKernel<Layout::kChannelsLast, false>;
using GroupLastSiluKernel = AnyGroupKernel<Layout::kChannelsLast, true>;

template <class Kernel>
static std::vector<Shape> shapes() {
  std::vector<Shape> result;
  if (Kernel::kGroups) {
    for (const int64_t spatial : kSizes) result.push_back({2, 4, spatial, 2});
    for (const Shape& s : {Shape{1, 6, 1, 3},
                           {3, 32, 9, 32},
                           {2, 10, 5, 1},
                           {0, 4, 4, 2},
                           {2, 68, 130, 4},
                           {1, 35, 33, 7}})
      result.push_back(s);
  } else {
    for (const int64_t cols : kSizes) result.push_back({3, cols, 1, 1});
    for (const Shape& s : {Shape{130, 17, 1, 1}, {64, 8, 1, 1}, {0, 9, 1, 1}}) result.push_back(s);
  }
  return result;
}

// The digits that arithmetic in Float may cost numbers of about 1, and those that a Float mean
// costs z.
static double tolerance(float mean, float spread) {
  return 4e-6 + 4 * 0x1p-24 * std::fabs(mean) / spread;
}

// A sum of so many such numbers.
static double sum_tolerance(const Shape& s, double each) {
  return each * (4 + 0.05 * static_cast<double>(s.samples * s.spatial));
}

static double largest(const Numbers& numbers) {
  double most = 0;
  for (const double x : doubles(numbers)) {
    if (std::isfinite(x)) most = std::max(most, std::fabs(x));
  }
  return most;
}

template <class Kernel>
static void check_variants(NormCase given, float mean, float spread) {
  const double allowed = tolerance(mean, spread);
  NormCase expected = given;
  Kernel::reference(Kernel::forward(expected));
  INFO(given.shape.samples << " x " << given.shape.channels << " x " << given.shape.spatial
                           << " in " << given.shape.groups << ", " << dtype_name(given.x.dtype())
                           << " by " << dtype_name(given.gamma.dtype()) << ", mean " << mean
                           << ", spread " << spread);
  const auto forward = [&](auto variant) {
    NormCase found = given;
    variant(Kernel::forward(found));
    check_near(found.y, doubles(expected.y), allowed);
    check_near(found.rstd, doubles(expected.rstd), 1e-6 * largest(expected.rstd));
    if (Kernel::kCentered) check_near(found.mean, doubles(expected.mean), 4 * 0x1p-24 * spread);
  };
  with_each_variant<typename Kernel::Forward>(Kernel::forward_variants(), Kernel::forward(given),
                                              forward);
  Kernel::reference(Kernel::backward(expected));
  given.mean = expected.mean;
  given.rstd = expected.rstd;
  const auto backward = [&](auto variant) {
    NormCase found = given;
    variant(Kernel::backward(found));
    check_near(found.dx, doubles(expected.dx), allowed * largest(expected.rstd));
    check_near(found.dgamma, doubles(expected.dgamma), sum_tolerance(given.shape, allowed));
    check_near(found.dbeta, doubles(expected.dbeta), sum_tolerance(given.shape, allowed));
  };
  with_each_variant<typename Kernel::Backward>(Kernel::backward_variants(), Kernel::backward(given),
                                               backward);
}

TEMPLATE_TEST_CASE("norms: variants give what the reference gives", "", RmsKernel, LayerKernel,
                   GroupKernel, GroupSiluKernel, GroupLastKernel, GroupLastSiluKernel) {
  for (const Dtype x : kDtypes) {
    for (const Dtype weights : kDtypes) {
      for (const Shape& shape : shapes<TestType>()) {
        if (shape.size() > 10000 && weights != Dtype::kFloat) continue;  // to be quick
        check_variants<TestType>(NormCase(shape, x, weights), 0, 1);
      }
    }
  }
}

TEMPLATE_TEST_CASE("norms: a large mean, huge and tiny numbers", "", RmsKernel, LayerKernel,
                   GroupKernel, GroupSiluKernel, GroupLastKernel, GroupLastSiluKernel) {
  const Shape shape = TestType::kGroups ? Shape{2, 6, 17, 2} : Shape{5, 35, 1, 1};
  const Shape chunks = TestType::kGroups ? Shape{1, 4, 2500, 1} : Shape{2, 9001, 1, 1};
  for (const Shape& s : {shape, chunks}) {
    for (const float spread : {1e15f, 1e-3f, 1e-15f, 1e-40f}) {
      NormCase c(s, Dtype::kFloat, Dtype::kFloat, 0, spread);
      if (spread < 1e-3f) c.eps = 1e-12;
      // Where eps is the larger, z is small and the gradient is 1 / sqrt(eps).
      check_variants<TestType>(c, 0, std::max(spread, 1e-6f));
    }
    for (const Dtype x : kDtypes) {
      for (const float mean :
           {100.f, 13.f, 11.f, 3.f})  // about four spreads a sum of squares is enough
        check_variants<TestType>(NormCase(s, x, Dtype::kFloat, mean, 3), mean, 3);
    }
    NormCase tiny(s, Dtype::kBFloat16, Dtype::kFloat, 0, 0x1p-61f);  // squares that have few digits
    tiny.eps = 0x1p-200;
    check_variants<TestType>(tiny, 0, 0x1p-61f);
    check_variants<TestType>(NormCase(s, Dtype::kHalf, Dtype::kHalf, 60000, 1000), 60000, 1000);
    check_variants<TestType>(NormCase(s, Dtype::kHalf, Dtype::kHalf, 0, 0x1p-20f), 0, 1e-3f);
  }
}

TEMPLATE_TEST_CASE("norms: results that BFloat16 has as denormals only", "", RmsKernel, LayerKernel,
                   GroupKernel, GroupLastKernel) {
  NormCase c(TestType::kGroups ? Shape{2, 6, 170, 2} : Shape{3, 137, 1, 1}, Dtype::kBFloat16,
             Dtype::kFloat);
  c.gamma.fill([](int64_t) { return 0x1p-128f; });
  c.beta.fill([](int64_t) { return 0.f; });
  NormCase expected = c;
  TestType::reference(TestType::forward(expected));
  REQUIRE(largest(expected.y) > 0x1p-128);
  with_each_variant<typename TestType::Forward>(
      TestType::forward_variants(), TestType::forward(c), [&](auto variant) {
        NormCase found = c;
        variant(TestType::forward(found));
        for (int64_t i = 0; i < c.shape.size(); ++i) {
          if (std::fabs(found.y[i] - expected.y[i]) > 0x1p-132f)
            FAIL("number " << i << ": " << found.y[i] << " for " << expected.y[i]);
        }
      });
}

TEMPLATE_TEST_CASE("norms: long sums keep their digits", "", RmsKernel, LayerKernel, GroupKernel,
                   GroupSiluKernel, GroupLastKernel, GroupLastSiluKernel) {
  const Shape shape = TestType::kGroups ? Shape{1, 2, 100000, 1} : Shape{100000, 2, 1, 1};
  NormCase c(shape, Dtype::kFloat, Dtype::kFloat, 0.3f, 1);
  c.dy.fill([](int64_t) { return 1.1f; });
  c.eps = 1;
  NormCase expected = c;
  TestType::reference(TestType::forward(expected));
  TestType::reference(TestType::backward(expected));
  with_each_variant<typename TestType::Backward>(
      TestType::backward_variants(), {}, [&](auto variant) {
        NormCase found = expected;
        variant(TestType::backward(found));
        check_near(found.dgamma, doubles(expected.dgamma), 5e-6 * 1e5);
        check_near(found.dbeta, doubles(expected.dbeta), 5e-6 * 1e5);
      });
}

TEMPLATE_TEST_CASE("norms: a NaN or inf spoils its group and no other", "", RmsKernel, LayerKernel,
                   GroupKernel, GroupSiluKernel, GroupLastKernel, GroupLastSiluKernel) {
  const Shape shape = TestType::kGroups ? Shape{2, 4, 19, 2} : Shape{4, 19, 1, 1};
  for (const Dtype x : kDtypes) {
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      for (const int64_t at : {0, 15, 16, 18}) {  // in a whole vector, in the tail
        NormCase c(shape, x, Dtype::kFloat);
        const int64_t where = shape.group_size() + at;
        const int64_t spoilt_group = shape.group(where, TestType::kChannelsLast);
        c.x.set(where, bad);
        check_variants<TestType>(c, 0, 1);
        TestType::checked(TestType::forward(c));
        for (int64_t i = 0; i < shape.size(); ++i) {
          const bool spoilt = shape.group(i, TestType::kChannelsLast) == spoilt_group &&
                              (TestType::kCentered || std::isnan(bad) || i == where);
          if (std::isnan(c.y[i]) != spoilt)
            FAIL("number " << i << ": " << c.y[i] << ", bad is " << where);
        }
      }
    }
  }
}

// The formula in double, of numbers in double.
struct InDouble {
  InDouble(const NormCase& c, bool is_centered, bool with_silu, bool is_channels_last)
      : s(c.shape),
        eps(c.eps),
        centered(is_centered),
        silu(with_silu),
        channels_last(is_channels_last),
        x(doubles(c.x)),
        gamma(doubles(c.gamma)),
        beta(is_centered ? doubles(c.beta) : std::vector<double>(gamma.size())) {}

  std::vector<double> y() const {
    const size_t groups = static_cast<size_t>(s.samples * s.groups);
    const double n = static_cast<double>(s.group_size());
    std::vector<double> mean(groups), variance(groups), result;
    const auto group = [&](size_t i) {
      return static_cast<size_t>(s.group(static_cast<int64_t>(i), channels_last));
    };
    if (centered)
      for (size_t i = 0; i < x.size(); ++i) mean[group(i)] += x[i] / n;
    for (size_t i = 0; i < x.size(); ++i)
      variance[group(i)] += (x[i] - mean[group(i)]) * (x[i] - mean[group(i)]) / n;
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = static_cast<size_t>(s.channel(static_cast<int64_t>(i), channels_last));
      const double z = (x[i] - mean[group(i)]) / std::sqrt(variance[group(i)] + eps);
      const double norm = z * gamma[c] + beta[c];
      result.push_back(silu ? norm / (1 + std::exp(-norm)) : norm);
    }
    return result;
  }
  // Of sum(dy * y) by each of `of`, which is x, gamma or beta: by differences.
  std::vector<double> gradient(const Numbers& dy, std::vector<double> InDouble::* of) const {
    const auto loss = [&](size_t i, double step) {
      InDouble moved = *this;
      (moved.*of)[i] += step;
      double sum = 0;
      const std::vector<double> ys = moved.y();
      for (size_t j = 0; j < ys.size(); ++j) sum += ys[j] * dy[static_cast<int64_t>(j)];
      return sum;
    };
    std::vector<double> result;
    const double step = 1e-5;
    for (size_t i = 0; i < (this->*of).size(); ++i)
      result.push_back((loss(i, step) - loss(i, -step)) / (2 * step));
    return result;
  }

  Shape s;
  double eps;
  bool centered, silu, channels_last;
  std::vector<double> x, gamma, beta;
};

TEMPLATE_TEST_CASE("norms: the reference is the formula, and backward its derivative", "",
                   RmsKernel, LayerKernel, GroupKernel, GroupSiluKernel, GroupLastKernel,
                   GroupLastSiluKernel) {
  for (const Shape& s : TestType::kGroups
                            ? std::vector<Shape>{{2, 6, 3, 3}, {1, 4, 5, 1}, {2, 2, 1, 2}}
                            : std::vector<Shape>{{3, 7, 1, 1}, {1, 20, 1, 1}, {2, 1, 1, 1}}) {
    for (const Dtype x : kDtypes) {
      for (const Dtype weights : kDtypes) {
        NormCase c(s, x, weights, 2, 3);
        c.eps = 0.1;  // so that a wrong one shows
        const InDouble exact(c, TestType::kCentered, TestType::kSilu, TestType::kChannelsLast);
        TestType::reference(TestType::forward(c));
        check_near(c.y, exact.y(), 1e-6);
        TestType::reference(TestType::backward(c));
        check_near(c.dx, exact.gradient(c.dy, &InDouble::x), 2e-6);
        check_near(c.dgamma, exact.gradient(c.dy, &InDouble::gamma), 2e-6);
        if (TestType::kCentered) check_near(c.dbeta, exact.gradient(c.dy, &InDouble::beta), 2e-6);
      }
    }
  }
}

TEMPLATE_TEST_CASE("norms: in place, without weights, without what is not wanted", "", RmsKernel,
                   LayerKernel, GroupKernel) {
  const Shape shape = TestType::kGroups ? Shape{2, 4, 19, 2} : Shape{70, 37, 1, 1};
  NormCase start(shape, Dtype::kHalf, Dtype::kFloat), expected = start;
  TestType::reference(TestType::forward(expected));
  TestType::reference(TestType::backward(expected));
  const auto check = [&](auto run_forward, auto run_backward) {
    NormCase c = start;
    auto forward = TestType::forward(c);
    forward.y.data = c.x.data();
    run_forward(forward);
    check_near(c.x, doubles(expected.y), 4e-6);
    c.x = start.x;
    auto backward = TestType::backward(c);
    backward.dx.data = c.dy.data();
    run_backward(backward);
    check_near(c.dy, doubles(expected.dx), 4e-6);
    check_near(c.dgamma, doubles(expected.dgamma), sum_tolerance(shape, 4e-6));
    check_near(c.dbeta, doubles(expected.dbeta), sum_tolerance(shape, 4e-6));
  };
  check([](const auto& a) { TestType::checked(a); }, [](const auto& a) { TestType::checked(a); });
  check([](const auto& a) { TestType::reference(a); },
        [](const auto& a) { TestType::reference(a); });

  NormCase plain = start, without = start;
  plain.gamma.fill([](int64_t) { return 1.f; });
  plain.beta.fill([](int64_t) { return 0.f; });
  TestType::checked(TestType::forward(plain));
  TestType::checked(TestType::backward(plain));
  auto forward = TestType::forward(without);
  auto backward = TestType::backward(without);
  TestType::leave_out_weights(forward, backward);
  backward.dgamma.data = nullptr;
  TestType::checked(forward);
  TestType::checked(backward);
  check_same(without.y, plain.y);
  check_same(without.dx, plain.dx);
  check_same(without.dgamma, start.dgamma);  // not written
}

TEMPLATE_TEST_CASE("norms: of no rows the gradients of the weights are 0", "", RmsKernel,
                   LayerKernel, GroupKernel) {
  NormCase c({0, 6, 1, 1}, Dtype::kHalf, Dtype::kFloat);
  c.dgamma.fill([](int64_t) { return 7.f; });
  TestType::checked(TestType::forward(c));
  TestType::checked(TestType::backward(c));
  for (int64_t i = 0; i < 6; ++i) CHECK(c.dgamma[i] == 0);
}

template <class Kernel, class Spoil>
static std::string message_of(Spoil spoil) {
  NormCase c({2, 4, 1, 1}, Dtype::kHalf, Dtype::kFloat);
  auto forward = Kernel::forward(c);
  auto backward = Kernel::backward(c);
  spoil(forward, backward);
  try {
    Kernel::checked(forward);
    Kernel::checked(backward);
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEMPLATE_TEST_CASE("norms: arguments they cannot use", "", RmsKernel, LayerKernel, GroupKernel,
                   GroupSiluKernel, GroupLastKernel, GroupLastSiluKernel) {
  using Catch::Matchers::Contains;
  const auto message = [](auto spoil) { return message_of<TestType>(spoil); };
  CHECK(message([](auto&, auto&) {}) == "none");
  CHECK_THAT(message([](auto& f, auto&) { f.eps = -1; }), Contains("an eps of 0 or more"));
  CHECK_THAT(message([](auto& f, auto&) { f.eps = NAN; }), Contains("an eps of 0 or more"));
  CHECK_THAT(message([](auto& f, auto&) { f.x.data = nullptr; }), Contains("norm: x is null"));
  CHECK_THAT(message([](auto& f, auto&) { f.y.dtype = Dtype::kBFloat16; }),
             Contains("x and y are Half and BFloat16"));
  CHECK_THAT(message([](auto& f, auto&) { f.gamma.dtype = Dtype::kDouble; }),
             Contains("gamma is Double"));
  CHECK_THAT(message([](auto&, auto& b) { b.dy.dtype = Dtype::kBFloat16; }),
             Contains("norm_backward: x and dy are"));
  CHECK_THAT(message([](auto&, auto& b) { b.dx.dtype = Dtype::kBFloat16; }),
             Contains("x and dx are"));
  CHECK_THAT(message([](auto&, auto& b) { b.rstd = nullptr; }), Contains("rstd is null"));
  CHECK_THAT(message([](auto&, auto& b) { b.dgamma.dtype = Dtype::kInt; }),
             Contains("dgamma is Int"));
}

static void backwards(int64_t parts, Part part, void* context) {
  for (int64_t i = parts - 1; i >= 0; --i) part(context, i);
}

TEMPLATE_TEST_CASE("norms: the same bits on any threads", "", RmsKernel, LayerKernel, GroupKernel,
                   GroupSiluKernel, GroupLastKernel, GroupLastSiluKernel) {
  const Shape shape = TestType::kGroups ? Shape{2, 64, 1100, 4} : Shape{3000, 50, 1, 1};
  NormCase one(shape, Dtype::kHalf, Dtype::kFloat);
  const auto run = [](NormCase& c, ParallelFor threads) {
    set_parallel_for(threads);
    TestType::checked(TestType::forward(c));
    TestType::checked(TestType::backward(c));
    set_parallel_for(nullptr);
  };
  run(one, in_order);
  for (const ParallelFor threads : {ParallelFor{nullptr}, ParallelFor{backwards}}) {
    NormCase many = one;
    run(many, threads);
    check_same(many.y, one.y);
    check_same(many.dx, one.dx);
    check_same(many.dgamma, one.dgamma);
    check_same(many.dbeta, one.dbeta);
  }
}

TEST_CASE("norms: shapes they cannot use") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(layer_norm({1, 0}), Contains("cols of 1 or more"));
  CHECK_THROWS_WITH(layer_norm({-1, 1}), Contains("rows of 0 or more"));
  CHECK_THROWS_WITH(group_norm({1, 0, 1, 1}), Contains("channels and spatial of 1 or more"));
  CHECK_THROWS_WITH(group_norm({1, 6, 1, 4}), Contains("groups that divide the channels"));
  CHECK_THROWS_WITH(group_norm({1, 6, 1, 0}), Contains("groups that divide the channels"));
}

}  // namespace dtypecheck::kernels
