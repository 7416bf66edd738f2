// all.cpp: this folder as one translation unit, for a user whose LibTorch is none of those that it
// was built ahead for, and who waits for one parse of ATen's headers.
#include "kernels/torch/lists.cpp"
#include "kernels/torch/norms.cpp"
#include "kernels/torch/products.cpp"
#include "kernels/torch/threads.cpp"
