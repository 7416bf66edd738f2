// report_case CASE FORMAT: writes the report of a case, or of "large:SIGNATURES", to standard
// output, for the checks that are written in Python and for looking at it.
#include <iostream>

#include "tests/reports/cases.h"

using namespace dtypecheck::reports;

static Case case_of(const std::string& name) {
  const std::string large = "large:";
  if (!name.starts_with(large)) return load_case(name);
  return large_case(std::stoul(name.substr(large.size())));
}

int main(int argc, char** argv) {
  const Format* format = argc == 3 ? find_format(argv[2]) : nullptr;
  if (format == nullptr) {
    std::cerr << "usage: report_case CASE|large:SIGNATURES text|json|html\n";
    return 2;
  }
  const Case made = case_of(argv[1]);
  format->write(*made.report, std::cout);
  return 0;
}
