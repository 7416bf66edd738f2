#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/command.h"
#include "platform/error.h"
#include "platform/nearest.h"
#include "platform/terminal.h"
#include "reports/judging/config.h"

namespace dtypecheck::cli {

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
  // What an option excludes is said where both are given.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string type = option->get_type_name();
    const bool takes_value = option->get_type_size() != 0 && !type.empty();
    const bool takes_many =
        takes_value && option->get_expected_max() > 1 && option->get_allow_extra_args();
    return (takes_value ? " " + type : "") + (takes_many ? " ..." : "") +
           (option->get_required() ? " REQUIRED" : "");
  }

 private:
  static constexpr size_t kColumn = 34;  // where descriptions begin
  const Command& command_;
};

Option& Option::type(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::one_each() {
  option_->allow_extra_args(false);
  return *this;
}

// The help says it in words, so that a check has no description.
Option& Option::range(int least, int most) {
  option_->check(
      [least, most](const std::string& text) {
        double value = 0;
        const bool fits = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
        return fits ? "" : fmt::format("takes a number from {} to {}, not '{}'", least, most, text);
      },
      "");
  return *this;
}

Option& Option::positive() {
  option_->check(
      [](const std::string& text) {
        double value = 0;
        const bool fits = CLI::detail::lexical_cast(text, value) && value > 0;
        return fits ? "" : fmt::format("takes a number above 0, not '{}'", text);
      },
      "");
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Options::Options(const Command& command)
    : command_(command), app_(std::make_unique<CLI::App>(command.summary, command.name)) {
  app_->set_help_flag("-h,--help", "show this help");
  app_->footer(fmt::format("examples:\n{}", command.examples));
  app_->formatter(std::make_shared<HelpFormatter>(command));
  app_->allow_extras();
  if (command.is_configured) {
    app_->add_flag("--no-config", no_config_, "ignore pyproject.toml and dtypecheck.toml");
  }
}

Options::~Options() = default;

Option Options::add(const std::string& names, std::string& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Options::add(const std::string& names, std::vector<std::string>& values,
                    const std::string& help) {
  return Option(app_->add_option(names, values, help));
}
Option Options::add(const std::string& names, int& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Options::add(const std::string& names, unsigned& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}
Option Options::add(const std::string& names, double& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

Option Options::add_flag(const std::string& names, bool& value, const std::string& help) {
  return Option(app_->add_flag(names, value, help));
}

Option Options::add_flag(const std::string& name, std::string& value, const std::string& usual,
                         const std::string& help) {
  return Option(app_->add_flag(fmt::format("{}{{{}}}", name, usual), value, help));
}

Option Options::add_choice(const std::string& names, std::string& value,
                           const std::vector<std::string>& choices, const std::string& help) {
  const auto check = [choices](const std::string& text) {
    const bool fits = std::find(choices.begin(), choices.end(), text) != choices.end();
    return fits ? "" : fmt::format("takes one of {}, not '{}'", fmt::join(choices, ", "), text);
  };
  return Option(app_->add_option(names, value, help)
                    ->check(check, "")  // the type's name says it
                    ->type_name(fmt::format("{}", fmt::join(choices, "|"))));
}

namespace {

// CLI11's words, in ours: "Could not convert: --timeline = abc".
std::string in_plain_words(const CLI::ParseError& error) {
  const std::string text = error.what();
  constexpr std::string_view kConvert = "Could not convert: ", kTakes = ": takes ";
  if (text.starts_with(kConvert)) {
    const size_t equals = text.find(" = ");
    if (equals != text.npos)
      return fmt::format("{} takes a number{}, not '{}'",
                         text.substr(kConvert.size(), equals - kConvert.size()),
                         text[equals + 3] == '-' ? " of 0 or more" : "", text.substr(equals + 3));
  }
  if (const size_t takes = text.find(kTakes); takes != text.npos)
    return text.substr(0, takes) + text.substr(takes + 1);
  if (const size_t excludes = text.find(" excludes "); excludes != text.npos)
    return fmt::format("{} and {} cannot be given together", text.substr(0, excludes),
                       text.substr(excludes + 10));
  if (const size_t required = text.find(": 1 required "); required != text.npos) {
    const std::string rest = text.substr(required + 13);
    return fmt::format("{} needs {}", text.substr(0, required), rest.substr(0, rest.find(' ')));
  }
  return text;
}

}  // namespace

std::vector<OptionInfo> Options::infos() const {
  std::vector<OptionInfo> infos;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    if (option->nonpositional() == false) continue;
    OptionInfo& info = infos.emplace_back();
    for (const std::string& name : option->get_snames()) info.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) info.names.push_back("--" + name);
    info.takes_value = option->get_items_expected_max() > 0;
    if (!info.takes_value) continue;
    const std::string type = option->get_type_name();  // "FILE", "text|json"
    info.names_a_file = type == "FILE" || type == "DIR";
    std::istringstream choices(type);
    if (type.find('|') == std::string::npos) continue;
    for (std::string choice; std::getline(choices, choice, '|');) info.choices.push_back(choice);
  }
  return infos;
}

void Options::leave_rest_to(std::vector<std::string>& words) {
  app_->prefix_command();
  rest_ = &words;
}

// An option that the command does not have; positional leftovers are named by CLI11 itself.
void Options::reject_unknown() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  for (const std::string& word : app_->remaining()) {
    if (word == "--" || word.empty() || word[0] != '-') return;
    const std::string option = word.substr(0, word.find('='));
    const std::string otherwise = fmt::format("see dtypecheck {} --help", app_->get_name());
    throw InputError(
        fmt::format("unknown option {}{}", option, suggestion(option, names, otherwise)));
  }
}

namespace {

std::vector<std::string> option_keys(const Command& command) {
  std::vector<std::string> keys;
  for (const OptionInfo& option : options_of(command)) {
    const std::string& name = option.names.back();
    if (name.starts_with("--") && name != "--help" && name != "--no-config")
      keys.push_back(name.substr(2));
  }
  return keys;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A key is an option of the command that it is for, or of any where it is for all.
void check_entry(const judging::Config& config, const judging::ConfigEntry& entry) {
  std::vector<std::string> commands, keys;
  for (const Command* command : all_commands()) {
    if (!command->is_configured) continue;
    commands.push_back(command->name);
    if (!entry.command.empty() && entry.command != command->name) continue;
    const std::vector<std::string> more = option_keys(*command);
    keys.insert(keys.end(), more.begin(), more.end());
  }
  const std::string where = fmt::format("{}:{}", config.path, entry.line);
  if (!entry.command.empty() && !contains(commands, entry.command)) {
    throw InputError(fmt::format(
        "{}: unknown table {}{}", where, entry.command,
        suggestion(entry.command, commands,
                   fmt::format("the tables are accept, {}", fmt::join(commands, ", ")))));
  }
  if (!contains(keys, entry.key)) {
    const std::string otherwise = entry.command.empty()
                                      ? "no command that reports has such an option"
                                      : fmt::format("see dtypecheck {} --help", entry.command);
    throw InputError(fmt::format("{}: unknown key {}{}", where, entry.key,
                                 suggestion(entry.key, keys, otherwise)));
  }
}

// A word that stands for something, such as --torch bundled, is no path.
std::string below(const std::string& folder, const std::string& path) {
  const bool is_path = path.find_first_of("./") != path.npos;
  const bool is_relative = !folder.empty() && is_path && !path.starts_with('/');
  return is_relative ? fmt::format("{}/{}", folder, path) : path;
}

}  // namespace

// What the command line says goes before what the project says, and so does what it excludes.
void Options::take_config() {
  if (no_config_) judging::ignore_project_config();
  const judging::Config* config = command_.is_configured ? judging::project_config() : nullptr;
  if (config == nullptr) return;
  for (const judging::ConfigEntry& entry : config->entries) {
    check_entry(*config, entry);
    if (!entry.command.empty() && entry.command != command_.name) continue;
    CLI::Option* option = app_->get_option_no_throw("--" + entry.key);
    if (option == nullptr || option->count() > 0) continue;
    const auto excluded = option->get_excludes();
    if (std::ranges::any_of(excluded, [](auto* one) { return one->count() > 0; })) continue;
    const std::string type = option->get_type_name();
    const bool names_a_file = type == "FILE" || type == "DIR";
    try {
      option->add_result(names_a_file ? below(config->folder, entry.value) : entry.value);
      option->run_callback();
    } catch (const CLI::ParseError& error) {
      throw InputError(fmt::format("{}:{}: {}", config->path, entry.line, in_plain_words(error)));
    }
  }
}

std::optional<std::string> Options::parse(std::vector<std::string> arguments) {
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return app_->help();
  } catch (const CLI::ParseError& error) {
    reject_unknown();
    throw InputError(
        fmt::format("{}; see dtypecheck {} --help", in_plain_words(error), app_->get_name()));
  }
  reject_unknown();
  take_config();
  std::vector<std::string> rest = app_->remaining();  // with the "--" before names that begin so
  if (rest_ == nullptr) std::erase(rest, "--");
  if (rest_ != nullptr) {
    if (!rest.empty() && rest.front() == "--") rest.erase(rest.begin());
    *rest_ = std::move(rest);
  } else if (!rest.empty()) {
    throw InputError(fmt::format("unexpected argument '{}'; see dtypecheck {} --help", rest.front(),
                                 app_->get_name()));
  }
  return std::nullopt;
}

}  // namespace dtypecheck::cli
