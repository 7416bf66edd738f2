#include "analyzer/project/neighbours.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <tuple>

#include "analyzer/project/calls.h"
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

std::string text_of(const fs::path& file) {
  return read_file_if_any(file.string(), kMaxFile).value_or("");
}

// The headers that these sources include, of which some declare what they call or define.
class Headers {
 public:
  Headers(std::set<std::string> names, const std::vector<SourceFacts>& all) {
    for (const SourceFacts& facts : all) {
      for (const std::string& file : facts.files) read_.insert(fs::path(file).lexically_normal());
      for (const auto* functions : {&facts.defined, &facts.module_functions}) {
        for (const std::string& function : *functions) names.insert(scope_name(function));
      }
    }
    for (const fs::path& file : read_) {
      if (!is_source(file) && names_in(text_of(file), names) > 0)
        declaring_.insert(file.filename());
    }
  }

  bool are_others(const fs::path& source) const {
    bool has_other = false;
    for (const Include& include : includes_of(source)) {
      const fs::path header = (source.parent_path() / include.name).lexically_normal();
      if (!include.is_quoted || !is_file(header)) continue;
      if (read_.contains(header)) return false;
      has_other = has_other || declaring_.contains(header.filename());
    }
    return has_other;
  }

 private:
  std::set<fs::path> read_, declaring_;  // the latter without their folders
};

}  // namespace

std::vector<std::string> sources_that_name(const std::set<std::string>& functions,
                                           const std::vector<SourceFacts>& all) {
  struct Found {
    size_t names, nearness;
    std::string file;
  };
  std::vector<Found> found;
  if (functions.empty() || all.empty()) return {};
  std::set<fs::path> known;
  for (const SourceFacts& facts : all) known.insert(fs::absolute(facts.file).lexically_normal());
  const Headers headers(functions, all);
  const auto near = [&](const fs::path& file) {
    size_t nearest = 0;
    for (const fs::path& one : known)
      nearest = std::max(nearest, nearness(one.string(), file.string()));
    return nearest;
  };
  const fs::path root = repository_root(*known.begin());
  const auto skips = [&](const fs::path& folder) {
    return is_skipped_folder(folder) || folders_of_others().contains(folder.filename().string());
  };
  uintmax_t bytes = 0;
  for_each_file(root, kMaxEntries, skips, [&](const fs::path& file) {
    if (!is_source(file) || !is_file(file) || known.contains(file)) return true;
    const std::string text = text_of(file);
    bytes += text.size();
    const size_t names = names_in(text, functions);
    if (names > 0 && !headers.are_others(file)) found.push_back({names, near(file), file.string()});
    return bytes <= kMaxBytes;
  });
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(b.names, b.nearness, a.file) < std::tie(a.names, a.nearness, b.file);
  });
  std::vector<std::string> neighbours;
  for (const Found& one : found) {
    if (neighbours.size() < kMaxNeighbours) neighbours.push_back(one.file);
  }
  return neighbours;
}

}  // namespace dtypecheck::analyzer
