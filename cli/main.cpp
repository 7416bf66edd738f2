// dtypecheck: finds the command, runs it, and turns what it throws into one line and an exit
// status.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
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

static std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// An option that the command does not have; positional leftovers are named by CLI11 itself.
static void reject_unknown_option(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (word == "--" || word.empty() || word[0] != '-') return;
    const std::string option = word.substr(0, word.find('='));
    throw InputError(
        fmt::format("unknown option {}{}", option,
                    suggestion(option, option_names(app),
                               fmt::format("see dtypecheck {} --help", app.get_name()))));
  }
}

// CLI11's usage line would begin with the bare name of the command.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(const Command& command) : command_(command) { column_width(kColumn); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return fmt::format("usage: dtypecheck {} {}\n", command_.name, command_.arguments);
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string lines = wrapped(option->get_description(), 0, 96 - kColumn);
    if (!lines.empty()) lines.pop_back();
    return lines;
  }

 private:
  static constexpr size_t kColumn = 34;  // where descriptions begin
  const Command& command_;
};

static int run_command(const Command& command, std::vector<std::string> arguments) {
  CLI::App app{command.summary, command.name};
  app.set_help_flag("-h,--help", "show this help");
  app.footer(fmt::format("examples:\n{}", command.examples));
  app.formatter(std::make_shared<HelpFormatter>(command));
  app.allow_extras();
  const std::function<int()> run = command.set_up(app);
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return print_text(app.help());
  } catch (const CLI::ParseError& error) {
    reject_unknown_option(app);
    throw InputError(fmt::format("{}; see dtypecheck {} --help", error.what(), command.name));
  }
  reject_unknown_option(app);
  if (!app.get_prefix_command() && !app.remaining().empty()) {
    throw InputError(fmt::format("unexpected argument '{}'; see dtypecheck {} --help",
                                 app.remaining().front(), command.name));
  }
  return run();
}

static int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) {
    throw InputError("no command given; see dtypecheck --help");
  }
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
  dtypecheck::ignore_broken_pipes();
  try {
    return cli::run({argv + std::min(argc, 1), argv + argc});
  } catch (const InputError& error) {
    dtypecheck::say(error.what());
  } catch (const std::bad_alloc&) {
    dtypecheck::say("out of memory");
  } catch (const std::exception& error) {
    dtypecheck::say(fmt::format("internal error: {}", error.what()));
  }
  return cli::kCouldNotDo;
}
