// dtypecheck completion: what a shell asks to complete a command line. It is written from the
// commands and their options as they are parsed, so that no second list can fall behind.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
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

// In single quotes, as all three shells take them.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// ---- bash

std::string bash_values(const OptionInfo& option) {
  if (!option.choices.empty()) {
    return fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))",
                       quoted(fmt::format("{}", fmt::join(option.choices, " "))));
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
      quoted(names_of(options)),
      command.words.empty()
          ? "compopt -o default"
          : fmt::format("COMPREPLY=($(compgen -W {} -- \"$word\"))",
                        quoted(fmt::format("{}", fmt::join(command.words, " ")))));
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
      quoted(fmt::format("{} --help --version", fmt::join(command_names(), " "))));
  for (const Command* command : all_commands()) text += bash_command(*command);
  return text + "  esac\n}\ncomplete -F _dtypecheck dtypecheck\n";
}

// ---- zsh

// What _arguments reads in a description: brackets end it, colons end the message of a value.
std::string in_zsh(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_value(const OptionInfo& option) {
  if (!option.takes_value) return "";
  const std::string what = option.type.empty() ? "value" : in_zsh(option.type);
  if (!option.choices.empty()) return fmt::format(":{}:({})", what, fmt::join(option.choices, " "));
  return fmt::format(":{}:{}", what, option.names_a_file ? "_files" : "");
}

std::string zsh_command(const Command& command) {
  std::string text = fmt::format("    {})\n      _arguments", command.name);
  for (const OptionInfo& option : options_of(command)) {
    for (const std::string& name : option.names) {
      text += fmt::format(
          " \\\n        {}",
          quoted(fmt::format("{}[{}]{}", name, in_zsh(option.help), zsh_value(option))));
    }
  }
  const std::string words = fmt::format("{}", fmt::join(command.words, " "));
  const std::string rest = words.empty() ? "*::program:_normal" : fmt::format("1:word:({})", words);
  const std::string files = command.runs_a_program || !words.empty() ? rest : "*:file:_files";
  return text + fmt::format(" \\\n        {} ;;\n", quoted(files));
}

std::string zsh() {
  std::string text =
      "#compdef dtypecheck\n"
      "_dtypecheck() {\n"
      "  local -a commands\n"
      "  commands=(\n";
  for (const Command* command : all_commands()) {
    text += fmt::format("    {}\n",
                        quoted(fmt::format("{}:{}", command->name, in_zsh(command->summary))));
  }
  text +=
      "  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local name=${words[2]}\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $name in\n";
  for (const Command* command : all_commands()) text += zsh_command(*command);
  return text +
         "  esac\n}\nif [[ $funcstack[1] == _dtypecheck ]]; then _dtypecheck \"$@\"\n"
         "else compdef _dtypecheck dtypecheck\nfi\n";
}

// ---- fish

std::string fish_option(const Command& command, const OptionInfo& option) {
  std::string text =
      fmt::format("complete -c dtypecheck -n '__fish_seen_subcommand_from {}'", command.name);
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    text += fmt::format(" {} {}", is_long ? "-l" : "-s", name.substr(is_long ? 2 : 1));
  }
  if (!option.choices.empty()) {
    text += fmt::format(" -xa {}", quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  } else if (option.takes_value) {
    text += option.names_a_file ? " -rF" : " -x";
  }
  return text + fmt::format(" -d {}\n", quoted(option.help));
}

std::string fish() {
  std::string text = "complete -c dtypecheck -n __fish_use_subcommand -f\n";
  for (const Command* command : all_commands()) {
    text += fmt::format("complete -c dtypecheck -n __fish_use_subcommand -a {} -d {}\n",
                        command->name, quoted(command->summary));
  }
  for (const Command* command : all_commands()) {
    for (const OptionInfo& option : options_of(*command)) text += fish_option(*command, option);
    if (command->words.empty()) continue;
    text += fmt::format("complete -c dtypecheck -n '__fish_seen_subcommand_from {}' -fa {}\n",
                        command->name, quoted(fmt::format("{}", fmt::join(command->words, " "))));
  }
  return text;
}

std::function<int()> set_up(Options& options) {
  auto shell = std::make_shared<std::string>();
  options.add_choice("SHELL", *shell, {"bash", "zsh", "fish"}, "the shell to complete in")
      .type("")
      .required();
  return [shell] {
    return print_text(*shell == "bash" ? bash() : *shell == "zsh" ? zsh() : fish());
  };
}

}  // namespace

extern const Command completion_command = {
    .name = "completion",
    .summary = "write the completion script of a shell",
    .arguments = "bash|zsh|fish",
    .examples =
        "  dtypecheck completion bash > completion.bash\n"
        "  dtypecheck completion zsh > _dtypecheck\n",
    .set_up = set_up,
    .words = {"bash", "zsh", "fish"},
};

}  // namespace dtypecheck::cli
