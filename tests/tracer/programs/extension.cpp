// An extension of extension.py: an op of the dispatcher.
#include <ATen/ATen.h>
#include <torch/library.h>

static at::Tensor pooled(const at::Tensor& rows, const at::Tensor& index, int64_t count) {
  at::Tensor out = at::zeros({count, rows.size(1)});  // <- factory
  out.index_add_(0, index, rows);                     // <- refused
  return out;
}

TORCH_LIBRARY(rows, m) { m.def("pooled(Tensor rows, Tensor index, int count) -> Tensor", pooled); }
