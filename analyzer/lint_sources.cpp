#include "analyzer/lint_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "analyzer/project/tree.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxFileBytes = 16 << 20;  // what is longer is generated
constexpr size_t kMaxFiles = 20'000;

// A folder that is only called "build" may hold sources, and whoever names a folder wants its own.
bool is_skipped(const fs::path& folder) {
  return is_there(folder / "CMakeCache.txt") ||
         (is_skipped_folder(folder) && folder.filename() != "build");
}

void add_folder(const fs::path& folder, std::vector<std::string>& files) {
  std::vector<std::string> found;
  for_each_file(folder, kAllEntries, is_skipped, [&](const fs::path& file) {
    if (is_source(file) && is_file(file)) found.push_back(file.lexically_normal().string());
    if (found.size() <= kMaxFiles) return true;
    throw InputError(fmt::format("{}: more than {} sources; name the folders that matter",
                                 folder.string(), kMaxFiles));
  });
  std::ranges::sort(found);
  files.insert(files.end(), found.begin(), found.end());
}

}  // namespace

std::vector<std::string> sources_of(const std::vector<std::string>& paths,
                                    const Database& database) {
  if (paths.empty() && database) return database->files();
  if (paths.empty()) {
    throw InputError("no file given; name sources or folders of them, or a database with -p");
  }
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) {
      add_folder(path, files);
    } else if (fs::is_regular_file(status)) {
      files.push_back(path);
    } else {
      throw InputError(fmt::format("{}: expected a C++ or CUDA source or a folder of them, and {}",
                                   path, fs::exists(status) ? "it is neither" : "there is none"));
    }
  }
  if (files.empty()) {
    throw InputError(fmt::format("{}: no .cpp, .cc, .cxx, .cppm or .cu in it", paths.front()));
  }
  return files;
}

const std::string& SourceTexts::text(const std::string& file) {
  const auto [at, is_new] = texts_.try_emplace(file);
  if (is_new) at->second = read_file_if_any(file, kMaxFileBytes).value_or("");
  return at->second;
}

const Allowances& SourceTexts::allowances(const std::string& file) {
  const auto at = allowances_.find(file);
  return at != allowances_.end() ? at->second
                                 : allowances_.try_emplace(file, text(file)).first->second;
}

std::string SourceTexts::line(const std::string& file, int number) {
  std::istringstream lines(text(file));
  std::string line;
  while (number-- > 0 && std::getline(lines, line)) continue;
  return std::string(trimmed(line));
}

}  // namespace dtypecheck::analyzer
