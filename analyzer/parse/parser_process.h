// parser_process.h: one run of dtypecheck-analyzer.
#pragma once

#include <string>
#include <vector>

namespace dtypecheck::analyzer {

struct ParserAnswer {
  std::string text;     // what it wrote
  std::string failure;  // why that is not the whole answer; empty: it is
  bool crashed = false;
};

// Throws InputError when the program cannot be started at all.
ParserAnswer run_parser(const std::string& program, const std::vector<std::string>& arguments,
                        int timeout_s);

}  // namespace dtypecheck::analyzer
