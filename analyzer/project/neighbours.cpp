#include "analyzer/project/neighbours.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "analyzer/project/tree.h"
#include "platform/files.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

constexpr size_t kMaxNeighbours = 12;
constexpr size_t kMaxEntries = 20'000;
constexpr uintmax_t kMaxFile = 1 << 20;
constexpr uintmax_t kMaxBytes = 64 << 20;

// How many of the functions the text names.
size_t names_in(std::string_view text, const std::set<std::string>& functions) {
  std::set<std::string> found;
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    while (i < text.size() && is_of_name(text[i])) ++i;
    if (i == begin) {
      ++i;
      continue;
    }
    std::string name(text.substr(begin, i - begin));
    if (functions.contains(name)) found.insert(std::move(name));
  }
  return found.size();
}

}  // namespace

std::vector<std::string> sources_that_name(const std::set<std::string>& functions,
                                           const std::vector<std::string>& files) {
  struct Found {
    size_t names;
    std::string file;
  };
  std::vector<Found> found;
  if (functions.empty() || files.empty()) return {};
  std::set<fs::path> known;
  for (const std::string& file : files) known.insert(fs::absolute(file).lexically_normal());
  const fs::path root = repository_root(*known.begin());
  const auto skips = [&](const fs::path& folder) {
    return is_skipped_folder(folder) || folders_of_others().contains(folder.filename().string());
  };
  uintmax_t bytes = 0;
  for_each_file(root, kMaxEntries, skips, [&](const fs::path& file) {
    if (!is_source(file) || !is_file(file) || known.contains(file)) return true;
    const std::string text = read_file_if_any(file.string(), kMaxFile).value_or("");
    bytes += text.size();
    if (const size_t names = names_in(text, functions)) found.push_back({names, file.string()});
    return bytes <= kMaxBytes;
  });
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return a.names != b.names ? a.names > b.names : a.file < b.file;
  });
  std::vector<std::string> neighbours;
  for (const Found& one : found) {
    if (neighbours.size() < kMaxNeighbours) neighbours.push_back(one.file);
  }
  return neighbours;
}

}  // namespace dtypecheck::analyzer
