// Any text is a configuration, none, or an InputError; what it accepts has a rule and a reason.
#include "platform/error.h"
#include "reports/judging/config.h"
#include "reports/judging/known_ids.h"
#include "target.h"

namespace dtypecheck::fuzz {

static void read(std::string_view input, bool is_project) {
  try {
    const auto config = judging::parse_config(input, "fuzz.toml", is_project);
    if (!config) return require(is_project);
    for (const judging::ConfigEntry& entry : config->entries) require(entry.line > 0);
    for (const rules::Suppression& one : config->accepted) {
      require(judging::is_known_id(one.rule) && !one.reason.empty());
      require(one.file.empty() || one.module_glob.empty());
    }
  } catch (const InputError&) {
  }
}

void test_input(std::string_view input) {
  read(input, true);
  read(input, false);
}

}  // namespace dtypecheck::fuzz
