// Where an element stands is below int, a sum over elements may be beyond it.
#include <torch/extension.h>

int nearest(at::Tensor distances, at::Tensor degrees) {
  const int closest = distances.argmin().item<int>();
  const int first = (distances >= 1).nonzero()[0].item<int>();
  auto [sorted, order] = distances.sort(0);
  const int second = order[1].item<int>() + distances.argmax().to(at::kInt).item<int>();
  const int near = (distances < 1).sum().item<int>();
  const int edges = degrees.to(at::kLong).sum().item<int>();
  // EXPECT warning: degrees.to(at::kLong).sum() is Long, and item<int>() throws on what does not fit [scalar-item]
  return near + closest + first + second + edges;
}
