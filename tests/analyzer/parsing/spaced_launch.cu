// What nvcc takes and Clang does not: the brackets of a launch apart, as a formatter that does not
// know CUDA writes them, and lists among its arguments.
#include <iostream>

#include <torch/extension.h>

template <typename T, int N>
__global__ void scale(T* x, int n) {
  for (int i = 0; i < n; ++i) x[i] *= N;
}

struct Named {};
template <typename T>
std::ostream& operator<< (std::ostream& out, const Named&);

void run(at::Tensor x, cudaStream_t stream) {
  std::vector<std::vector<std::vector<int> > > deep;
  operator<< <int>(std::cout, Named{}) << deep.size();
  scale<float, 2> << <(x.numel() + 63) / 64, dim3{64, 1}, 0, stream>> > (x.data_ptr<float>(), 3);
  // EXPECT note: x is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
  scale<float, 2><<<1, 64>> >(x.data_ptr<float>(), 3);
  scale<float, 2><<<{1}, {64, x.numel() > 1 ? 2u : 1u}, 0, stream>>>(x.data_ptr<float>(), 3);
  scale<float, 2> <<
      <1, 64>>>(x.data_ptr<float>(), 3);
}
