#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "analyzer/parse/compile_command.h"
#include "core/shell_words.h"
#include "platform/error.h"
#include "platform/json.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

using Json = nlohmann::json;

// What tells clang how to read a file; all else is about code, debug data and output.
static bool is_wanted(const std::string& argument) {
  static const char* const kPrefixes[] = {"-I",         "-D",       "-U",
                                          "-std=",      "-isystem", "-iquote",
                                          "-idirafter", "-include", "-fms-extensions"};
  for (const char* prefix : kPrefixes) {
    if (argument.starts_with(prefix)) return true;
  }
  return false;
}

// nvcc spells some of these out.
static std::string without_long_name(std::string argument) {
  static const std::pair<const char*, const char*> kNames[] = {{"--std=", "-std="},
                                                               {"--include-path=", "-I"},
                                                               {"--define-macro=", "-D"},
                                                               {"--undefine-macro=", "-U"},
                                                               {"--system-include=", "-isystem"}};
  for (const auto& [name, shorter] : kNames) {
    if (argument.starts_with(name)) return shorter + argument.substr(std::string(name).size());
  }
  return argument;
}

static bool takes_next(const std::string& argument) {
  static const std::set<std::string> names = {"-I",      "-D",         "-U",      "-isystem",
                                              "-iquote", "-idirafter", "-include"};
  return names.contains(argument);
}

std::vector<std::string> clang_arguments(const std::vector<std::string>& arguments,
                                         const std::string& file) {
  std::vector<std::string> wanted;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = without_long_name(arguments[i]);
    const bool for_host = argument == "-Xcompiler" || argument == "--compiler-options";
    if (for_host || argument == file || !is_wanted(argument)) continue;
    wanted.push_back(argument);
    if (takes_next(argument) && i + 1 < arguments.size()) wanted.push_back(arguments[++i]);
  }
  return wanted;
}

static std::vector<std::string> words_of(const Json& entry) {
  std::vector<std::string> words;
  if (entry.contains("arguments"))
    words = entry.at("arguments").get<std::vector<std::string>>();
  else
    words = split_words(entry.at("command").get<std::string>());
  if (!words.empty()) words.erase(words.begin());  // the compiler
  return words;
}

CompileDatabase CompileDatabase::read(const fs::path& path) {
  const fs::path file = fs::is_directory(path) ? path / "compile_commands.json" : path;
  std::ifstream text(file);
  if (!text) {
    throw InputError(
        fmt::format("{}: there is no such compile database; configure with "
                    "CMAKE_EXPORT_COMPILE_COMMANDS=ON, or "
                    "leave out -p, and flags are inferred",
                    file.string()));
  }
  CompileDatabase database;
  try {
    for (const Json& entry : Json::parse(text, is_shallow)) {
      const std::string directory = entry.at("directory").get<std::string>();
      const std::string name = entry.at("file").get<std::string>();
      const fs::path full = (fs::path(directory) / name).lexically_normal();
      database.commands_[full.string()] = {directory, clang_arguments(words_of(entry), name)};
    }
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: not a compile database ({}); configure again", file.string(),
                                 error.what()));
  }
  if (database.commands_.empty()) {
    throw InputError(
        fmt::format("{}: names no file; configure again, or leave out -p", file.string()));
  }
  return database;
}

std::vector<std::string> CompileDatabase::files() const {
  std::vector<std::string> files;
  for (const auto& [file, command] : commands_) files.push_back(file);
  return files;
}

const CompileCommand* CompileDatabase::find(const fs::path& file) const {
  std::error_code unknown;
  const auto at = commands_.find(fs::absolute(file, unknown).lexically_normal().string());
  return at == commands_.end() ? nullptr : &at->second;
}

}  // namespace dtypecheck::analyzer
