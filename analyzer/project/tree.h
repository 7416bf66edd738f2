// tree.h: the tree that a source stands in.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// By its name: C++ or CUDA, and no header.
bool is_source(const std::filesystem::path& file);
bool is_cuda(const std::filesystem::path& file);

// It looks like a project's own: a repository, or a Python package.
bool is_marked(const std::filesystem::path& folder);

// The nearest folder above that looks like a project's own; where none does, the file's folder.
std::filesystem::path project_root(const std::filesystem::path& file);

// What the project may be a part of, with headers beside it: the repository. Of a tree that came
// without its history, the outermost folder that looks like a project's or is built as one.
std::filesystem::path repository_root(const std::filesystem::path& file);

struct Include {
  std::string name;
  bool is_quoted;
};
// What a file includes, under whatever condition.
std::vector<Include> includes_of(const std::filesystem::path& file);

// Of a header's text: large, and no LibTorch's and no GPU's, as those of JSON that projects copy.
// Nothing in it is judged.
inline bool is_large_of_other_things(std::string_view text) {
  if (text.size() <= 100'000) return false;
  for (const char* name : {"torch", "Tensor", "ATen", "c10", "__half", "__device__"}) {
    if (text.find(name) != text.npos) return false;
  }
  return true;
}

// Folders of a tree that hold no code of the project's own: hidden ones, builds, packages.
bool is_skipped_folder(const std::filesystem::path& folder);

// Folders of a project that hold the code of others, by name.
const std::set<std::string>& folders_of_others();
// Below a folder of the project that holds the code of others: third_party, vendor.
bool is_in_folder_of_others(const std::filesystem::path& file, const std::filesystem::path& root);

// Each file of a tree, in no order, until `each` says false or so many entries were seen.
constexpr size_t kAllEntries = static_cast<size_t>(-1);
void for_each_file(const std::filesystem::path& root, size_t most_entries,
                   const std::function<bool(const std::filesystem::path& folder)>& skips,
                   const std::function<bool(const std::filesystem::path& file)>& each);

// So many characters of their paths are the same.
size_t nearness(const std::string& a, const std::string& b);

// Completes the facts of a file with what the code around it says, read where a check asks for it.
void look_around(SourceFacts& facts);

}  // namespace dtypecheck::analyzer
