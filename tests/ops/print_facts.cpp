// For test_libtorch.py: reads names of ops, and prints for each the facts that the table has of it
// and the op that it is an alias of.
#include <iostream>
#include <string>

#include "ops/ops.h"

int main() {
  using namespace dtypecheck::ops;
  for (std::string op; std::getline(std::cin, op);) {
    std::cout << op << ' ' << facts_of(op) << ' ' << without_alias(op) << '\n';
  }
}
