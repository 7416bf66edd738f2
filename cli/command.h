// command.h: what a command is, and the list of all of them. A command is one file and one line in
// command_list.inc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options.h"

namespace dtypecheck::cli {

struct Command {
  const char* name;
  const char* summary;    // one line for `dtypecheck --help`
  const char* arguments;  // what stands behind the name in the usage line
  const char* examples;   // shown below the options; every line of them runs
  // Adds the command's options to `options` and gives back what runs once they are parsed; that
  // returns the exit status. Throws InputError for what the user can cure; main prints it.
  std::function<int()> (*set_up)(Options& options);
  std::vector<std::string> words = {};  // that stand on their own, where there is a choice of few
  bool is_configured = false;           // its options may stand in the project's configuration
};

// What the command takes, as its parser knows it.
std::vector<OptionInfo> options_of(const Command& command);

const std::vector<const Command*>& all_commands();  // in the order of command_list.inc
const Command* find_command(const std::string& name);

}  // namespace dtypecheck::cli
