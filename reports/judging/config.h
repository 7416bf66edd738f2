// config.h: the configuration of a project, beside its code: the table [tool.dtypecheck] of its
// pyproject.toml, or a dtypecheck.toml that has the same at its top.
//
//   [tool.dtypecheck]
//   fail-on = "error"              # an option of any command that reports, by its long name
//   target = "cuda:2.11"
//   [tool.dtypecheck.trace]        # of one command alone
//   steady = true
//   [[tool.dtypecheck.accept]]     # a finding that is accepted, and why
//   rule = "silent-promotion"
//   file = "train.py"              # and line = 91, or module = "unet.*"; without: everywhere
//   reason = "the mask is Float on purpose"
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/engine/rule.h"

namespace dtypecheck::judging {

struct ConfigEntry {
  std::string command;  // "trace"; empty: of all
  std::string key;      // "fail-on"
  std::string value;    // "error", "true", "3"
  int line = 0;         // of the file
};

struct Config {
  std::string path;    // as messages name it
  std::string folder;  // where relative paths in it begin
  std::vector<ConfigEntry> entries;
  std::vector<rules::Suppression> accepted;
};

// Of the text of a dtypecheck.toml, or of a pyproject.toml (`is_project`), where nothing is said of
// us as a rule: nothing then. Throws InputError with file and line.
std::optional<Config> parse_config(std::string_view text, const std::string& path, bool is_project);

// The nearest one in the folder or above it, up to the root of the repository; dtypecheck.toml goes
// before pyproject.toml. Throws InputError where it cannot be read.
std::optional<Config> find_config(const std::string& folder);

// That of the current folder, read once; null where there is none, or none is wished.
const Config* project_config();
void ignore_project_config();

}  // namespace dtypecheck::judging
