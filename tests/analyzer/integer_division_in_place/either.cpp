// A buffer of the caller or one like the input: all that is known is the dispatch around it.
#include <torch/extension.h>

#include <optional>

at::Tensor mean(at::Tensor x, std::optional<at::Tensor> given, at::Tensor count) {
  at::Tensor out;
  if (given.has_value()) out = given.value();
  else out = at::zeros({4}, x.options());
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "mean", [&] {
    out.div_(count);
    // EXPECT note: out is divided in place where the dispatch may be on an integral dtype [integer-division-in-place]
    out.to(at::kFloat).div_(count);
  });
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "mean", [&] { out.div_(count); });
  return out;
}
