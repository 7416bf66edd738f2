#include "kernels/matmul/blocks.h"

#include <algorithm>

#include "kernels/room.h"
#include "kernels/threads.h"

namespace dtypecheck::kernels {

namespace {

// Words of the inner dimension in a block: a tile's part of both factors stays in the nearest
// cache.
constexpr int64_t kWords = 384;
// About so many rows and columns share packed blocks, which the last cache holds; and a part of
// that is one thread's.
constexpr int64_t kBlockRows = 1008, kBlockCols = 1024;
constexpr int64_t kPartRows = 224, kPartCols = 256;

int64_t parts_of(int64_t n, int64_t part) { return (n + part - 1) / part; }

// A block of one factor: panels as wide as the tile.
struct Packed {
  const Factor* factor;
  int64_t width, first, count;  // of the outer dimension
  float* words;

  int64_t panels() const { return parts_of(count, width); }
  int64_t panel_words() const { return width * kWords + kSlack; }
  float* panel(int64_t i) const { return words + i * panel_words(); }
  void pack(int64_t i, int64_t inner, int64_t depth, const Tile& tile) const {
    thread_local Room gathered;
    const int64_t size = std::min(width, count - i * width);
    float* const room = gathered.of(static_cast<size_t>(width * depth));
    tile.pack(factor->view(first + i * width, size, inner, depth, room), size, depth, width,
              panel(i));
  }
};

// One block of rows and columns, summed over the whole inner dimension.
class Block {
 public:
  Block(const Product& p, const Tile& tile, int64_t first_row, int64_t rows, int64_t first_col,
        int64_t cols)
      : p_(p),
        tile_(tile),
        a_{p.a, tile.rows, first_row, rows, nullptr},
        b_{p.b, tile.cols, first_col, cols, nullptr} {
    thread_local Room room;
    const bool in_one = p.inner <= depth_at_once();
    const int64_t a_words = a_.panels() * a_.panel_words();
    const int64_t b_words = b_.panels() * b_.panel_words();
    a_.words = room.of(static_cast<size_t>(a_words + b_words + (in_one ? 0 : rows * cols)));
    b_.words = a_.words + a_words;
    sums_ = in_one ? nullptr : b_.words + b_words;
  }

  void run() const {
    int64_t inner = 0;
    do {
      const int64_t depth = std::min(depth_at_once(), p_.inner - inner);
      pack(inner, depth);
      multiply(inner, depth);
      inner += depth;
    } while (inner < p_.inner);
  }

 private:
  int64_t depth_at_once() const { return kWords * tile_.numbers_in_word; }

  void pack(int64_t inner, int64_t depth) const {
    constexpr int64_t kPanels = 8;  // in a part
    const int64_t panels = a_.panels() + b_.panels();
    for_each_part(parts_of(panels, kPanels), [&](int64_t part) {
      const int64_t last = std::min(panels, (part + 1) * kPanels);
      for (int64_t i = part * kPanels; i < last; ++i) {
        if (i < a_.panels()) {
          a_.pack(i, inner, depth, tile_);
        } else {
          b_.pack(i - a_.panels(), inner, depth, tile_);
        }
      }
    });
  }

  void multiply(int64_t inner, int64_t depth) const {
    const int64_t a_panels = std::max<int64_t>(1, kPartRows / tile_.rows);
    const int64_t b_panels = std::max<int64_t>(1, kPartCols / tile_.cols);
    const int64_t down = parts_of(a_.panels(), a_panels);
    for_each_part(down * parts_of(b_.panels(), b_panels), [&](int64_t part) {
      const int64_t a_first = part % down * a_panels, b_first = part / down * b_panels;
      for (int64_t b = b_first; b < std::min(b_.panels(), b_first + b_panels); ++b) {
        for (int64_t a = a_first; a < std::min(a_.panels(), a_first + a_panels); ++a)
          multiply_panels(a, b, inner, depth);
      }
    });
  }

  void multiply_panels(int64_t a, int64_t b, int64_t inner, int64_t depth) const {
    alignas(64) float sums[kLargestTile];
    const int64_t row = a * tile_.rows, col = b * tile_.cols;  // in this block
    TileSums to;
    to.sums = sums;
    to.sums_stride = tile_.cols;
    to.rows = std::min(tile_.rows, a_.count - row);
    to.cols = std::min(tile_.cols, b_.count - col);
    to.stride = b_.count;
    float* const kept = sums_ ? sums_ + row * to.stride + col : nullptr;
    if (inner > 0) to.before = kept;
    if (inner + depth < p_.inner) to.after = kept;
    to.bias = from(p_.bias, p_.bias_of_rows ? a_.first + row : b_.first + col);
    to.bias_of_rows = p_.bias_of_rows;
    to.y = from(p_.y, (a_.first + row) * p_.y_stride + b_.first + col);
    to.y_stride = p_.y_stride;
    tile_.multiply(parts_of(depth, tile_.numbers_in_word), to.rows, a_.panel(a), b_.panel(b), sums);
    tile_.finish(to);
  }

  static constexpr int64_t kLargestTile = 1024;
  const Product& p_;
  const Tile& tile_;
  Packed a_, b_;
  float* sums_;
};

}  // namespace

View MatrixFactor::view(int64_t outer, int64_t, int64_t inner, int64_t, float*) const {
  View part = all_;
  part.numbers = from(all_.numbers, outer * all_.outer_stride + inner * all_.inner_stride);
  return part;
}

void multiply_in_blocks(const Product& p, const Tile& tile) {
  const int64_t block_rows = kBlockRows / tile.rows * tile.rows;
  const int64_t block_cols = kBlockCols / tile.cols * tile.cols;
  for (int64_t col = 0; col < p.cols; col += block_cols) {
    for (int64_t row = 0; row < p.rows; row += block_rows) {
      Block(p, tile, row, std::min(block_rows, p.rows - row), col,
            std::min(block_cols, p.cols - col))
          .run();
    }
  }
}

// Many small products are a part each; of few large ones the blocks are.
void matmul_in_blocks(const Matmul& m, const Tile& tile) {
  const auto one = [&](int64_t n) {
    const MatrixFactor a(from(m.a.numbers, n * m.a.batch_stride), m.a.row_stride, m.a.col_stride);
    const MatrixFactor b(from(m.b.numbers, n * m.b.batch_stride), m.b.col_stride, m.b.row_stride);
    multiply_in_blocks({.rows = m.rows,
                        .cols = m.cols,
                        .inner = m.inner,
                        .a = &a,
                        .b = &b,
                        .bias = m.bias,
                        .y = from(m.y, n * m.y_batch_stride),
                        .y_stride = m.y_row_stride},
                       tile);
  };
  if (m.batch >= 8) return for_each_part(m.batch, one);
  for (int64_t n = 0; n < m.batch; ++n) one(n);
}

}  // namespace dtypecheck::kernels
