#include "kernels/element.h"

#include <fmt/format.h>

#include "core/dtype_set.h"

namespace dtypecheck::kernels {

void require(bool holds, std::string_view operation, std::string_view expected) {
  if (!holds) throw InputError(fmt::format("{}: expected {}", operation, expected));
}

void require_numbers(Input x, std::string_view operation, std::string_view argument,
                     bool optional) {
  if (!(DtypeSet(Dtype::kFloat) | kLowPrecision).contains(x.dtype)) {
    throw InputError(fmt::format("{}: {} is {}, expected Float, Half or BFloat16; cast it first",
                                 operation, argument, dtype_name(x.dtype)));
  }
  if (!x.data && !optional) {
    throw InputError(
        fmt::format("{}: {} is null, expected a pointer to its numbers", operation, argument));
  }
  if (reinterpret_cast<uintptr_t>(x.data) % static_cast<unsigned>(dtype_size_bytes(x.dtype)) != 0) {
    throw InputError(fmt::format("{}: {} at {} is not aligned to {}; copy it", operation, argument,
                                 fmt::ptr(x.data), dtype_name(x.dtype)));
  }
}

void require_numbers(Output y, std::string_view operation, std::string_view argument,
                     bool optional) {
  require_numbers(Input{y.data, y.dtype}, operation, argument, optional);
}

void require_eps(double eps, std::string_view operation) {
  require(std::isfinite(eps) && eps >= 0, operation, "an eps of 0 or more");
}

void require_same_dtype(Dtype a, Dtype b, std::string_view operation, std::string_view arguments) {
  if (a == b) return;
  throw InputError(fmt::format("{}: {} are {} and {}, expected one dtype; cast one of them",
                               operation, arguments, dtype_name(a), dtype_name(b)));
}

}  // namespace dtypecheck::kernels
