// Any text is a compile database or an InputError, and each file of one is found in it again.
#include "analyzer/parse/compile_command.h"
#include "target.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const GivenFile given(input);
  const auto database = analyzer::CompileDatabase::read(given.path());
  for (const std::string& file : database.files()) {
    const bool is_found = database.find(file) != nullptr;
    require(is_found || !file.starts_with('/'));
    analyzer::parse_arguments(file, database.find(file), {}, "/stubs");
  }
}

}  // namespace dtypecheck::fuzz
