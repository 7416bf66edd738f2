// finite.h: whether stored numbers are numbers, looked up in their bits; without LibTorch.
#pragma once

#include <cstddef>
#include <optional>

#include "runtime/safetensors.h"

namespace dtypecheck::runtime {

// The index of the first NaN or inf. Whole numbers have none.
std::optional<size_t> first_non_finite(const StoredTensor& tensor);

}  // namespace dtypecheck::runtime
