// dtypecheck man: manual pages, from the commands and their options as they are parsed.
#include <fmt/format.h>

#include <memory>
#include <sstream>

#include "cli/command.h"
#include "platform/error.h"
#include "platform/nearest.h"
#include "platform/output.h"
#include "platform/text.h"
#include "platform/version.h"

namespace dtypecheck::cli {

namespace {

// Roff reads backslashes, and a line that begins with a dot or a quote is a request; "-" would
// become a hyphen, which nobody can paste.
std::string in_roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((out.empty() || out.back() == '\n') && (c == '.' || c == '\'')) out += "\\&";
    out += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return out;
}

std::string head(const std::string& name, const std::string& summary) {
  return fmt::format(
      ".TH \"{0}\" 1 \"\" \"dtypecheck {1}\" \"dtypecheck\"\n.SH NAME\n{2} \\- {3}\n",
      in_roff(name), tool_version(), in_roff(name), in_roff(summary));
}

std::string option_entry(const OptionInfo& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", in_roff(name));
  if (option.takes_value && !option.type.empty())
    names += fmt::format(" \\fI{}\\fR", in_roff(option.type));
  return fmt::format(".TP\n{}\n{}\n", names, in_roff(option.help));
}

constexpr const char* kStatus =
    ".SH EXIT STATUS\n0 clean, 1 findings at or above the fail level, 2 the work could not be "
    "done; "
    "one line on standard error then says why. \\fBtrace\\fR returns the program's own status "
    "unless \\fB\\-\\-fail\\-on\\fR is given.\n";

std::string page_of(const Command& command) {
  std::string text = head(fmt::format("dtypecheck-{}", command.name), command.summary) +
                     fmt::format(".SH SYNOPSIS\n\\fBdtypecheck {}\\fR {}\n.SH OPTIONS\n",
                                 in_roff(command.name), in_roff(command.arguments));
  for (const OptionInfo& option : options_of(command)) text += option_entry(option);
  text += ".SH EXAMPLES\n.nf\n" + in_roff(command.examples) + ".fi\n";
  return text + kStatus + ".SH SEE ALSO\n\\fBdtypecheck\\fR(1)\n";
}

std::string overview_page() {
  std::string text =
      head("dtypecheck", "find dtype faults in programs that use PyTorch or LibTorch");
  text += ".SH SYNOPSIS\n\\fBdtypecheck\\fR \\fICOMMAND\\fR [OPTIONS]\n.SH COMMANDS\n";
  for (const Command* command : all_commands()) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}; see \\fBdtypecheck\\-{}\\fR(1)\n",
                        in_roff(command->name), in_roff(command->summary), in_roff(command->name));
  }
  return text + kStatus;
}

int run(const std::string& name) {
  if (name.empty()) return print_text(overview_page());
  if (const Command* command = find_command(name)) return print_text(page_of(*command));
  std::vector<std::string> names;
  for (const Command* command : all_commands()) names.push_back(command->name);
  throw InputError(fmt::format("unknown command {}{}", name,
                               suggestion(name, names, "see dtypecheck --help for the commands")));
}

std::function<int()> set_up(Options& options) {
  auto name = std::make_shared<std::string>();
  options.add("COMMAND", *name, "the command whose page it is; default: the page of them all")
      .type("");
  return [name] { return run(*name); };
}

}  // namespace

extern const Command man_command = {
    .name = "man",
    .summary = "write the manual page of a command, for man(1)",
    .arguments = "[COMMAND]",
    .examples =
        "  dtypecheck man trace > dtypecheck-trace.1\n"
        "  dtypecheck man > dtypecheck.1\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
