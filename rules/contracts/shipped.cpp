// The tables that dtypecheck ships with, as the build has embedded them.
#include "rules/contracts/contracts.h"
#include "rules/contracts/embedded.h"

namespace dtypecheck::contracts {

const Contracts& Contracts::shipped() {
  static const Contracts contracts = [] {
    Contracts all;
    all.add(std::string(embedded::kCpu), "cpu.contracts");
    all.add(std::string(embedded::kCuda), "cuda.contracts");
    return all;
  }();
  return contracts;
}

}  // namespace dtypecheck::contracts
