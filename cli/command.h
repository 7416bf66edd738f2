// command.h: what a command is, and the list of all of them. A command is one file and one line in
// command_list.inc.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace dtypecheck::cli {

struct Command {
  const char* name;
  const char* summary;    // one line for `dtypecheck --help`
  const char* arguments;  // what stands behind the name in the usage line
  const char* examples;   // shown below the options; every line of them runs
  // Adds the command's options to `app` and gives back what runs once they are parsed; that returns
  // the exit status. Throws InputError for what the user can cure; main prints it.
  std::function<int()> (*set_up)(CLI::App& app);
};

// An option that takes one of a few words.
void add_choice(CLI::App& app, const std::string& name, std::string& value,
                const std::vector<std::string>& choices, const std::string& help);

const std::vector<const Command*>& all_commands();  // in the order of command_list.inc
const Command* find_command(const std::string& name);

}  // namespace dtypecheck::cli
