#include <cstdio>

#include "kernels/layer_norm/layer_norm.h"

int main() {
  std::printf("%zu variants\n", dtypecheck::kernels::layer_norm_variants().size());
  return 0;
}
