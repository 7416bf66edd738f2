#include "kernels/cat/cat.h"

namespace dtypecheck::kernels {

void cat_ref(const Cat& c) {
  int64_t to = 0;
  for (int64_t r = 0; r < c.rows; ++r) {
    for (const CatPiece& piece : c.pieces) {
      for (int64_t i = 0; i < piece.cols; ++i)
        store(c.y, to++, load(piece.x, r * piece.row_stride + i));
    }
  }
}

}  // namespace dtypecheck::kernels
