// A choice of two dtypes by the type of a template gives one of them to every other type.
#include <torch/torch.h>

#include <type_traits>

template <typename T>
at::Tensor scratch(at::Tensor x) {
  const auto dtype = std::is_same<T, float>::value ? at::kFloat : at::kBFloat16;
  // EXPECT warning: every T other than Float is treated as BFloat16 [dtype-branch]
  const auto sum = std::is_same<T, double>::value ? at::kDouble : x.scalar_type();
  const auto wide = sizeof(T) == 8 ? at::kDouble : at::kFloat;
  return at::empty({1}, dtype).to(sum).to(wide);
}
