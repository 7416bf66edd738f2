// options.h: what a command takes on its command line. CLI11 reads it, in options.cpp alone: its
// headers cost a file more time to compile than the file's own code.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dtypecheck::cli {

struct Command;

// One option, to say more about it: options.add("-o,--output", path, "the file").type("FILE").
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& type(const std::string& name);  // how its value is called in the help
  Option& required();
  // Of one that may be given several times: a value each, so that what follows is none of its.
  Option& one_each();
  Option& range(int least, int most);
  Option& positive();
  Option& excludes(const Option& other);
  Option& needs(const Option& other);

 private:
  CLI::Option* option_;
};

// An option as it was added, for completions and the configuration.
struct OptionInfo {
  std::vector<std::string> names;    // "-o", "--output"
  std::vector<std::string> choices;  // of its value, where only some are taken
  bool takes_value = false;
  bool names_a_file = false;  // or a folder
};

// A name with dashes is an option's, as "-o,--output"; without, it is what stands on its own.
class Options {
 public:
  explicit Options(const Command& command);
  ~Options();

  Option add(const std::string& names, std::string& value, const std::string& help);
  Option add(const std::string& names, std::vector<std::string>& values, const std::string& help);
  Option add(const std::string& names, int& value, const std::string& help);
  Option add(const std::string& names, unsigned& value, const std::string& help);
  Option add(const std::string& names, double& value, const std::string& help);
  Option add_flag(const std::string& names, bool& value, const std::string& help);
  // A flag that may be given a value, behind a "=" alone; `usual` is its value without.
  Option add_flag(const std::string& name, std::string& value, const std::string& usual,
                  const std::string& help);
  Option add_choice(const std::string& names, std::string& value,
                    const std::vector<std::string>& choices, const std::string& help);
  // What follows the options is another program's and goes into `words`, less a "--" before it.
  void leave_rest_to(std::vector<std::string>& words);

  std::vector<OptionInfo> infos() const;  // of those with dashes, in the order of the help

  // Fills the values. Gives back the help, where it was asked for; throws InputError.
  std::optional<std::string> parse(std::vector<std::string> arguments);

 private:
  void reject_unknown() const;
  void take_config();

  const Command& command_;
  bool no_config_ = false;

  std::unique_ptr<CLI::App> app_;
  std::vector<std::string>* rest_ = nullptr;
};

}  // namespace dtypecheck::cli
