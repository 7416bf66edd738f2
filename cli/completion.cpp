// dtypecheck completion: what bash asks to complete a command line. It is written from the commands
// and their options as they are parsed, so that no second list can fall behind.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "core/shell_words.h"
#include "platform/output.h"

namespace dtypecheck::cli {

namespace {

using Words = std::vector<std::string>;

std::string names_of(const std::vector<OptionInfo>& options) {
  Words words;
  for (const OptionInfo& option : options)
    words.insert(words.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(words, " "));
}

Words command_names() {
  Words names;
  for (const Command* command : all_commands()) names.push_back(command->name);
  return names;
}

std::string bash_values(const OptionInfo& option) {
  if (!option.choices.empty()) {
    return fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))",
                       quoted_word(fmt::format("{}", fmt::join(option.choices, " "))));
  }
  return option.names_a_file ? "compopt -o default" : ":";
}

std::string bash_command(const Command& command) {
  const std::vector<OptionInfo> options = options_of(command);
  std::string text = fmt::format("    {})\n      case $before in\n", command.name);
  for (const OptionInfo& option : options) {
    if (!option.takes_value) continue;
    text += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"),
                        bash_values(option));
  }
  text += fmt::format(
      "      esac\n"
      "      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W {} -- \"$word\"))\n"
      "      else {}\n      fi ;;\n",
      quoted_word(names_of(options)),
      command.words.empty()
          ? "compopt -o default"
          : fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))",
                        quoted_word(fmt::format("{}", fmt::join(command.words, " ")))));
  return text;
}

// Behind `trace … --` stands another program's command line, which its own completion completes.
std::string bash() {
  std::string text = fmt::format(
      "_dtypecheck() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} i\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W {} -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  for ((i = 2; i < COMP_CWORD; ++i)); do\n"
      "    if [[ ${{COMP_WORDS[i]}} == -- ]]; then\n"
      "      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1))\n"
      "      else compopt -o default; fi\n"
      "      return\n"
      "    fi\n"
      "  done\n"
      "  case ${{COMP_WORDS[1]}} in\n",
      quoted_word(fmt::format("{} --help --version", fmt::join(command_names(), " "))));
  for (const Command* command : all_commands()) text += bash_command(*command);
  return text + "  esac\n}\ncomplete -F _dtypecheck dtypecheck\n";
}

std::function<int()> set_up(Options& options) {
  auto shell = std::make_shared<std::string>();
  options.add_choice("SHELL", *shell, {"bash"}, "the shell to complete in").type("").required();
  return [shell] { return print_text(bash()); };  // whose variable the option writes
}

}  // namespace

extern const Command completion_command = {
    .name = "completion",
    .summary = "write the completion script for bash",
    .arguments = "bash",
    .examples = "  dtypecheck completion bash > completion.bash\n",
    .set_up = set_up,
    .words = {"bash"},
};

}  // namespace dtypecheck::cli
