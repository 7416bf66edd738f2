// dtypecheck: finds the command, runs it, and turns what it throws into one line and an exit
// status.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/nearest.h"
#include "platform/output.h"
#include "platform/terminal.h"
#include "platform/version.h"

namespace dtypecheck::cli {

static std::string overview() {
  std::string text =
      "dtypecheck: finds dtype faults in programs that use PyTorch or LibTorch\n\n"
      "usage: dtypecheck COMMAND [OPTIONS]\n\ncommands:\n";
  for (const Command* command : all_commands()) {
    text += fmt::format("  {:<12}{}\n", command->name, command->summary);
  }
  text +=
      "\n  dtypecheck COMMAND --help   options and examples of a command\n"
      "  dtypecheck --version        the version\n\n"
      "example:\n  dtypecheck trace -- python train.py\n\n"
      "exit status: 0 clean, 1 findings at or above the fail level, 2 the work could not be done\n";
  return text;
}

static std::vector<std::string> first_words() {
  std::vector<std::string> names = {"--help", "--version"};
  for (const Command* command : all_commands()) names.push_back(command->name);
  return names;
}

static int run_command(const Command& command, std::vector<std::string> arguments) {
  Options options(command);
  const std::function<int()> run = command.set_up(options);
  if (const auto help = options.parse(std::move(arguments))) return print_text(*help);
  return run();
}

static int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    throw InputError("no command given; see dtypecheck --help");
  }
  if (arguments.front() == "help" && arguments.size() > 1 && !arguments[1].starts_with("-"))
    return run({arguments[1], "--help"});
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") return print_text(overview());
  if (name == "--version") return print_text(fmt::format("dtypecheck {}\n", tool_version()));
  const Command* command = find_command(name);
  if (!command) {
    throw InputError(
        fmt::format("unknown {} {}{}", name.starts_with("-") ? "option" : "command", name,
                    suggestion(name, first_words(), "see dtypecheck --help for the commands")));
  }
  return run_command(*command, {arguments.begin() + 1, arguments.end()});
}

}  // namespace dtypecheck::cli

int main(int argc, char** argv) {
  using namespace dtypecheck;
  dtypecheck::ignore_failing_writes();
  try {
    return cli::run({argv + std::min(argc, 1), argv + argc});
  } catch (const InputError& error) {
    dtypecheck::print_line(error.what());
  } catch (const std::bad_alloc&) {
    dtypecheck::print_line("out of memory");
  } catch (const std::exception& error) {
    dtypecheck::print_line(fmt::format("internal error: {}", error.what()));
  }
  return cli::kCouldNotDo;
}
