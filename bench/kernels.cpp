// What the kernels cost beside LibTorch: its op of one dtype, its ops with the casts that a user
// would write, and the copying of as many bytes, than which nothing is faster. In one process, in
// turns, best of all rounds. bench/README.md says how to run it.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <malloc.h>

#include <array>
#include <cstring>
#include <ctime>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

#include "kernels/adamw/adamw.h"
#include "kernels/global_norm/global_norm.h"
#include "kernels/group_norm/group_norm.h"
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/matmul/matmul.h"
#include "kernels/threads.h"
#include "kernels/unscale/unscale.h"

namespace dtypecheck::kernels {

using Work = std::function<void()>;

// Of one call: of this thread alone, which may have to wait while others have the processor; or of
// the clock.
enum class Clock { kThread, kWall };
static double now(Clock clock) {
  timespec t{};
  clock_gettime(clock == Clock::kThread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Calls come in batches: a processor that goes from one vector width to another is
// slow for tens of microseconds, and what the others left in the caches is not its own.
static double seconds(const Work& work, int calls, Clock clock = Clock::kThread) {
  const double start = now(clock);
  for (int i = 0; i < calls; ++i) work();
  return (now(clock) - start) / calls;
}

static int calls_of_a_batch(const Work& work) {
  const double first = seconds(work, 1);
  return first > 0.01 ? 1 : 1 + static_cast<int>(4e-3 / seconds(work, 1));
}

// The least time of each, in turns: for half a second, or once where one takes longer.
static std::vector<double> best_times(const std::vector<Work>& works,
                                      Clock clock = Clock::kThread) {
  std::vector<int> calls;
  for (const Work& work : works) calls.push_back(work ? calls_of_a_batch(work) : 0);
  std::vector<double> best(works.size(), std::numeric_limits<double>::infinity());
  double spent = 0;
  for (int round = 0; round < 400 && (round == 0 || spent < 0.5); ++round) {
    for (size_t i = 0; i < works.size(); ++i) {
      if (!works[i]) continue;
      const double time = seconds(works[i], calls[i], clock);
      best[i] = std::min(best[i], time);
      spent += time * calls[i];
    }
  }
  return best;
}

static std::string_view wanted;  // part of the names to compare; all where empty

// bytes: those that must be read and written. Either of LibTorch's may be missing.
static void compare(const std::string& name, double bytes, const Work& ours, const Work& same,
                    const Work& with_casts) {
  if (name.find(wanted) == std::string::npos) return;
  static std::vector<char> from(1 << 26), to(1 << 26);
  const size_t half = std::min(from.size(), static_cast<size_t>(bytes / 2));
  const Work copy = [&] {
    std::memcpy(to.data(), from.data(), half);
    asm volatile("" ::"r"(to.data()) : "memory");  // so that it is made
  };
  const std::vector<double> best = best_times({ours, same, with_casts, copy});
  const auto column = [&](size_t i) {
    return std::isfinite(best[i])
               ? fmt::format("{:>9.1f} {:>6.2f}", best[i] * 1e6, best[i] / best[0])
               : fmt::format("{:>9} {:>6}", "-", "");
  };
  const double copied = best[3] * bytes / 2 / static_cast<double>(half);
  fmt::print("{:<44} {:>9.1f} {} {} {:>6.1f} {:>6.1f}\n", name, best[0] * 1e6, column(1), column(2),
             bytes / best[0] / 1e9, bytes / copied / 1e9);
  std::fflush(stdout);
}

static Dtype dtype_of(const at::Tensor& t) { return static_cast<Dtype>(t.scalar_type()); }
static Input in(const at::Tensor& t) { return {t.data_ptr(), dtype_of(t)}; }
static Output out(const at::Tensor& t) { return {t.data_ptr(), dtype_of(t)}; }

// In Float a user would scale in place, and so does ours then; by 1, since numbers that get smaller
// in each call end as denormal ones.
static void compare_unscale(at::ScalarType dtype, int64_t n) {
  const bool in_place = dtype == at::kFloat;
  const float factor = in_place ? 1.f : 1 / 65536.f;
  const at::Tensor x = at::randn({n}).to(dtype), y = in_place ? x : at::empty({n});
  double sum = 0;
  compare(
      fmt::format("unscale {} {}{}", at::toString(dtype), n, in_place ? ", in place" : ""),
      static_cast<double>(n * (x.element_size() + 4)),
      [&] { unscale({n, in(x), factor, y.data_ptr<float>(), &sum}); },
      [&] { sum = x.mul(factor).norm().item<double>(); },
      [&] { sum = x.to(at::kFloat).mul_(factor).norm().item<double>(); });
}

static void compare_adamw(at::ScalarType dtype, int64_t n) {
  const at::Tensor master = at::randn({n}), weight = master.to(dtype),
                   gradient = at::randn({n}).to(dtype);
  const at::Tensor mean = at::zeros({n}), square = at::zeros({n}), step = at::ones({});
  const bool has_master = dtype != at::kFloat;
  AdamW a{n,
          out(has_master ? weight : master),
          has_master ? master.data_ptr<float>() : nullptr,
          in(gradient),
          mean.data_ptr<float>(),
          square.data_ptr<float>()};
  compare(
      fmt::format("adamw, {}{} {}", has_master ? "Float masters, " : "", at::toString(dtype), n),
      static_cast<double>(n * (24 + (has_master ? 2 : 1) * weight.element_size())),
      [&] { adamw(a); }, Work(),
      [&] {
        at::_fused_adamw_({master}, {gradient.to(at::kFloat)}, {mean}, {square}, {}, {step}, 1e-4,
                          0.9, 0.999, 1e-2, 1e-8, false, false);
        if (has_master) weight.copy_(master);
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
      [&] { adamw(a); }, Work(),
      [&] {
        const at::Tensor stepped = weight.to(at::kFloat);
        at::_fused_adamw_({stepped}, {gradient.to(at::kFloat)}, {mean}, {square}, {}, {step}, 1e-4,
                          0.9, 0.999, 1e-2, 1e-8, false, false);
        const at::Tensor bits = stepped.view(at::kInt).add_(at::randint(1 << 16, {n}, at::kInt));
        weight.copy_(bits.bitwise_and_(-(1 << 16)).view(at::kFloat));
      });
}

// A list of gradients as a model's, small and large.
static void compare_global_norm(at::ScalarType dtype) {
  std::vector<at::Tensor> x, y;
  std::vector<Gradient> gradients;
  int64_t numbers = 0;
  for (int i = 0; i < 60; ++i) {
    const int64_t n = i % 3 == 0 ? 640 * 640 : i % 3 == 1 ? 640 : 320 * 9;
    x.push_back(at::randn({n}).to(dtype));
    y.push_back(at::empty({n}));
    gradients.push_back({n, in(x.back()), y.back().data_ptr<float>()});
    numbers += n;
  }
  double norm = 0;
  const auto norm_of = [&](bool casts) {
    std::vector<at::Tensor> there;
    for (const at::Tensor& t : x) there.push_back(casts ? t.to(at::kFloat) : t);
    there = at::_foreach_mul(there, 1 / 65536.f);
    norm = at::stack(at::_foreach_norm(there)).norm().item<double>();
  };
  compare(
      fmt::format("global_norm of 60 {} {}", at::toString(dtype), numbers),
      static_cast<double>(numbers) * (4 + static_cast<double>(at::elementSize(dtype))),
      [&] { global_norm({gradients, 1 / 65536.f, &norm}); }, [&] { norm_of(false); },
      [&] { norm_of(true); });
}

static void compare_linear(at::ScalarType of_x, Compute compute, int64_t rows, int64_t cols,
                           int64_t inner, bool with_same, bool is_linear = true) {
  const at::Tensor x = at::randn({rows, inner}).to(of_x),
                   there = at::randn(is_linear ? at::IntArrayRef{cols, inner}
                                               : at::IntArrayRef{inner, cols})
                               .to(of_x == at::kFloat ? at::kHalf : of_x),
                   weight = is_linear ? there : there.t(), same = x.to(weight.scalar_type()),
                   y = at::empty({rows, cols}, of_x);
  Matmul m;
  m.rows = rows;
  m.cols = cols;
  m.inner = inner;
  m.a = row_major(in(x), inner);
  m.b = is_linear ? row_major(in(there), inner).transposed() : row_major(in(there), cols);
  m.y = out(y);
  m.compute = compute;
  // Casts: to what LibTorch multiplies fast, as precise as the compute is.
  const at::ScalarType fast = compute == Compute::kFloat ? at::kFloat : at::kBFloat16;
  const Work same_dtype = [&] { at::linear(same, weight); };
  compare(
      fmt::format("{} {} x {}{} {}x{}x{}", is_linear ? "linear" : "matmul", at::toString(of_x),
                  at::toString(weight.scalar_type()),
                  compute == Compute::kBFloat16 && of_x != at::kBFloat16 ? " as BFloat16" : "",
                  rows, cols, inner),
      static_cast<double>(x.nbytes() + weight.nbytes() + y.nbytes()), [&] { matmul(m); },
      with_same ? same_dtype : Work(), [&] { at::linear(x.to(fast), weight.to(fast)).to(of_x); });
}

// Half or BFloat16 x with Float weights, as a mixed-precision run has them.
struct Norm {
  Norm(at::ScalarType dtype, at::IntArrayRef sizes, int64_t channels, int64_t groups,
       bool channels_last = false)
      : x(at::randn(sizes).to(dtype)),
        dy(at::randn(sizes).to(dtype)),
        gamma(at::randn({channels})),
        beta(at::randn({channels})),
        dgamma(at::empty({channels})),
        dbeta(at::empty({channels})),
        mean(at::empty({groups})),
        rstd(at::empty({groups})),
        narrow_gamma(gamma.to(dtype)),
        narrow_beta(beta.to(dtype)),
        bytes(static_cast<double>(x.numel() * x.element_size())) {
    if (channels_last) {
      x = x.contiguous(at::MemoryFormat::ChannelsLast);
      dy = dy.contiguous(at::MemoryFormat::ChannelsLast);
    }
    y = at::empty_like(x);
    dx = at::empty_like(x);
  }
  at::Tensor x, dy, y, dx, gamma, beta, dgamma, dbeta, mean, rstd, narrow_gamma, narrow_beta;
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
      [&] { at::native_layer_norm(n.x, {cols}, n.narrow_gamma, n.narrow_beta, 1e-5); },
      [&] {
        std::get<0>(at::native_layer_norm(n.x.to(at::kFloat), {cols}, n.gamma, n.beta, 1e-5))
            .to(dtype);
      });
  const auto there = at::native_layer_norm(n.x, {cols}, n.narrow_gamma, n.narrow_beta, 1e-5);
  const auto whole = at::native_layer_norm(n.x.to(at::kFloat), {cols}, n.gamma, n.beta, 1e-5);
  compare(
      "layer_norm backward " + name, 3 * n.bytes,
      [&] {
        layer_norm_backward({rows, cols, in(n.dy), in(n.x), in(n.gamma), mean, rstd, out(n.dx),
                             out(n.dgamma), out(n.dbeta)});
      },
      [&] {
        at::native_layer_norm_backward(n.dy, n.x, {cols}, std::get<1>(there), std::get<2>(there),
                                       n.narrow_gamma, n.narrow_beta, {true, true, true});
      },
      [&] {
        std::get<0>(at::native_layer_norm_backward(n.dy.to(at::kFloat), n.x.to(at::kFloat), {cols},
                                                   std::get<1>(whole), std::get<2>(whole), n.gamma,
                                                   n.beta, {true, true, true}))
            .to(dtype);
      });
}

static void compare_rms_norm(at::ScalarType dtype, int64_t rows, int64_t cols) {
  const Norm n(dtype, {rows, cols}, cols, rows);
  float* const rstd = n.rstd.data_ptr<float>();
  const std::string name = fmt::format("{} {} x {}", at::toString(dtype), rows, cols);
  compare(
      "rms_norm " + name, 2 * n.bytes,
      [&] {
        layer_norm({.rows = rows,
                    .cols = cols,
                    .x = in(n.x),
                    .gamma = in(n.gamma),
                    .beta = {},
                    .eps = 1e-6,
                    .y = out(n.y),
                    .rstd = rstd,
                    .has_mean = false});
      },
      [&] { at::rms_norm(n.x, {cols}, n.narrow_gamma, 1e-6); },
      [&] { at::rms_norm(n.x.to(at::kFloat), {cols}, n.gamma, 1e-6).to(dtype); });
  const auto backward_of = [&](at::ScalarType in_dtype) {
    const at::Tensor x = n.x.to(in_dtype).clone().requires_grad_(),
                     gamma = n.gamma.to(in_dtype).clone().requires_grad_(),
                     y = at::rms_norm(x, {cols}, gamma, 1e-6), dy = n.dy;
    return Work([=] {
      x.mutable_grad().reset();
      gamma.mutable_grad().reset();
      y.backward(dy.to(in_dtype), /*retain_graph=*/true);
    });
  };
  compare(
      "rms_norm backward " + name, 3 * n.bytes,
      [&] {
        layer_norm_backward({.rows = rows,
                             .cols = cols,
                             .dy = in(n.dy),
                             .x = in(n.x),
                             .gamma = in(n.gamma),
                             .rstd = rstd,
                             .dx = out(n.dx),
                             .dgamma = out(n.dgamma),
                             .dbeta = {},
                             .has_mean = false});
      },
      backward_of(dtype), backward_of(at::kFloat));
}

static void compare_group_norm(at::ScalarType dtype, int64_t channels, int64_t side, bool silu,
                               bool channels_last) {
  const int64_t spatial = side * side;
  const Norm n(dtype, {1, channels, side, side}, channels, 32, channels_last);
  float *const mean = n.mean.data_ptr<float>(), *const rstd = n.rstd.data_ptr<float>();
  const std::string name = fmt::format("{} {}x{}x{}{}{}", at::toString(dtype), channels, side, side,
                                       silu ? " SiLU" : "", channels_last ? " NHWC" : "");
  const Layout layout = channels_last ? Layout::kChannelsLast : Layout::kChannelsFirst;
  const auto forward = [&](const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta) {
    at::Tensor y =
        std::get<0>(at::native_group_norm(x, gamma, beta, 1, channels, spatial, 32, 1e-5));
    return silu ? at::silu(y) : y;
  };
  compare(
      "group_norm " + name, 2 * n.bytes,
      [&] {
        group_norm({1, channels, spatial, 32, in(n.x), in(n.gamma), in(n.beta), 1e-5, out(n.y),
                    mean, rstd, layout, silu});
      },
      [&] { forward(n.x, n.narrow_gamma, n.narrow_beta); },
      [&] { forward(n.x.to(at::kFloat), n.gamma, n.beta).to(dtype); });
  const auto backward_of = [&](at::ScalarType in_dtype) {
    const bool same = in_dtype == dtype;
    const at::Tensor x = n.x, dy = n.dy, gamma = same ? n.narrow_gamma : n.gamma,
                     beta = same ? n.narrow_beta : n.beta;
    const auto [y, m, r] =
        at::native_group_norm(x.to(in_dtype), gamma, beta, 1, channels, spatial, 32, 1e-5);
    return Work([=, y = y, m = m, r = r] {
      const at::Tensor given = dy.to(in_dtype), d = silu ? at::silu_backward(given, y) : given;
      std::get<0>(at::native_group_norm_backward(d, x.to(in_dtype), m, r, gamma, 1, channels,
                                                 spatial, 32, {true, true, true}))
          .to(dtype);
    });
  };
  compare(
      "group_norm backward " + name, 3 * n.bytes,
      [&] {
        group_norm_backward({1, channels, spatial, 32, in(n.dy), in(n.x), in(n.gamma), mean, rstd,
                             out(n.dx), out(n.dgamma), out(n.dbeta), layout, silu, in(n.beta)});
      },
      backward_of(dtype), backward_of(at::kFloat));
}

static void compare_all() {
  fmt::print("{:<44} {:>9} {:>16} {:>16} {:>6} {:>6}\n", "one thread, least us", "ours",
             "same dtype  by us", "with casts  by us", "GB/s", "copy");
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat}) {
    compare_unscale(dtype, 1 << 22);
    compare_global_norm(dtype);
    compare_adamw(dtype, 1 << 22);
  }
  compare_stochastic_adamw(1 << 22);
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    compare_layer_norm(dtype, 4096, 640);
    compare_layer_norm(dtype, 1024, 1280);
    compare_layer_norm(dtype, 77, 768);
    compare_rms_norm(dtype, 512, 4096);
    for (const bool silu : {false, true}) {
      for (const bool channels_last : {false, true}) {
        compare_group_norm(dtype, 320, 128, silu, channels_last);
        compare_group_norm(dtype, 640, 64, silu, channels_last);
        compare_group_norm(dtype, 1280, 32, silu, channels_last);
      }
    }
  }
  compare_linear(at::kHalf, Compute::kBFloat16, 1024, 1280, 1280, true);
  compare_linear(at::kHalf, Compute::kBFloat16, 1024, 1280, 1280, true, /*is_linear=*/false);
  compare_linear(at::kHalf, Compute::kFloat, 1024, 1280, 1280, false);
  compare_linear(at::kFloat, Compute::kFloat, 1024, 1280, 1280, false);
  compare_linear(at::kBFloat16, Compute::kBFloat16, 1024, 1280, 1280, true);
  compare_linear(at::kHalf, Compute::kBFloat16, 4096, 640, 640, false);
  for (const int64_t rows : {1, 4, 8, 64, 256}) {
    for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf})
      compare_linear(dtype, Compute::kBFloat16, rows, 1280, 1280, dtype == at::kBFloat16);
    compare_linear(at::kHalf, Compute::kFloat, rows, 1280, 1280, false);
  }
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf})
    compare_linear(dtype, Compute::kBFloat16, 4096, 5120, 640, dtype == at::kBFloat16);
}

// The pool beside one thread, in turns.
static void compare_threads() {
  fmt::print("{:<44} {:>9} {:>9} {:>6}\n", "two threads", "one us", "two us", "ratio");
  const auto compare_two = [](const std::string& name, const Work& work) {
    const auto on = [&](ParallelFor threads) {
      return Work([&, threads] {
        set_parallel_for(threads);
        work();
      });
    };
    const std::vector<double> best = best_times({on(in_order), on(nullptr)}, Clock::kWall);
    fmt::print("{:<44} {:>9.1f} {:>9.1f} {:>6.2f}\n", name, best[0] * 1e6, best[1] * 1e6,
               best[0] / best[1]);
  };
  const Norm layer(at::kHalf, {1024, 1280}, 1280, 1024),
      group(at::kHalf, {1, 640, 64, 64}, 640, 32);
  compare_two("layer_norm Half 1024 x 1280", [&] {
    layer_norm({1024, 1280, in(layer.x), in(layer.gamma), in(layer.beta), 1e-5, out(layer.y)});
  });
  compare_two("group_norm Half 640x64x64", [&] {
    group_norm(
        {1, 640, 4096, 32, in(group.x), in(group.gamma), in(group.beta), 1e-5, out(group.y)});
  });
  Matmul m;
  m.rows = 1024;
  m.cols = m.inner = 1280;
  const at::Tensor weight = at::randn({1280, 1280}).to(at::kHalf);
  m.a = row_major(in(layer.x), 1280);
  m.b = row_major(in(weight), 1280).transposed();
  m.y = out(layer.y);
  compare_two("linear Half 1024x1280x1280", [&] { matmul(m); });
}

}  // namespace dtypecheck::kernels

int main(int count, char** arguments) {
  if (count > 1) dtypecheck::kernels::wanted = arguments[1];
  // Large blocks are kept and not given back to the system: else LibTorch's results cost page
  // faults, and ours have none.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  at::set_num_threads(1);
  dtypecheck::kernels::set_parallel_for(dtypecheck::kernels::in_order);
  dtypecheck::kernels::compare_all();
  if (count == 1) dtypecheck::kernels::compare_threads();
}
