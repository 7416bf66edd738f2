#include "kernels/adamw/adamw.h"

#include "kernels/adamw/random_bits.h"
#include "tests/kernels/numbers.h"

namespace dtypecheck::kernels {

// A tensor and its optimizer state, stepped by one variant.
struct Trained {
  Trained(Dtype weight_dtype, Dtype gradient_dtype, int64_t n, bool with_master)
      : weight(weight_dtype, n),
        gradient(gradient_dtype, n),
        master(Dtype::kFloat, n),
        mean(Dtype::kFloat, n),
        square(Dtype::kFloat, n),
        has_master(with_master) {
    master.fill_normal(0, 0.1f, 1);
    weight.fill([&](int64_t i) { return master[i]; });
  }

  AdamW arguments() {
    AdamW a;
    a.n = weight.size();
    a.weight = weight.output();
    a.master = has_master ? master.floats() : nullptr;
    a.gradient = gradient.input();
    a.mean = mean.floats();
    a.square = square.floats();
    return a;
  }
  // Three steps with other gradients; change(arguments) before each.
  template <class Change>
  void train(void (*variant)(const AdamW&), Change change) {
    for (int64_t step = 1; step <= 3; ++step) {
      gradient.fill_normal(0, 1, static_cast<unsigned>(step));
      AdamW a = arguments();
      a.step = step;
      change(a);
      variant(a);
    }
  }

  Numbers weight, gradient, master, mean, square;
  bool has_master;
};

static void check_same(const Trained& found, const Trained& expected) {
  check_same(found.weight, expected.weight);
  check_same(found.master, expected.master);
  check_same(found.mean, expected.mean);
  check_same(found.square, expected.square);
}

template <class Change>
static void check_variants(const Trained& start, Change change) {
  Trained expected = start;
  expected.train(adamw_ref, change);
  with_each_variant<AdamW>(adamw_variants(), {}, [&](auto variant) {
    INFO(dtype_name(start.weight.dtype()) << " by " << dtype_name(start.gradient.dtype()) << ", "
                                          << start.weight.size() << " numbers");
    Trained found = start;
    found.train(variant, change);
    check_same(found, expected);
  });
}

TEST_CASE("adamw: variants give the bits of the reference") {
  for (const Dtype weight : kDtypes) {
    for (const Dtype gradient : kDtypes) {
      for (const int64_t n : {0, 1, 7, 8, 9, 16, 17, 33, 320, 1283}) {
        for (const bool with_master : {true, false}) {
          check_variants(Trained(weight, gradient, n, with_master),
                         [](AdamW& a) { a.scale = 0.3f; });
        }
      }
    }
  }
}

TEST_CASE("adamw: variants agree on what is not finite, huge and tiny") {
  for (const Dtype weight : kDtypes) {
    const float edges[] = {NAN,    INFINITY, -INFINITY, 0.f,    -0.f,  3e38f,
                           -3e38f, 65519.f,  65520.f,   1e-40f, 6e-8f, 1e-30f};
    Trained start(weight, Dtype::kFloat, 37, /*with_master=*/true);
    for (int64_t i = 0; i < 12; ++i) start.master.set(3 * i, edges[i]);
    for (int64_t i = 0; i < 12; ++i) start.square.set(2 * i + 13, std::fabs(edges[i]));
    check_variants(start, [](AdamW& a) { a.scale = 1e20f; });
    check_variants(start, [](AdamW& a) { a.scale = 1e-30f; });
  }
}

TEST_CASE("adamw: variants round as the reference does between any two numbers") {
  for (const Dtype dtype : {Dtype::kHalf, Dtype::kBFloat16}) {
    Trained start(dtype, Dtype::kFloat, 3 * 0x10000, /*with_master=*/true);
    Numbers number(dtype, 2);
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      auto* const pair = static_cast<uint16_t*>(number.data());
      pair[0] = static_cast<uint16_t>(bits);
      pair[1] = static_cast<uint16_t>(bits + 1);
      const float middle = static_cast<float>((double{number[0]} + number[1]) / 2);
      start.master.set(3 * bits, middle);
      start.master.set(3 * bits + 1, std::nextafter(middle, INFINITY));
      start.master.set(3 * bits + 2, std::nextafter(middle, -INFINITY));
    }
    check_variants(start, [](AdamW& a) { a.rate = a.decay = 0; });
  }
}

TEST_CASE("adamw: the reference is the published formula, rounded once") {
  for (const Dtype dtype : kDtypes) {
    Trained found(dtype, dtype, 50, /*with_master=*/true);
    std::vector<double> weight = doubles(found.master), mean(50), square(50);
    AdamW last;
    found.train(adamw_ref, [&](AdamW& a) {
      a.scale = 0.25f;
      a.rate = 0.01;
      a.decay = 0.1;
      a.eps = 1e-3;
      last = a;
      for (int64_t i = 0; i < 50; ++i) {
        const size_t j = static_cast<size_t>(i);
        const double g = 0.25 * load(a.gradient, i), step = static_cast<double>(a.step);
        mean[j] = 0.9 * mean[j] + 0.1 * g;
        square[j] = 0.999 * square[j] + 0.001 * g * g;
        const double mean_hat = mean[j] / (1 - std::pow(0.9, step));
        const double square_hat = square[j] / (1 - std::pow(0.999, step));
        weight[j] -= 0.01 * 0.1 * weight[j];
        weight[j] -= 0.01 * mean_hat / (std::sqrt(square_hat) + 1e-3);
      }
    });
    check_near(found.master, weight, 3e-8);
    check_near(found.mean, mean, 3e-8);
    check_near(found.square, square, 1e-9);
    Numbers rounded(dtype, 50);
    rounded.fill([&](int64_t i) { return found.master[i]; });
    check_same(found.weight, rounded);
  }
}

TEST_CASE("adamw: without a master the weight itself is stepped") {
  Trained with(Dtype::kFloat, Dtype::kHalf, 40, true),
      without(Dtype::kFloat, Dtype::kHalf, 40, false);
  with.train(adamw_ref, [](AdamW&) {});
  without.train(adamw_ref, [](AdamW&) {});
  check_same(with.weight, without.weight);
}

static double mean_after_small_steps(Rounding rounding, uint64_t seed) {
  Trained t(Dtype::kBFloat16, Dtype::kFloat, 4096, false);
  t.weight.fill([](int64_t) { return 1.f; });
  t.gradient.fill([](int64_t) { return 1.f; });
  for (int64_t step = 1; step <= 100; ++step) {
    AdamW a = t.arguments();
    a.step = step;
    a.decay = 0;
    a.rounding = rounding;
    a.seed = seed;
    adamw(a);
  }
  double sum = 0;
  for (int64_t i = 0; i < 4096; ++i) sum += t.weight[i];
  return sum / 4096;
}

TEST_CASE("adamw: stochastic rounding keeps the steps that rounding to nearest loses") {
  CHECK(mean_after_small_steps(Rounding::kNearest, 0) == 1);
  // 100 steps of 1e-4 below 1, where BFloat16's are 2^-8: the mean of 4096 strays by 1e-4 (one
  // sigma).
  for (const uint64_t seed : {0, 1, 2}) {
    CHECK(mean_after_small_steps(Rounding::kStochastic, seed) == Approx(0.99).margin(5e-4));
  }
}

static void stochastic(AdamW& a) {
  a.rounding = Rounding::kStochastic;
  a.seed = 0x123456789abcdef0;
  a.rate = 1e-3;
}

TEST_CASE("adamw: variants round stochastically to the same bits") {
  for (const Dtype gradient : kDtypes) {
    for (const int64_t n : {1, 8, 15, 16, 17, 33, 1283}) {
      const Trained start(Dtype::kBFloat16, gradient, n, false);
      check_variants(start, stochastic);
      // The keys change at 2^32, within a vector.
      check_variants(start, [](AdamW& a) { stochastic(a), a.first = (int64_t{1} << 32) - 5; });
      check_variants(start,
                     [](AdamW& a) { stochastic(a), a.first = (int64_t{3} << 32) - a.n + 1; });
    }
  }
  Trained start(Dtype::kBFloat16, Dtype::kFloat, 37, false);
  const float edges[] = {NAN, INFINITY, -INFINITY, 3.38e38f, -3.38e38f, 0.f, 1e-40f};
  for (int64_t i = 0; i < 7; ++i) start.weight.set(5 * i, edges[i]);
  check_variants(start, stochastic);
}

TEST_CASE("adamw: a NaN of ones, to which nothing can be added, stays a NaN") {
  Trained t(Dtype::kBFloat16, Dtype::kFloat, 20, false);
  const float nan = std::bit_cast<float>(0x7fffffffu);
  t.mean.fill([&](int64_t) { return nan; });
  t.train(adamw, stochastic);
  for (int64_t i = 0; i < 20; ++i) CHECK(std::isnan(t.weight[i]));
}

TEST_CASE("adamw: a step split in two is the same step") {
  Trained whole(Dtype::kBFloat16, Dtype::kHalf, 1000, false), split = whole;
  whole.train(adamw, stochastic);
  for (int64_t step = 1; step <= 3; ++step) {
    split.gradient.fill_normal(0, 1, static_cast<unsigned>(step));
    for (const auto& [from, to] : {std::pair<int64_t, int64_t>{0, 333}, {333, 1000}}) {
      AdamW a = split.arguments();
      stochastic(a);
      a.step = step;
      a.n = to - from;
      a.first = from;
      a.weight.data = static_cast<uint16_t*>(a.weight.data) + from;
      a.gradient.data = static_cast<const uint16_t*>(a.gradient.data) + from;
      a.mean += from;
      a.square += from;
      adamw(a);
    }
  }
  check_same(split, whole);
}

TEST_CASE("adamw: random bits are even, and differ with seed, step and number") {
  const int n = 1 << 16;
  std::vector<int> ones(32), both(32);
  const uint64_t key = random_key(1, 1, 0);
  for (const uint64_t other :
       {random_key(2, 1, 0), random_key(1, 2, 0), random_key(1, 1, 1), key}) {
    for (int bit = 0; bit < 32; ++bit) ones[bit] = both[bit] = 0;
    for (int i = 0; i < n; ++i) {
      const uint32_t bits = random_bits(key, static_cast<uint32_t>(i));
      const uint32_t beside = random_bits(other, static_cast<uint32_t>(other == key ? i + 1 : i));
      for (int bit = 0; bit < 32; ++bit) {
        ones[bit] += bits >> bit & 1;
        both[bit] += (bits ^ beside) >> bit & 1;
      }
    }
    for (int bit = 0; bit < 32; ++bit) {  // sigma is 128
      CHECK(std::abs(ones[bit] - n / 2) < 5 * 128);
      CHECK(std::abs(both[bit] - n / 2) < 5 * 128);
    }
  }
}

TEST_CASE("adamw: arguments it cannot use") {
  using Catch::Matchers::Contains;
  const auto message = [](const std::function<void(AdamW&)>& spoil) {
    Trained t(Dtype::kHalf, Dtype::kHalf, 4, true);
    AdamW a = t.arguments();
    spoil(a);
    try {
      adamw(a);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(message([](AdamW&) {}) == "none");
  CHECK_THAT(message([](AdamW& a) { a.n = -1; }), Contains("n and first of 0 or more"));
  CHECK_THAT(message([](AdamW& a) { a.first = INT64_MAX; }), Contains("n and first"));
  CHECK_THAT(message([](AdamW& a) { a.step = 0; }), Contains("a step of 1 or more"));
  CHECK_THAT(message([](AdamW& a) { a.beta2 = 1; }), Contains("beta1 and beta2"));
  CHECK_THAT(message([](AdamW& a) { a.beta1 = NAN; }), Contains("beta1 and beta2"));
  CHECK_THAT(message([](AdamW& a) { a.rate = NAN; }), Contains("a finite rate"));
  CHECK_THAT(message([](AdamW& a) { a.eps = 1e-46; }), Contains("an eps above 0 in Float"));
  CHECK_THAT(message([](AdamW& a) { a.mean = nullptr; }), Contains("mean is null"));
  CHECK_THAT(message([](AdamW& a) { a.gradient.dtype = Dtype::kDouble; }),
             Contains("gradient is Double"));
  CHECK_THAT(message([](AdamW& a) { a.rounding = Rounding::kStochastic; }),
             Contains("a BFloat16 weight without master"));
}

}  // namespace dtypecheck::kernels
