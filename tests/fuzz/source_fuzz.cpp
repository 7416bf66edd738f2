// What is read of a source without Clang: the comments that accept findings, and the headers that
// it begins with, which are whole lines of #include.
#include "analyzer/allowed.h"
#include "analyzer/parse/leading_headers.h"
#include "target.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const analyzer::Allowances allowances(input);
  const GivenFile given(input);
  const std::string headers = analyzer::leading_headers(given.path(), {given.path() + "/none"});
  require(headers.empty() || (headers.starts_with("#include") && headers.ends_with('\n')));
}

}  // namespace dtypecheck::fuzz
