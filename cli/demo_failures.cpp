#include "cli/demo_failures.h"

#include <utility>

#include "cli/embedded.h"
#include "platform/data_file.h"
#include "platform/text.h"

namespace dtypecheck::cli {
namespace {

constexpr std::pair<std::string_view, std::string DemoFailure::*> kTexts[] = {
    {"title", &DemoFailure::title},   {"reported", &DemoFailure::reported},
    {"story", &DemoFailure::story},   {"broken", &DemoFailure::broken},
    {"fixed", &DemoFailure::fixed},   {"says", &DemoFailure::says},
    {"damage", &DemoFailure::damage}, {"said-in-1.13", &DemoFailure::said_in_1_13},
    {"cure", &DemoFailure::cure},
};

void read_field(const Field& field, DemoFailure& failure) {
  for (const auto& [key, member] : kTexts) {
    if (field.key == key) return void(failure.*member = field.value);
  }
  if (field.key == "rules") {
    failure.rules = field.parts();
  } else if (field.key == "run") {
    for (std::string_view words = field.value; !words.empty();)
      failure.arguments.emplace_back(next_piece(words, ' '));
  } else {
    field.fail_unknown_key({"title", "reported", "story", "run", "broken", "fixed", "says",
                            "said-in-1.13", "damage", "rules", "cure"});
  }
}

DemoFailure failure_in(const Block& block) {
  if (block.head.key != "failure") block.head.fail_unknown_key({"failure"});
  block.require({"title", "reported", "story", "run", "broken", "fixed", "rules", "cure"});
  DemoFailure failure{.name = block.head.value};
  for (const Field& field : block.fields) read_field(field, failure);
  return failure;
}

}  // namespace

const std::vector<DemoFailure>& demo_failures() {
  static const std::vector<DemoFailure> failures = [] {
    std::vector<DemoFailure> all;
    for (const Block& block : read_blocks(embedded::kDemoFailures, "cli/demo_failures.txt"))
      all.push_back(failure_in(block));
    return all;
  }();
  return failures;
}

}  // namespace dtypecheck::cli
