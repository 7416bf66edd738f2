// norm_arguments.h: what layer and group norm ask of their arguments alike. `empty`: there is
// nothing to normalise, and pointers may be null.
#pragma once

#include "kernels/element.h"

namespace dtypecheck::kernels {

template <class Arguments>
void require_rows(const Arguments& a, std::string_view name) {
  require(a.rows >= 0 && a.cols >= 1, name, "rows of 0 or more and cols of 1 or more");
}

template <class Arguments>
void require_norm(const Arguments& a, std::string_view name, bool empty) {
  require_eps(a.eps, name);
  require_numbers(a.x, name, "x", empty);
  require_numbers(a.y, name, "y", empty);
  require_same_dtype(a.x.dtype, a.y.dtype, name, "x and y");
  require_numbers(a.gamma, name, "gamma", /*optional=*/true);
}

template <class Arguments>
void require_norm_backward(const Arguments& a, std::string_view name, bool empty) {
  require_numbers(a.dy, name, "dy", empty);
  require_numbers(a.x, name, "x", empty);
  require_numbers(Input{a.rstd}, name, "rstd", empty);
  require_numbers(a.dx, name, "dx", empty);
  require_same_dtype(a.x.dtype, a.dy.dtype, name, "x and dy");
  require_same_dtype(a.x.dtype, a.dx.dtype, name, "x and dx");
  require_numbers(a.gamma, name, "gamma", /*optional=*/true);
  require_numbers(a.dgamma, name, "dgamma", /*optional=*/true);
}

}  // namespace dtypecheck::kernels
