// flat_parts.h: FullyShardedDataParallel keeps many parameters in one flat tensor. An optimizer is
// given that tensor, its gradient, and states of its size: each is digested parameter by parameter,
// as if the optimizer were given these.
#pragma once

#include <memory>
#include <vector>

#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

struct FlatPartIds {
  uint32_t parameter = 0, cut = 0;  // strings of the trace
  int64_t offset = 0, count = 0;
};
using FlatLayout = std::shared_ptr<const std::vector<FlatPartIds>>;

// Null for a tensor that is none. A FlatParameter is one, and so is what note_layout() was told.
// May take the GIL.
FlatLayout layout_of(const c10::TensorImpl* impl);
// Nothing where the tensor has another size than a flat one of this layout.
void note_layout(const c10::TensorImpl* impl, const FlatLayout& layout);

// The elements of a part: on the storage of the flat tensor, with its version.
c10::intrusive_ptr<c10::TensorImpl> part_of(const c10::TensorImpl* flat, const FlatPartIds& part);

void forget_layouts();

}  // namespace dtypecheck::tracer
