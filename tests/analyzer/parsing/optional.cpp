// What is called optional may hold several types, or none: the second one comes of a header that is not here.
#include <torch/extension.h>
#include <vendor/optional.h>

template <typename... Types>
struct optional {
  bool has_value() const;
};

float first(at::Tensor x, vendor::optional<at::Tensor> scale) {
  optional<int, float> lanes;
  optional<> none;
  if (lanes.has_value() || none.has_value() || scale.has_value()) return 0;
  return *x.data_ptr<float>();
  // EXPECT note: x is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}
