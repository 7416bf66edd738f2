// The grid that the processor plays, and what kernels for a GPU have beside one operation's tests:
// lists that take several launches, and the same bits in whatever order blocks and warps go.
#include "kernels/cuda/grid.h"

#include "kernels/adamw/adamw.h"
#include "kernels/global_norm/global_norm.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/layer_norm/layer_norm.h"
#include "tests/kernels/numbers.h"

namespace dtypecheck::kernels {

using cuda::Thread;

// Writes for each thread of two warps what `body` makes of it.
template <class Body>
struct Play {
  static constexpr int kThreads = 64;
  struct Shared {
    float numbers[kThreads];
  };
  void operator()(const Thread& t, Shared& shared) const { to[t.index()] = body(t, shared); }
  Body body;
  float* to;
};

template <class Body>
static std::vector<float> play(Body body) {
  std::vector<float> numbers(64);
  cuda::launch({}, 1, Play<Body>{body, numbers.data()});
  return numbers;
}

TEST_CASE("grid: barriers and shuffles") {
  const auto reversed = play([](const Thread& t, auto& shared) {
    shared.numbers[t.index()] = static_cast<float>(t.index());
    t.sync();
    return shared.numbers[63 - t.index()];
  });
  const auto neighbours = play([](const Thread& t, auto&) {
    return t.shuffle_xor(static_cast<float>(t.index()), 1) + t.shuffle_xor(100.f, 16);
  });
  for (size_t i = 0; i < 64; ++i) {
    CHECK(reversed[i] == static_cast<float>(63 - i));
    CHECK(neighbours[i] == static_cast<float>(100 + (i ^ 1)));
  }
}

TEST_CASE("grid: what a GPU would hang on is an error, and the next kernel runs") {
  CHECK_THROWS_WITH(play([](const Thread& t, auto&) {
                      if (t.index() < 40) t.sync();
                      return 0.f;
                    }),
                    "a barrier that not all threads of the block reach");
  CHECK_THROWS_WITH(
      play([](const Thread& t, auto&) { return t.index() == 3 ? 0.f : t.shuffle_xor(1.f, 1); }),
      "a shuffle that not all lanes of the warp reach");
  CHECK(play([](const Thread&, auto&) { return 2.f; })[63] == 2);
}

// The other warp has come first or has not, by turns.
TEST_CASE("grid: a barrier that is missing shows") {
  std::set<bool> seen;
  for (int i = 0; i < 4; ++i) {
    const auto numbers = play([](const Thread& t, auto& shared) {
      shared.numbers[t.index()] = 1;
      return shared.numbers[(t.index() + 32) % 64];
    });
    seen.insert(std::isnan(numbers[0]));
  }
  CHECK(seen.size() == 2);
}

TEST_CASE("grid: AdamW of more tensors than a launch takes, some of other factors") {
  struct Tensor {
    explicit Tensor(unsigned seed)
        : weight(Dtype::kBFloat16, 1 + seed % 7 * 13000),
          gradient(Dtype::kHalf, weight.size()),
          mean(Dtype::kFloat, weight.size()),
          square(mean) {
      weight.fill_normal(0, 1, seed);
      gradient.fill_normal(0, 1, seed + 100);
    }
    AdamW step(unsigned i) {
      return {.n = weight.size(),
              .weight = weight.output(),
              .gradient = gradient.input(),
              .mean = mean.floats(),
              .square = square.floats(),
              .rate = i < 50 ? 1e-3 : 1e-2,
              .rounding = i < 60 ? Rounding::kNearest : Rounding::kStochastic,
              .seed = i};
    }
    Numbers weight, gradient, mean, square;
  };
  std::vector<Tensor> found, expected;
  for (unsigned i = 0; i < 90; ++i) found.emplace_back(i);
  expected = found;
  cuda::EmulatedMemory memory;
  std::vector<AdamW> steps;
  for (unsigned i = 0; i < 90; ++i) {
    steps.push_back(found[i].step(i));
    steps.back().device = &memory.device;
    adamw_ref(expected[i].step(i));
  }
  adamw(AdamWList{steps});
  for (size_t i = 0; i < 90; ++i) {
    INFO("tensor " << i);
    check_same(found[i].weight, expected[i].weight);
    check_same(found[i].mean, expected[i].mean);
    check_same(found[i].square, expected[i].square);
  }
}

TEST_CASE("grid: the norm of more gradients than a launch takes") {
  std::vector<Numbers> xs, ys;
  for (unsigned i = 0; i < 150; ++i) {
    xs.emplace_back(kDtypes[i % 3], i % 5 * 9000);
    xs.back().fill_normal(0, 1, i);
    ys.emplace_back(Dtype::kFloat, xs.back().size());
  }
  std::vector<Gradient> gradients;
  for (size_t i = 0; i < xs.size(); ++i)
    gradients.push_back({xs[i].size(), xs[i].input(), ys[i].floats()});
  cuda::EmulatedMemory memory;
  double found = 0, expected = 0;
  global_norm({gradients, 0.5f, &found, &memory.device});
  const std::vector<Numbers> unscaled = ys;
  global_norm_ref({gradients, 0.5f, &expected});
  CHECK(found == Approx(expected).epsilon(kGlobalNormTolerance));
  for (size_t i = 0; i < ys.size(); ++i) check_same(unscaled[i], ys[i]);
}

TEST_CASE("grid: the same bits in whatever order its blocks and warps go") {
  const int64_t channels = 12, spatial = 5000;
  Numbers x(Dtype::kHalf, channels * spatial), dy = x;
  x.fill_normal(3, 1, 1);
  dy.fill_normal(0, 1, 2);
  const auto run = [&] {
    std::vector<Numbers> made(3, x);
    for (int64_t size : {int64_t{8}, channels, channels, channels, channels})
      made.emplace_back(Dtype::kFloat, size);
    Numbers &y = made[0], &dx = made[1], &dx_rows = made[2], &mean = made[3], &rstd = made[4];
    cuda::EmulatedMemory memory;
    const Device* const device = &memory.device;
    group_norm({.samples = 1,
                .channels = channels,
                .spatial = spatial,
                .groups = 4,
                .x = x.input(),
                .y = y.output(),
                .mean = mean.floats(),
                .rstd = rstd.floats(),
                .silu = true,
                .device = device});
    group_norm_backward({.samples = 1,
                         .channels = channels,
                         .spatial = spatial,
                         .groups = 4,
                         .dy = dy.input(),
                         .x = x.input(),
                         .mean = mean.floats(),
                         .rstd = rstd.floats(),
                         .dx = dx.output(),
                         .dgamma = made[5].output(),
                         .dbeta = made[6].output(),
                         .silu = true,
                         .device = device});
    Numbers row_means(Dtype::kFloat, spatial), row_rstds(Dtype::kFloat, spatial, 1);
    layer_norm_backward({.rows = spatial,
                         .cols = channels,
                         .dy = dy.input(),
                         .x = x.input(),
                         .mean = row_means.floats(),
                         .rstd = row_rstds.floats(),
                         .dx = dx_rows.output(),
                         .dgamma = made[7].output(),
                         .device = device});
    return made;
  };
  const auto first = run();
  for (int i = 0; i < 3; ++i) {
    const auto again = run();
    for (size_t k = 0; k < first.size(); ++k) check_same(again[k], first[k]);
  }
}

TEST_CASE("grid: without the kernels for a GPU its numbers are refused") {
  const Device device;
  const auto run = std::exchange(DeviceVariant<LayerNorm>::run, nullptr);
  Numbers x(Dtype::kHalf, 8), y = x;
  CHECK_THROWS_WITH(
      layer_norm({.rows = 1, .cols = 8, .x = x.input(), .y = y.output(), .device = &device}),
      Catch::Matchers::Contains("on a GPU, and the kernels for it are not loaded"));
  DeviceVariant<LayerNorm>::run = run;
}

}  // namespace dtypecheck::kernels
