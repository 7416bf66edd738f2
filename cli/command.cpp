#include "cli/command.h"

namespace dtypecheck::cli {

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

std::vector<OptionInfo> options_of(const Command& command) {
  Options options(command);
  command.set_up(options);
  return options.infos();
}

}  // namespace dtypecheck::cli
