// Writes the first input of the fuzz target of facts, when that is built: write_each_fact FILE.
#include <fstream>

#include "tests/analyzer/each_fact.h"

int main(int, char** argv) {
  return std::ofstream(argv[1]) << dtypecheck::analyzer::each_fact() ? 0 : 1;
}
