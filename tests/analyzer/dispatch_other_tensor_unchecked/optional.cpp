// A tensor that may be absent is compared where it is there; where it is not, nothing is read.
#include <torch/extension.h>

template <typename T>
void run(const T* x, const T* bias);

void by_value(at::Tensor x, c10::optional<at::Tensor> a) {
  if (a.has_value()) {
    TORCH_CHECK(a.value().scalar_type() == x.scalar_type());
  }
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "by_value", [&] {
    run(x.data_ptr<scalar_t>(), a.has_value() ? a.value().data_ptr<scalar_t>() : nullptr);
  });
}

void by_arrow(at::Tensor x, c10::optional<at::Tensor> b) {
  const bool has_bias = b.has_value();
  if (has_bias) TORCH_CHECK(b->scalar_type() == x.scalar_type());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "by_arrow", [&] {
    run(x.data_ptr<scalar_t>(), has_bias ? b->data_ptr<scalar_t>() : nullptr);
  });
}

void by_defined(at::Tensor x, const at::Tensor& c) {
  TORCH_CHECK(!c.defined() || c.scalar_type() == x.scalar_type());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "by_defined", [&] {
    run(x.data_ptr<scalar_t>(), c.defined() ? c.data_ptr<scalar_t>() : nullptr);
  });
}

void by_variable(at::Tensor x, const c10::optional<at::Tensor>& given) {
  at::Tensor d;
  if (given.has_value()) {
    d = given.value();
    TORCH_CHECK(d.scalar_type() == x.scalar_type());
  }
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "by_variable", [&] {
    run(x.data_ptr<scalar_t>(), d.defined() ? d.data_ptr<scalar_t>() : nullptr);
  });
}

// Another condition decides whether it is compared, or it is there and not compared at all.
void by_flag(at::Tensor x, c10::optional<at::Tensor> e, bool strict) {
  if (strict) TORCH_CHECK(e.value().scalar_type() == x.scalar_type());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "by_flag", [&] {
    run(x.data_ptr<scalar_t>(), e.has_value() ? e.value().data_ptr<scalar_t>() : nullptr);
    // EXPECT warning: e.value() is read as the dtype of x, and nothing says that it has it [dispatch-other-tensor-unchecked]
  });
}

void by_presence(at::Tensor x, c10::optional<at::Tensor> f) {
  TORCH_CHECK(!f.has_value() || f->dim() == 1);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "by_presence", [&] {
    run(x.data_ptr<scalar_t>(), f ? f->data_ptr<scalar_t>() : nullptr);
    // EXPECT warning: f is read as the dtype of x, and nothing says that it has it [dispatch-other-tensor-unchecked]
  });
}
