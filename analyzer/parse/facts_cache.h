// facts_cache.h: what was found in a file, for as long as neither it nor anything that it includes
// changes. An entry is named after the file and the arguments; it holds the facts, the project's
// own files by content, and the name of a list of system headers by size and time, which files that
// include the same share.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "analyzer/facts.h"
#include "analyzer/parse/cache_files.h"
#include "analyzer/parse/worker.h"

namespace dtypecheck::analyzer {

class FactsCache {
 public:
  // `salt` is what else the facts depend on: the program that parses.
  FactsCache(std::filesystem::path folder, std::string salt, Stamps& stamps);

  // Any thread may call these. A cache that cannot be read or written is no error: it is empty.
  std::optional<SourceFacts> find(const ParseJob& job);
  void keep(const ParseJob& job, const SourceFacts& facts);

 private:
  std::filesystem::path entry_of(const ParseJob& job) const;
  bool list_holds(const std::string& name);
  std::string list_of(const std::vector<std::string>& files);
  const std::string& known_content_of(const std::string& file);

  std::filesystem::path folder_;
  std::string salt_;
  Stamps& stamps_;
  std::mutex lock_;  // of what follows
  std::map<std::string, bool> lists_;
  std::map<std::string, std::string> contents_;
};

}  // namespace dtypecheck::analyzer
