// What the kernels cost beside the cheapest way that LibTorch has to the same result, casts
// included: in one process, on one thread, in turns, best of all rounds. bench/README.md says how
// to run it.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <malloc.h>

#include <chrono>
#include <functional>
#include <limits>

#include "kernels/adamw/adamw.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/unscale/unscale.h"

namespace dtypecheck::kernels {

// Of one call. Calls come in batches: a processor that goes from one vector width to another is
// slow for tens of microseconds, which would be told of the shortest ones.
static double seconds(const std::function<void()>& work, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

static int calls_in_a_millisecond(const std::function<void()>& work) {
  seconds(work, 1);
  return 1 + static_cast<int>(1e-3 / seconds(work, 1));
}

// bytes: those that must be read and written.
static void compare(const std::string& name, double bytes, const std::function<void()>& ours,
                    const std::function<void()>& theirs) {
  const int our_calls = calls_in_a_millisecond(ours), their_calls = calls_in_a_millisecond(theirs);
  double best_ours = std::numeric_limits<double>::infinity(), best_theirs = best_ours, spent = 0;
  for (int round = 0; round < 5 || (spent < 1 && round < 300); ++round) {
    const double a = seconds(ours, our_calls), b = seconds(theirs, their_calls);
    best_ours = std::min(best_ours, a);
    best_theirs = std::min(best_theirs, b);
    spent += a * our_calls + b * their_calls;
  }
  fmt::print("{:<44} {:>9.1f} {:>6.1f} {:>9.1f} {:>6.2f}\n", name, best_ours * 1e6,
             bytes / best_ours / 1e9, best_theirs * 1e6, best_theirs / best_ours);
  std::fflush(stdout);
}

static Dtype dtype_of(const at::Tensor& t) { return static_cast<Dtype>(t.scalar_type()); }
static Input in(const at::Tensor& t) { return {t.data_ptr(), dtype_of(t)}; }
static Output out(const at::Tensor& t) { return {t.data_ptr(), dtype_of(t)}; }

static void compare_unscale(at::ScalarType dtype, int64_t n) {
  const at::Tensor x = at::randn({n}).to(dtype), y = at::empty({n});
  double sum = 0;
  compare(
      fmt::format("unscale {} {}", at::toString(dtype), n),
      static_cast<double>(n * (x.element_size() + 4)),
      [&] { unscale({n, in(x), 1 / 65536.f, y.data_ptr<float>(), &sum}); },
      [&] {
        at::Tensor there =
            dtype == at::kFloat ? x.mul(1 / 65536.f) : x.to(at::kFloat).mul_(1 / 65536.f);
        sum = there.norm().item<double>();
      });
}

static void compare_adamw(at::ScalarType dtype, int64_t n) {
  const at::Tensor master = at::randn({n}), weight = master.to(dtype),
                   gradient = at::randn({n}).to(dtype);
  const at::Tensor mean = at::zeros({n}), square = at::zeros({n}), step = at::ones({});
  AdamW a{n,
          out(weight),
          master.data_ptr<float>(),
          in(gradient),
          mean.data_ptr<float>(),
          square.data_ptr<float>()};
  compare(
      fmt::format("adamw, Float masters, {} {}", at::toString(dtype), n),
      static_cast<double>(n * (24 + 2 * weight.element_size())), [&] { adamw(a); },
      [&] {
        at::_fused_adamw_({master}, {gradient.to(at::kFloat)}, {mean}, {square}, {}, {step}, 1e-4,
                          0.9, 0.999, 1e-2, 1e-8, false, false);
        weight.copy_(master);
      });
}

static void compare_stochastic_adamw(int64_t n) {
  const at::Tensor weight = at::randn({n}).to(at::kBFloat16),
                   gradient = at::randn({n}).to(at::kBFloat16);
  const at::Tensor mean = at::zeros({n}), square = at::zeros({n}), step = at::ones({});
  AdamW a{n, out(weight), nullptr, in(gradient), mean.data_ptr<float>(), square.data_ptr<float>()};
  a.rounding = Rounding::kStochastic;
  compare(
      fmt::format("adamw, stochastic rounding, BFloat16 {}", n), static_cast<double>(n * 22),
      [&] { adamw(a); },
      [&] {
        const at::Tensor stepped = weight.to(at::kFloat);
        at::_fused_adamw_({stepped}, {gradient.to(at::kFloat)}, {mean}, {square}, {}, {step}, 1e-4,
                          0.9, 0.999, 1e-2, 1e-8, false, false);
        const at::Tensor bits = stepped.view(at::kInt).add_(at::randint(1 << 16, {n}, at::kInt));
        weight.copy_(bits.bitwise_and_(-(1 << 16)).view(at::kFloat));
      });
}

// Half or BFloat16 x with Float weights, as a mixed-precision run has them.
struct Norm {
  Norm(at::ScalarType dtype, at::IntArrayRef sizes, int64_t channels, int64_t groups)
      : x(at::randn(sizes).to(dtype)),
        dy(at::randn(sizes).to(dtype)),
        y(at::empty_like(x)),
        dx(at::empty_like(x)),
        gamma(at::randn({channels})),
        beta(at::randn({channels})),
        dgamma(at::empty({channels})),
        dbeta(at::empty({channels})),
        mean(at::empty({groups})),
        rstd(at::empty({groups})),
        bytes(static_cast<double>(x.numel() * x.element_size())) {}
  at::Tensor x, dy, y, dx, gamma, beta, dgamma, dbeta, mean, rstd;
  double bytes;
};

static void compare_layer_norm(at::ScalarType dtype, int64_t rows, int64_t cols) {
  const Norm n(dtype, {rows, cols}, cols, rows);
  float *const mean = n.mean.data_ptr<float>(), *const rstd = n.rstd.data_ptr<float>();
  const std::string name = fmt::format("{} {} x {}", at::toString(dtype), rows, cols);
  compare(
      "layer_norm " + name, 2 * n.bytes,
      [&] {
        layer_norm({rows, cols, in(n.x), in(n.gamma), in(n.beta), 1e-5, out(n.y), mean, rstd});
      },
      [&] { at::native_layer_norm(n.x, {cols}, n.gamma, n.beta, 1e-5); });
  const auto [y, there_mean, there_rstd] =
      at::native_layer_norm(n.x, {cols}, n.gamma, n.beta, 1e-5);
  compare(
      "layer_norm backward " + name, 3 * n.bytes,
      [&] {
        layer_norm_backward({rows, cols, in(n.dy), in(n.x), in(n.gamma), mean, rstd, out(n.dx),
                             out(n.dgamma), out(n.dbeta)});
      },
      [&, m = there_mean, r = there_rstd] {
        at::native_layer_norm_backward(n.dy, n.x, {cols}, m, r, n.gamma, n.beta,
                                       {true, true, true});
      });
}

static void compare_rms_norm(at::ScalarType dtype, int64_t rows, int64_t cols) {
  const Norm n(dtype, {rows, cols}, cols, rows);
  float* const rstd = n.rstd.data_ptr<float>();
  const std::string name = fmt::format("{} {} x {}", at::toString(dtype), rows, cols);
  compare(
      "rms_norm " + name, 2 * n.bytes,
      [&] { rms_norm({rows, cols, in(n.x), in(n.gamma), 1e-6, out(n.y), rstd}); },
      [&] { at::rms_norm(n.x, {cols}, n.gamma, 1e-6); });
  const at::Tensor x = n.x.clone().requires_grad_(), gamma = n.gamma.clone().requires_grad_();
  const at::Tensor y = at::rms_norm(x, {cols}, gamma, 1e-6), dy = n.dy.to(y.scalar_type());
  compare(
      "rms_norm backward " + name, 3 * n.bytes,
      [&] {
        rms_norm_backward(
            {rows, cols, in(n.dy), in(n.x), in(n.gamma), rstd, out(n.dx), out(n.dgamma)});
      },
      [&] {
        x.mutable_grad().reset();
        gamma.mutable_grad().reset();
        y.backward(dy, /*retain_graph=*/true);
      });
}

static void compare_group_norm(at::ScalarType dtype, int64_t channels, int64_t side) {
  const int64_t spatial = side * side;
  const Norm n(dtype, {1, channels, side, side}, channels, 32);
  float *const mean = n.mean.data_ptr<float>(), *const rstd = n.rstd.data_ptr<float>();
  const std::string name =
      fmt::format("{} {} x {} x {}", at::toString(dtype), channels, side, side);
  compare(
      "group_norm " + name, 2 * n.bytes,
      [&] {
        group_norm({1, channels, spatial, 32, in(n.x), in(n.gamma), in(n.beta), 1e-5, out(n.y),
                    mean, rstd});
      },
      [&] { at::native_group_norm(n.x, n.gamma, n.beta, 1, channels, spatial, 32, 1e-5); });
  const auto [y, there_mean, there_rstd] =
      at::native_group_norm(n.x, n.gamma, n.beta, 1, channels, spatial, 32, 1e-5);
  compare(
      "group_norm backward " + name, 3 * n.bytes,
      [&] {
        group_norm_backward({1, channels, spatial, 32, in(n.dy), in(n.x), in(n.gamma), mean, rstd,
                             out(n.dx), out(n.dgamma), out(n.dbeta)});
      },
      [&, m = there_mean, r = there_rstd] {
        at::native_group_norm_backward(n.dy, n.x, m, r, n.gamma, 1, channels, spatial, 32,
                                       {true, true, true});
      });
}

static void compare_all() {
  at::set_num_threads(1);
  // Large blocks are kept and not given back to the system: else LibTorch's results cost page
  // faults, and ours have none.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  fmt::print("{:<44} {:>9} {:>6} {:>9} {:>6}\n", "one thread, best", "us", "GB/s", "LibTorch",
             "ratio");
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat}) {
    compare_unscale(dtype, 1 << 22);
    compare_adamw(dtype, 1 << 22);
  }
  compare_stochastic_adamw(1 << 22);
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    compare_layer_norm(dtype, 4096, 640);
    compare_layer_norm(dtype, 1024, 1280);
    compare_layer_norm(dtype, 77, 768);
    compare_rms_norm(dtype, 512, 4096);
    compare_group_norm(dtype, 320, 128);
    compare_group_norm(dtype, 640, 64);
    compare_group_norm(dtype, 1280, 32);
  }
}

}  // namespace dtypecheck::kernels

int main() { dtypecheck::kernels::compare_all(); }
