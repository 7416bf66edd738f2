// all.cpp: this folder as one translation unit, for a user whose LibTorch is none of those that it
// was built ahead for, and who waits for one parse of ATen's headers.
#include "operators/lists.cpp"
#include "operators/norms.cpp"
#include "operators/products.cpp"
#include "operators/threads.cpp"
