// demo_failures.h: the known failures that `dtypecheck demo` shows. They stand in
// cli/demo_failures.txt, which says what each field is for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck::cli {

struct DemoFailure {
  std::string name, title, reported, story;
  std::vector<std::string> arguments;  // "run"
  std::string broken, fixed;
  std::string says, said_in_1_13, damage;  // "" where they are left out
  std::vector<std::string> rules;
  std::string cure;
};

const std::vector<DemoFailure>& demo_failures();

}  // namespace dtypecheck::cli
