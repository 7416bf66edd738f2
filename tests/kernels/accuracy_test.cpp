// Every row of accuracy.h, measured: each operation as a caller has it, on each instruction set,
// beside its reference.
#include "kernels/accuracy.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>

#include "kernels/adamw/adamw.h"
#include "kernels/matmul/matmul.h"
#include "kernels/unscale/unscale.h"
#include "tests/kernels/norm_numbers.h"

namespace dtypecheck::kernels {

// Of the farthest number.
static double ulps(const Numbers& found, const Numbers& expected) {
  double largest = 0, apart = 0;
  for (int64_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::fabs(double{expected[i]}));
    apart = std::max(apart, std::fabs(double{found[i]} - expected[i]));
  }
  // A unit of the power of two below it.
  const double unit = 2 * rounding_of(found.dtype(), std::exp2(std::floor(std::log2(largest))));
  return apart == 0 ? 0 : apart / unit;
}

static Numbers normal(Dtype dtype, int64_t n, unsigned seed, float mean = 0) {
  Numbers result(dtype, n);
  result.fill_normal(mean, 1, seed);
  return result;
}

using Measured = std::map<std::string, double>;

static NormNumbers norm_numbers(Dtype dtype, int64_t size, int64_t channels, int64_t groups) {
  NormNumbers n(dtype, Dtype::kFloat, size, channels, groups);
  n.fill(0.5f, 1, 0, 1);
  n.dgamma = n.dbeta = Numbers(dtype, channels);
  return n;
}

template <class Run>
static void measure_norm(Measured& measured, const std::string& name, const NormNumbers& start,
                         Run run) {
  NormNumbers found = start, expected = start;
  run(expected, /*reference=*/true);
  found.mean = expected.mean;
  found.rstd = expected.rstd;
  run(found, /*reference=*/false);
  measured[name + " y"] = ulps(found.y, expected.y);
  measured[name + " dx"] = ulps(found.dx, expected.dx);
  measured[name + " dgamma"] = ulps(found.dgamma, expected.dgamma);
}

static void measure_norms(Measured& measured, Dtype dtype) {
  const int64_t rows = 77, cols = 640;
  const NormNumbers of_rows = norm_numbers(dtype, rows * cols, cols, rows);
  const auto measure_rows = [&](const char* name, auto forward, auto backward) {
    measure_norm(measured, name, of_rows, [&](NormNumbers& n, bool reference) {
      const LayerNorm a = forward(n);
      const LayerNormBackward b = backward(n);
      reference ? layer_norm_ref(a) : layer_norm(a);
      reference ? layer_norm_backward_ref(b) : layer_norm_backward(b);
    });
  };
  measure_rows(
      "layer_norm", [&](NormNumbers& n) { return n.layer_norm(rows, cols, 1e-5); },
      [&](NormNumbers& n) { return n.layer_norm_backward(rows, cols); });
  measure_rows(
      "rms_norm", [&](NormNumbers& n) { return n.rms_norm(rows, cols, 1e-6); },
      [&](NormNumbers& n) { return n.rms_norm_backward(rows, cols); });
  const int64_t channels = 320, spatial = 256, groups = 32;
  const NormNumbers of_groups = norm_numbers(dtype, channels * spatial, channels, groups);
  const auto measure_groups = [&](const char* name, Layout layout, bool silu) {
    measure_norm(measured, name, of_groups, [&](NormNumbers& n, bool reference) {
      const GroupNorm a = n.group_norm(1, channels, spatial, groups, 1e-5, layout, silu);
      const GroupNormBackward b = n.group_norm_backward(1, channels, spatial, groups, layout, silu);
      reference ? group_norm_ref(a) : group_norm(a);
      reference ? group_norm_backward_ref(b) : group_norm_backward(b);
    });
  };
  measure_groups("group_norm", Layout::kChannelsFirst, false);
  measure_groups("group_norm silu", Layout::kChannelsFirst, true);
  measure_groups("group_norm nhwc", Layout::kChannelsLast, false);
}

static void measure_products(Measured& measured, Dtype dtype) {
  const int64_t rows = 20, cols = 50, inner = 1280;
  const Numbers a = normal(dtype, rows * inner, 1), b = normal(dtype, cols * inner, 2);
  Numbers found(dtype, rows * cols), expected = found;
  Matmul m;
  m.rows = rows;
  m.cols = cols;
  m.inner = inner;
  m.a = row_major(a.input(), inner);
  m.b = row_major(b.input(), inner).transposed();
  m.y_row_stride = cols;
  m.y = found.output();
  matmul(m);
  m.y = expected.output();
  matmul_ref(m);
  measured["matmul y"] = ulps(found, expected);
}

static void measure_exact(Measured& measured, Dtype dtype) {
  const Numbers x = normal(dtype, 1283, 1);
  double sum = 0;
  Numbers y(Dtype::kFloat, x.size()), y_ref = y;
  unscale({x.size(), x.input(), 0.3f, y.floats(), &sum});
  unscale_ref({x.size(), x.input(), 0.3f, y_ref.floats(), &sum});
  measured["unscale y"] = ulps(y, y_ref);

  const auto step = [&](void (*run)(const AdamW&)) {
    Numbers weight = normal(dtype, x.size(), 2), master(Dtype::kFloat, x.size()), mean = master,
            square = master;
    master.fill([&](int64_t i) { return weight[i]; });
    run({x.size(), weight.output(), master.floats(), x.input(), mean.floats(), square.floats()});
    return weight;
  };
  measured["adamw weight"] = ulps(step(adamw), step(adamw_ref));
}

// DTYPECHECK_SHOW=1 prints what was measured.
TEST_CASE("accuracy: every operation is within its bound") {
  for (const Dtype dtype : kDtypes) {
    on_each_instruction_set([&] {
      Measured measured;
      measure_norms(measured, dtype);
      measure_products(measured, dtype);
      measure_exact(measured, dtype);
      for (const UlpBound& bound : kUlpBounds) {
        const auto found = measured.find(std::string(bound.result));
        REQUIRE(found != measured.end());  // a row that nothing measures
        const double allowed = dtype == Dtype::kFloat  ? bound.of_float
                               : dtype == Dtype::kHalf ? bound.of_half
                                                       : bound.of_bfloat16;
        INFO(bound.result << " in " << dtype_name(dtype));
        CHECK(found->second <= allowed);
        if (std::getenv("DTYPECHECK_SHOW"))
          std::cout << bound.result << " " << dtype_name(dtype) << ": " << found->second << "\n";
      }
    });
  }
}

}  // namespace dtypecheck::kernels
