// An int64 count that is cast to Int before it is read: what did not fit is lost without a word.
#include <torch/extension.h>

int narrowed(at::Tensor x) {
  at::Tensor ends = x.to(at::kLong).cumsum(0).to(at::kInt);
  return ends[-1].item<int>();
  // EXPECT warning: ends[-1] is Long, cast to Int, which wraps what does not fit [scalar-item]
}

// It was Int before, or is read as wide as it is.
int64_t kept(at::Tensor x) {
  at::Tensor flags = x.to(at::kInt).to(at::kLong).to(at::kLong);
  return x.to(at::kInt).item<int>() + flags.item<int64_t>();
}

// A fraction that is cut off and read as a float; one that is read as the integer it became is meant.
float fraction(int64_t n) {
  const at::Tensor loss = at::rand({n}).mean();
  const float whole = static_cast<float>(loss.to(at::kInt).item<int>()) + loss.item().toFloat();
  const double read = loss.to(at::kLong).item().toDouble();
  // EXPECT warning: loss.to(at::kLong) is Float, cast to Long, which drops what is behind the point [scalar-item]
  return whole + read + loss.to(at::kInt).item<float>();
  // EXPECT warning: loss.to(at::kInt) is Float, cast to Int, which drops what is behind the point [scalar-item]
}
