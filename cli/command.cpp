#include "cli/command.h"

#include <fmt/format.h>

namespace dtypecheck::cli {

void add_choice(CLI::App& app, const std::string& name, std::string& value,
                const std::vector<std::string>& choices, const std::string& help) {
  app.add_option(name, value, help)
      ->check(CLI::IsMember(choices).description(""))  // the type's name says it
      ->type_name(fmt::format("{}", fmt::join(choices, "|")));
}

#define COMMAND(name) extern const Command name##_command;
#include "cli/command_list.inc"
#undef COMMAND

const std::vector<const Command*>& all_commands() {
  static const std::vector<const Command*> commands = {
#define COMMAND(name) &name##_command,
#include "cli/command_list.inc"
#undef COMMAND
  };
  return commands;
}

const Command* find_command(const std::string& name) {
  for (const Command* command : all_commands()) {
    if (name == command->name) return command;
  }
  return nullptr;
}

}  // namespace dtypecheck::cli
