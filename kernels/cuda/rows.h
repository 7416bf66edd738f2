// rows.h: layer norm, and RMS norm as one without mean and beta, on a grid. A team of threads, a
// warp or a block of eight, has a row, and then another; where the row fits it is read once and
// stays in their registers. The mean is taken first and squares around it, as one pass would lose
// digits where |mean| is large. Backward adds up the gradients of gamma and beta in registers too,
// over the rows of the team, a block writes one sum a column, and a second kernel adds those in
// double, in order: no atomics, so the bits are the same from run to run.
#pragma once

#include <algorithm>

#include "kernels/cuda/elements.h"
#include "kernels/layer_norm/layer_norm.h"

namespace dtypecheck::kernels::cuda {

// How a row is spread: kPacks packs of kWidth numbers to each thread, or as many as it takes (0),
// read again each time.
template <int warps, int packs, int width>
struct RowShape {
  static constexpr int kWarps = warps, kPacks = packs, kWidth = width, kTeam = warps * kWarp;
  static constexpr int kTeams = warps == 1 ? 4 : 1;  // of a block
  static constexpr int kThreads = kTeam * kTeams;
  static constexpr int kSums = packs == 0 ? 1 : packs * width;  // that backward has of each thread
};

// use(RowShape()) for rows of `cols` numbers of T.
template <class T, class Use>
void with_row_shape(int64_t cols, bool aligned, Use use) {
  constexpr int kWidth = kWide<T>;
  const int64_t packs = cols / kWidth;
  if (!aligned || cols % kWidth != 0) {
    if (cols <= 512) return use(RowShape<1, 0, 1>());
    return use(RowShape<8, 0, 1>());
  }
  if (packs <= 32) return use(RowShape<1, 1, kWidth>());
  if (packs <= 64) return use(RowShape<1, 2, kWidth>());
  if (packs <= 160) return use(RowShape<1, 5, kWidth>());
  if (packs <= 512) return use(RowShape<8, 2, kWidth>());
  if (packs <= 1024) return use(RowShape<8, 4, kWidth>());
  use(RowShape<8, 0, kWidth>());
}

// A team's part of a row.
template <class T, class Shape>
class Row {
 public:
  DTYPECHECK_DEVICE Row(const T* row, int64_t cols, int lane)
      : row_(row), cols_(cols), lane_(lane) {
    each_place([&](int p, int64_t column) {
      if constexpr (Shape::kPacks > 0) packs_[p] = load_pack<Shape::kWidth>(row_ + column);
    });
  }
  // use(p, first column, pack): p counts the thread's packs, as far as they are kept.
  template <class Use>
  DTYPECHECK_DEVICE void each(Use use) const {
    each_place([&](int p, int64_t column) {
      if constexpr (Shape::kPacks > 0) {
        use(p, column, packs_[p]);
      } else {
        use(p, column, load_pack<Shape::kWidth>(row_ + column));
      }
    });
  }
  DTYPECHECK_DEVICE Pack<T, Shape::kWidth> at(int p, int64_t column) const {
    if constexpr (Shape::kPacks > 0) {
      return packs_[p];
    } else {
      return load_pack<Shape::kWidth>(row_ + column);
    }
  }

 private:
  template <class Use>
  DTYPECHECK_DEVICE void each_place(Use use) const {
    if constexpr (Shape::kPacks > 0) {
      DTYPECHECK_UNROLL
      for (int p = 0; p < Shape::kPacks; ++p) {
        const int64_t column = int64_t{p * Shape::kTeam + lane_} * Shape::kWidth;
        if (column < cols_) use(p, column);
      }
    } else {
      for (int64_t column = int64_t{lane_} * Shape::kWidth; column < cols_;
           column += Shape::kTeam * Shape::kWidth)
        use(0, column);
    }
  }

  const T* row_;
  int64_t cols_;
  int lane_;
  Pack<T, Shape::kWidth> packs_[Shape::kPacks == 0 ? 1 : Shape::kPacks];
};

// Sums over a team; a block that is one team has room for two, as one may still be read while the
// next is written.
template <class Shape>
class Team {
 public:
  struct Shared {
    float sums[2][2][Shape::kWarps];
  };
  DTYPECHECK_DEVICE Team(const Thread& t, Shared& shared) : t_(t), shared_(shared) {}
  DTYPECHECK_DEVICE int index() const { return t_.index() / Shape::kTeam; }
  DTYPECHECK_DEVICE int lane() const { return t_.index() % Shape::kTeam; }
  template <int n>
  DTYPECHECK_DEVICE void sum(float (&values)[n]) {
    DTYPECHECK_UNROLL
    for (int i = 0; i < n; ++i) values[i] = warp_sum(t_, values[i]);
    if constexpr (Shape::kWarps > 1) {
      DTYPECHECK_UNROLL
      for (int i = 0; i < n; ++i)
        if (lane() % kWarp == 0) shared_.sums[slot_][i][lane() / kWarp] = values[i];
      t_.sync();
      DTYPECHECK_UNROLL
      for (int i = 0; i < n; ++i) {
        values[i] = 0;
        DTYPECHECK_UNROLL
        for (int warp = 0; warp < Shape::kWarps; ++warp) values[i] += shared_.sums[slot_][i][warp];
      }
      slot_ ^= 1;
    }
  }
  DTYPECHECK_DEVICE float sum(float value) {
    float one[1] = {value};
    sum(one);
    return one[0];
  }

 private:
  const Thread& t_;
  Shared& shared_;
  int slot_ = 0;
};

DTYPECHECK_DEVICE float rstd_of(float variance, float eps) { return 1 / sqrtf(variance + eps); }

template <class T, bool kCentered, class Shape>
struct NormalizeRows {
  static constexpr int kThreads = Shape::kThreads;
  using Shared = typename Team<Shape>::Shared;

  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared& shared) const {
    Team<Shape> team(t, shared);
    for (int64_t row = t.block() * Shape::kTeams + team.index(); row < rows;
         row += t.blocks() * Shape::kTeams)
      normalize(team, row);
  }

  DTYPECHECK_DEVICE void normalize(Team<Shape>& team, int64_t row) const {
    const T* const from = x + row * cols;
    T* const to = y + row * cols;
    const float n = static_cast<float>(cols);
    float center = 0;
    const Row<T, Shape> numbers(from, cols, team.lane());
    if constexpr (kCentered) {
      // Around a number of the row, as the sum of large ones has no digits left for what is between
      // them.
      const float first = to_float(from[0]), near = isfinite(first) ? first : 0.f;
      float sum = 0;
      numbers.each([&](int, int64_t, const auto& pack) {
        DTYPECHECK_UNROLL
        for (int k = 0; k < Shape::kWidth; ++k) sum += to_float(pack.at[k]) - near;
      });
      center = near + team.sum(sum) / n;
    }
    float squares = 0;
    numbers.each([&](int, int64_t, const auto& pack) {
      DTYPECHECK_UNROLL
      for (int k = 0; k < Shape::kWidth; ++k) {
        const float off = to_float(pack.at[k]) - center;
        squares = fmaf(off, off, squares);
      }
    });
    const float scale = rstd_of(team.sum(squares) / n, eps);
    numbers.each([&](int, int64_t column, const auto& pack) {
      float weight[Shape::kWidth], bias[Shape::kWidth];
      gamma.load(column, weight);
      if constexpr (kCentered) beta.load(column, bias);
      Pack<T, Shape::kWidth> result;
      DTYPECHECK_UNROLL
      for (int k = 0; k < Shape::kWidth; ++k) {
        const float z = (to_float(pack.at[k]) - center) * scale;
        assign(result.at[k], kCentered ? fmaf(z, weight[k], bias[k]) : z * weight[k]);
      }
      store_pack<Shape::kWidth>(to + column, result);
    });
    if (team.lane() == 0) {
      if (kCentered && mean) mean[row] = center;
      if (rstd) rstd[row] = scale;
    }
  }

  int64_t rows, cols;
  const T* x;
  Weights gamma, beta;
  float eps;
  T* y;
  float *mean, *rstd;
};

template <bool kCentered>
void normalize_rows(const LayerNorm& a) {
  if (a.rows == 0) return;
  with_type(a.x.dtype, [&](auto number) {
    using T = decltype(number);
    with_row_shape<T>(a.cols, is_aligned(a.x.data) && is_aligned(a.y.data), [&](auto shape) {
      using Shape = decltype(shape);
      // Blocks that go on to another row spare none a launch; the bound is the grid's.
      const int64_t blocks = std::min<int64_t>(parts_of(a.rows, Shape::kTeams), INT32_MAX);
      launch(*a.device, blocks,
             NormalizeRows<T, kCentered, Shape>{a.rows, a.cols, static_cast<const T*>(a.x.data),
                                                Weights(a.gamma, 1), Weights(a.beta, 0),
                                                static_cast<float>(a.eps),
                                                static_cast<T*>(a.y.data), a.mean, a.rstd});
    });
  });
}

// ---- backward

// Row sums of so many parts: partial[part][column]. In double, in order.
struct SumParts {
  static constexpr int kThreads = 256, kSlices = kThreads / kWarp;
  struct Shared {
    double sums[kSlices][kWarp];
  };
  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared& shared) const {
    const int lane = t.index() % kWarp, slice = t.index() / kWarp;
    for (int64_t first = t.block() * kWarp; first < cols; first += t.blocks() * kWarp) {
      const int64_t column = first + lane;
      double sum = 0;
      if (column < cols)
        for (int64_t part = slice; part < parts; part += kSlices)
          sum += static_cast<double>(partial[part * cols + column]);
      shared.sums[slice][lane] = sum;
      t.sync();
      if (slice == 0 && column < cols) {
        for (int i = 1; i < kSlices; ++i) sum += shared.sums[i][lane];
        store_number(y, column, static_cast<float>(sum));
      }
      t.sync();
    }
  }
  int64_t parts, cols;
  const float* partial;
  Output y;
};

inline void sum_parts(const Device& device, int64_t parts, int64_t cols, const float* partial,
                      Output y) {
  if (y.data)
    launch(device, std::min<int64_t>(parts_of(cols, kWarp), INT32_MAX),
           SumParts{parts, cols, partial, y});
}

// dx, and where rows are kept in registers the block's sums of dy * z and dy by column.
template <class T, bool kCentered, class Shape>
struct NormalizeRowsBackward {
  static constexpr int kThreads = Shape::kThreads;
  static constexpr bool kSumsColumns = Shape::kPacks > 0;
  struct Shared {
    typename Team<Shape>::Shared team;
    float sums[kSumsColumns && Shape::kTeams > 1 ? Shape::kPacks* Shape::kTeam* Shape::kWidth : 1];
  };

  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared& shared) const {
    Team<Shape> team(t, shared.team);
    float gammas[Shape::kSums] = {}, betas[Shape::kSums] = {};
    for (int64_t row = t.block() * Shape::kTeams + team.index(); row < rows;
         row += t.blocks() * Shape::kTeams)
      one_row(team, row, gammas, betas);
    if constexpr (kSumsColumns) {
      write_sums(t, team, shared, gammas, dgamma);
      if constexpr (kCentered) write_sums(t, team, shared, betas, dbeta);
    }
  }

  DTYPECHECK_DEVICE void one_row(Team<Shape>& team, int64_t row, float (&gammas)[Shape::kSums],
                                 float (&betas)[Shape::kSums]) const {
    const float n = static_cast<float>(cols), center = kCentered ? mean[row] : 0.f,
                scale = rstd[row];
    const Row<T, Shape> xs(x + row * cols, cols, team.lane()),
        dys(dy + row * cols, cols, team.lane());
    float sums[2] = {0, 0};
    xs.each([&](int p, int64_t column, const auto& pack) {
      float weight[Shape::kWidth];
      gamma.load(column, weight);
      const auto given = dys.at(p, column);
      DTYPECHECK_UNROLL
      for (int k = 0; k < Shape::kWidth; ++k) {
        const float here = to_float(given.at[k]), h = here * weight[k],
                    z = (to_float(pack.at[k]) - center) * scale;
        sums[0] += h;
        sums[1] = fmaf(h, z, sums[1]);
        if constexpr (kSumsColumns) {
          gammas[p * Shape::kWidth + k] = fmaf(here, z, gammas[p * Shape::kWidth + k]);
          betas[p * Shape::kWidth + k] += here;
        }
      }
    });
    team.sum(sums);
    const float mean_h = kCentered ? sums[0] / n : 0.f, mean_dot = sums[1] / n;
    xs.each([&](int p, int64_t column, const auto& pack) {
      float weight[Shape::kWidth];
      gamma.load(column, weight);
      const auto given = dys.at(p, column);
      Pack<T, Shape::kWidth> result;
      DTYPECHECK_UNROLL
      for (int k = 0; k < Shape::kWidth; ++k) {
        const float z = (to_float(pack.at[k]) - center) * scale;
        const float h = fmaf(to_float(given.at[k]), weight[k], -mean_h);
        assign(result.at[k], scale * fmaf(-z, mean_dot, h));
      }
      store_pack<Shape::kWidth>(dx + row * cols + column, result);
    });
  }

  // The teams of the block add theirs one after the other.
  DTYPECHECK_DEVICE void write_sums(const Thread& t, const Team<Shape>& team, Shared& shared,
                                    const float (&sums)[Shape::kSums], float* to) const {
    if (!to) return;
    DTYPECHECK_UNROLL
    for (int who = 0; who < Shape::kTeams; ++who) {
      if (team.index() == who) {
        DTYPECHECK_UNROLL
        for (int p = 0; p < Shape::kPacks; ++p) {
          const int64_t column = int64_t{p * Shape::kTeam + team.lane()} * Shape::kWidth;
          DTYPECHECK_UNROLL
          for (int k = 0; k < Shape::kWidth; ++k) {
            float sum = sums[p * Shape::kWidth + k];
            if (who > 0) sum += shared.sums[column + k];
            if (who < Shape::kTeams - 1) {
              shared.sums[column + k] = sum;
            } else if (column < cols) {
              to[t.block() * cols + column + k] = sum;
            }
          }
        }
      }
      if (Shape::kTeams > 1) t.sync();
    }
  }

  int64_t rows, cols;
  const T *dy, *x;
  Weights gamma;
  const float *mean, *rstd;
  T* dx;
  float *dgamma, *dbeta;  // blocks x cols; null: not wanted
};

// The sums of dy * z and dy by column, of rows that are too wide for registers or lie unaligned: a
// warp reads 32 columns of a row at once.
template <class T, bool kCentered>
struct SumColumns {
  static constexpr int kThreads = 256, kSlices = kThreads / kWarp;
  struct Shared {
    float sums[2][kSlices][kWarp];
  };
  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared& shared) const {
    const int lane = t.index() % kWarp, slice = t.index() / kWarp;
    const int64_t tiles = (cols + kWarp - 1) / kWarp;
    for (int64_t i = t.block(); i < tiles * parts; i += t.blocks()) {
      const int64_t part = i / tiles, column = i % tiles * kWarp + lane;
      const int64_t last = rows < (part + 1) * rows_of_part ? rows : (part + 1) * rows_of_part;
      float of_gamma = 0, of_beta = 0;
      if (column < cols) {
        for (int64_t row = part * rows_of_part + slice; row < last; row += kSlices) {
          const float here = to_float(dy[row * cols + column]),
                      center = kCentered ? mean[row] : 0.f;
          of_gamma = fmaf(here, (to_float(x[row * cols + column]) - center) * rstd[row], of_gamma);
          of_beta += here;
        }
      }
      shared.sums[0][slice][lane] = of_gamma;
      shared.sums[1][slice][lane] = of_beta;
      t.sync();
      if (slice < 2 && column < cols) {
        float* const to = slice == 0 ? dgamma : dbeta;
        float sum = 0;
        for (int k = 0; k < kSlices; ++k) sum += shared.sums[slice][k][lane];
        if (to) to[part * cols + column] = sum;
      }
      t.sync();
    }
  }
  int64_t rows, cols, parts, rows_of_part;
  const T *dy, *x;
  const float *mean, *rstd;
  float *dgamma, *dbeta;  // parts x cols; null: not wanted
};

template <bool kCentered>
void normalize_rows_backward(const LayerNormBackward& a) {
  const Device& device = *a.device;
  const bool aligned = is_aligned(a.x.data) && is_aligned(a.dy.data) && is_aligned(a.dx.data);
  const bool of_gamma = a.dgamma.data, of_beta = kCentered && a.dbeta.data;
  with_type(a.x.dtype, [&](auto number) {
    using T = decltype(number);
    const T *const dy = static_cast<const T*>(a.dy.data), *const x =
                                                              static_cast<const T*>(a.x.data);
    with_row_shape<T>(a.cols, aligned, [&](auto shape) {
      using Shape = decltype(shape);
      using Kernel = NormalizeRowsBackward<T, kCentered, Shape>;
      // Each block leaves a sum of every column: two blocks a multiprocessor, more where a thread
      // would add up more than kFloatRows in Float.
      constexpr int64_t kBlocksOfEach = 2, kFloatRows = 128;
      int64_t blocks = parts_of(a.rows, Shape::kTeams), parts, rows_of_part = 0;
      if (Kernel::kSumsColumns) {
        blocks = parts = std::min(
            blocks, std::max(kBlocksOfEach * multiprocessors(), parts_of(blocks, kFloatRows)));
      } else {
        const int64_t tiles = parts_of(a.cols, kWarp);
        rows_of_part = std::clamp<int64_t>(parts_of(a.rows * tiles, 4 * multiprocessors()), 64,
                                           kFloatRows * 8);
        parts = parts_of(a.rows, rows_of_part);
      }
      float* const gammas = of_gamma ? room<float>(device, parts * a.cols) : nullptr;
      float* const betas = of_beta ? room<float>(device, parts * a.cols) : nullptr;
      if (!Kernel::kSumsColumns && (of_gamma || of_beta)) {  // before dx may overwrite dy
        const int64_t tiles = parts_of(a.cols, kWarp);
        launch(device, std::min<int64_t>(tiles * parts, INT32_MAX),
               SumColumns<T, kCentered>{a.rows, a.cols, parts, rows_of_part, dy, x, a.mean, a.rstd,
                                        gammas, betas});
      }
      launch(device, std::min<int64_t>(blocks, INT32_MAX),
             Kernel{a.rows, a.cols, dy, x, Weights(a.gamma, 1), a.mean, a.rstd,
                    static_cast<T*>(a.dx.data), gammas, betas});
      if (of_gamma) sum_parts(device, parts, a.cols, gammas, a.dgamma);
      if (of_beta) sum_parts(device, parts, a.cols, betas, a.dbeta);
    });
  });
}

}  // namespace dtypecheck::kernels::cuda
