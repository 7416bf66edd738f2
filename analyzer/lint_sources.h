// lint_sources.h: which files `lint` is about, and their text.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/allowed.h"
#include "analyzer/parse/compile_command.h"

namespace dtypecheck::analyzer {

using Database = std::optional<CompileDatabase>;

// The sources among the paths and in the folders among them; without paths those of the database.
// Throws InputError where there is none.
std::vector<std::string> sources_of(const std::vector<std::string>& paths,
                                    const Database& database);

// What reading sources tells of each, read once.
class SourceTexts {
 public:
  const std::string& text(const std::string& file);  // empty: none, or longer than a person writes
  const Allowances& allowances(const std::string& file);
  std::string line(const std::string& file, int number);  // without its indent

 private:
  std::map<std::string, std::string> texts_;
  std::map<std::string, Allowances> allowances_;
};

}  // namespace dtypecheck::analyzer
