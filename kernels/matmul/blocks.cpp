#include "kernels/matmul/blocks.h"

#include <algorithm>

#include "kernels/room.h"
#include "kernels/threads.h"

namespace dtypecheck::kernels {

namespace {

// A tile goes through so many words of the inner dimension at a time, of which b's and the sums of
// the tiles below each other stay in the nearest cache; and so many are packed at once.
constexpr int64_t kWords = 192, kWordsAtOnce = 8 * kWords;
// About so many rows and columns share packed blocks, which the last cache holds; and a part of
// that is one thread's, whose rows the second cache holds.
constexpr int64_t kBlockRows = 1008, kBlockCols = 1024;
constexpr int64_t kPartRows = 224, kPartCols = 256;
// Fewer rows are cheaper than packing.
constexpr int64_t kFewRows = 16;

int64_t parts_of(int64_t n, int64_t part) { return (n + part - 1) / part; }

// A size near `most` that cuts n into alike pieces, each of whole tiles.
int64_t even_size(int64_t n, int64_t most, int64_t tile) {
  const int64_t pieces = std::max<int64_t>(1, (n + most / 2) / most);
  return std::max<int64_t>(1, parts_of(parts_of(n, pieces), tile)) * tile;
}

// A block of one factor: panels of at most the tile's width, and as many numbers in each.
class Packed {
 public:
  Packed(const View& factor, int64_t tile_width, int64_t first, int64_t count, int64_t words)
      : factor_(factor),
        width_(tile_width),
        first_(first),
        count_(count),
        panels_(parts_of(count, tile_width)),
        in_panel_(parts_of(count, panels_)),
        panel_words_(tile_width * words + kSlack) {}

  int64_t panels() const { return panels_; }
  int64_t words(int64_t panels) const { return panels * panel_words_; }
  int64_t words() const { return words(panels_); }
  // Where the panels from `first` on are.
  void put_at(float* words, int64_t first = 0) {
    words_ = words;
    first_panel_ = first;
  }
  int64_t first(int64_t panel) const { return panel * in_panel_; }  // in the block
  int64_t size(int64_t panel) const { return std::min(in_panel_, count_ - first(panel)); }
  const float* panel(int64_t i, int64_t word) const { return at(i) + word * width_; }

  void pack(int64_t i, int64_t inner, int64_t depth, const Tile& tile) const {
    const int64_t step = kWords * tile.numbers_in_word;
    for (int64_t done = 0; done < depth; done += step) {
      tile.pack(factor_.at(first_ + first(i), inner + done), size(i), std::min(step, depth - done),
                width_, at(i) + done / tile.numbers_in_word * width_);
    }
  }

 private:
  float* at(int64_t panel) const { return words_ + (panel - first_panel_) * panel_words_; }
  View factor_;
  int64_t width_, first_, count_, panels_, in_panel_, panel_words_;
  float* words_ = nullptr;
  int64_t first_panel_ = 0;
};

// Which of a product's rows and columns.
struct Extent {
  int64_t first_row, rows, first_col, cols;
};

// Panels of a factor, first to last - 1.
struct Panels {
  int64_t first, last;
};

// One block of rows and columns, summed over the whole inner dimension. Where one factor is a
// single part, each of the other's panels is used once: it is packed by the part that uses it, in
// the second cache. Else both are packed before.
class Block {
 public:
  Block(const Product& p, const Tile& tile, const Extent& e)
      : p_(p),
        tile_(tile),
        e_(e),
        words_(even_size(parts_of(p.inner, tile.numbers_in_word), kWordsAtOnce, 1)),
        a_(p.a, tile.rows, e.first_row, e.rows, words_),
        b_(p.b, tile.cols, e.first_col, e.cols, words_),
        parts_pack_a_(e.cols <= kPartCols),
        parts_pack_b_(!parts_pack_a_ && e.rows <= kPartRows) {
    thread_local Room room;
    const int64_t of_a = parts_pack_a_ ? 0 : a_.words(), of_b = parts_pack_b_ ? 0 : b_.words();
    const int64_t sums = in_one() ? 0 : e.rows * e.cols;
    // b first: it is where the block before had it, of other rows and the same columns.
    float* const all = room.reserve(static_cast<size_t>(of_a + of_b + sums));
    b_.put_at(all);
    a_.put_at(all + of_b);
    sums_ = sums > 0 ? all + of_b + of_a : nullptr;
  }

  // Whether the next block of the same columns finds b packed.
  bool leaves_b() const { return in_one() && !parts_pack_b_; }

  void run(bool b_is_packed) const {
    int64_t inner = 0;
    do {
      const int64_t depth = std::min(depth_at_once(), p_.inner - inner);
      pack(inner, depth, b_is_packed);
      multiply(inner, depth);
      inner += depth;
    } while (inner < p_.inner);
  }

 private:
  int64_t depth_at_once() const { return words_ * tile_.numbers_in_word; }
  bool in_one() const { return p_.inner <= depth_at_once(); }

  void pack(int64_t inner, int64_t depth, bool b_is_packed) const {
    constexpr int64_t kPanels = 4;  // in a part
    const int64_t of_a = parts_pack_a_ ? 0 : a_.panels();
    const int64_t panels = of_a + (b_is_packed || parts_pack_b_ ? 0 : b_.panels());
    for_each_part(parts_of(panels, kPanels), [&](int64_t part) {
      const int64_t last = std::min(panels, (part + 1) * kPanels);
      for (int64_t i = part * kPanels; i < last; ++i) {
        if (i < of_a) {
          a_.pack(i, inner, depth, tile_);
        } else {
          b_.pack(i - of_a, inner, depth, tile_);
        }
      }
    });
  }

  // So many panels are a part: as many as the second cache holds half full, where it packs them.
  int64_t panels_of_part(int64_t most, int64_t width, bool packs) const {
    constexpr int64_t kCacheWords = 1 << 17;
    return std::max<int64_t>(1, (packs ? std::min(most, kCacheWords / words_) : most) / width);
  }

  Packed packed_by_part(const Packed& all, const Panels& panels, int64_t inner, int64_t depth,
                        Room& room) const {
    Packed here = all;
    here.put_at(room.reserve(static_cast<size_t>(all.words(panels.last - panels.first))),
                panels.first);
    for (int64_t i = panels.first; i < panels.last; ++i) here.pack(i, inner, depth, tile_);
    return here;
  }

  void multiply(int64_t inner, int64_t depth) const {
    const int64_t a_panels = panels_of_part(kPartRows, tile_.rows, parts_pack_a_);
    const int64_t b_panels = panels_of_part(kPartCols, tile_.cols, parts_pack_b_);
    const int64_t down = parts_of(a_.panels(), a_panels);
    for_each_part(down * parts_of(b_.panels(), b_panels), [&](int64_t part) {
      thread_local Room room, of_sums;
      float* const sums = of_sums.reserve(static_cast<size_t>(a_panels * tile_.rows * tile_.cols));
      const int64_t a_first = part % down * a_panels, b_first = part / down * b_panels;
      const Panels rows{a_first, std::min(a_.panels(), a_first + a_panels)};
      const Panels cols{b_first, std::min(b_.panels(), b_first + b_panels)};
      const Packed a = parts_pack_a_ ? packed_by_part(a_, rows, inner, depth, room) : a_;
      const Packed b = parts_pack_b_ ? packed_by_part(b_, cols, inner, depth, room) : b_;
      for (int64_t i = cols.first; i < cols.last; ++i) {
        multiply_panels(a, rows, b, i, parts_of(depth, tile_.numbers_in_word), sums);
        for (int64_t j = rows.first; j < rows.last; ++j)
          finish(j, i, inner, depth, sums + (j - rows.first) * tile_.rows * tile_.cols);
      }
    });
  }

  void multiply_panels(const Packed& a, const Panels& rows, const Packed& b, int64_t col,
                       int64_t words, float* sums) const {
    int64_t word = 0;
    do {
      const int64_t here = std::min(kWords, words - word);
      for (int64_t i = rows.first; i < rows.last; ++i)
        tile_.multiply(here, a.size(i), a.panel(i, word), b.panel(col, word),
                       sums + (i - rows.first) * tile_.rows * tile_.cols, /*adds=*/word > 0);
      word += here;
    } while (word < words);
  }

  void finish(int64_t a, int64_t b, int64_t inner, int64_t depth, const float* sums) const {
    const int64_t row = a_.first(a), col = b_.first(b);  // in this block
    TileSums to;
    to.sums = sums;
    to.sums_stride = tile_.cols;
    to.rows = a_.size(a);
    to.cols = b_.size(b);
    to.stride = e_.cols;
    float* const kept = sums_ ? sums_ + row * to.stride + col : nullptr;
    if (inner > 0) to.before = kept;
    if (inner + depth < p_.inner) to.after = kept;
    to.bias = from(p_.bias, e_.first_col + col);
    to.y = from(p_.y, (e_.first_row + row) * p_.y_stride + e_.first_col + col);
    to.y_stride = p_.y_stride;
    tile_.finish(to);
  }

  const Product& p_;
  const Tile& tile_;
  Extent e_;
  int64_t words_;  // in a panel, for each of its width
  Packed a_, b_;
  bool parts_pack_a_, parts_pack_b_;
  float* sums_;
};

// b's columns are read as they lie, once for all rows; a's rows are words one after the other.
void multiply_few_rows(const Product& p, const Tile& tile) {
  constexpr int64_t kCols = 64;  // in a part
  thread_local Room room;
  const int64_t words = parts_of(p.inner, tile.numbers_in_word), row_words = words + kSlack;
  float* const a = room.reserve(static_cast<size_t>(p.rows * row_words));
  for (int64_t r = 0; r < p.rows; ++r) {
    float* const row = a + r * row_words;
    if (words > 0) tile.pack(p.a.at(r, 0), 1, p.inner, 1, row);
    std::fill_n(row + words, kSlack, 0.f);
  }
  for_each_part(parts_of(p.cols, kCols), [&](int64_t part) {
    float sums[kFewRows * kCols];
    const int64_t first = part * kCols;
    TileSums to;
    to.sums = sums;
    to.sums_stride = kCols;
    to.rows = p.rows;
    to.cols = std::min(kCols, p.cols - first);
    to.bias = from(p.bias, first);
    to.y = from(p.y, first);
    to.y_stride = p.y_stride;
    tile.multiply_few(p.inner, p.rows, a, row_words, p.b.at(first, 0), to.cols, sums, kCols);
    tile.finish(to);
  });
}

void multiply_in_blocks(const Product& p, const Tile& tile) {
  const int64_t block_rows = even_size(p.rows, kBlockRows, tile.rows);
  const int64_t block_cols = even_size(p.cols, kBlockCols, tile.cols);
  for (int64_t col = 0; col < p.cols; col += block_cols) {
    for (int64_t row = 0; row < p.rows; row += block_rows) {
      const Block block(
          p, tile,
          {row, std::min(block_rows, p.rows - row), col, std::min(block_cols, p.cols - col)});
      block.run(/*b_is_packed=*/row > 0 && block.leaves_b());
    }
  }
}

}  // namespace

// Many small products are a part each; of few large ones the blocks are.
void matmul_in_blocks(const Matmul& m, const Tile& tile) {
  const auto one = [&](int64_t n) {
    const Product p{.rows = m.rows,
                    .cols = m.cols,
                    .inner = m.inner,
                    .a = {from(m.a.numbers, n * m.a.batch_stride), m.a.row_stride, m.a.col_stride},
                    .b = {from(m.b.numbers, n * m.b.batch_stride), m.b.col_stride, m.b.row_stride},
                    .bias = m.bias,
                    .y = from(m.y, n * m.y_batch_stride),
                    .y_stride = m.y_row_stride};
    if (m.rows <= kFewRows && m.b.row_stride == 1 && tile.multiply_few)
      return multiply_few_rows(p, tile);
    multiply_in_blocks(p, tile);
  };
  if (m.batch >= 8) return for_each_part(m.batch, one);
  for (int64_t n = 0; n < m.batch; ++n) one(n);
}

}  // namespace dtypecheck::kernels
