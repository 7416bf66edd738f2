// precompiled_headers.h: the headers of LibTorch that sources begin with, parsed once and kept.
//
// Most of the time that a file takes is its first #include. Files that begin alike, and with the
// bundled headers all that include one of them (leading_headers.h), share one precompiled header:
// the parse of just those lines, with the same arguments but for the project's own folders. It is
// made where more files of a run begin so than there are workers, where an earlier run wanted it
// too, for an editor, or of the bundled headers, which costs little more than one parse of them,
// and used as long as every header in it has its content. Where several files include a large
// header of the project that has nothing to do with tensors, it is a part of it. What a file says
// is the same with it and without.
//
// In the folder: KEY.cpp, the lines; KEY-HASH.pch, named by its own content; KEY.headers, which
// names it and what it was made of. Nothing here is ever an error: without it files are parsed
// whole.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/parse/cache_files.h"
#include "analyzer/parse/worker.h"

namespace dtypecheck::analyzer {

// The project's own folders of headers.
std::vector<std::string> own_folders(const ParseJob& job);

class PrecompiledHeaders {
 public:
  // `salt` is what else it depends on: the program that parses. `is_edited`: each file will be
  // parsed again soon.
  PrecompiledHeaders(std::filesystem::path folder, std::string program, std::string salt,
                     Stamps& stamps, bool is_edited);

  // All files of the run, before the first is parsed.
  void expect(const std::vector<ParseJob>& jobs, unsigned workers);

  // The precompiled header to parse a file with, made if need be; "" where there is none, or while
  // another thread makes it. Any thread may call it.
  std::string for_job(const ParseJob& job);
  // The same, of those that are there already.
  std::string ready_for_job(const ParseJob& job);
  // Adds what was parsed for it.
  void add_files_in_that_of(const ParseJob& job, SourceFacts& facts);

 private:
  struct Kept {
    std::filesystem::path pch;
    std::set<std::string> names;  // that its headers begin with: what must not be hidden
    std::vector<std::string> files;
  };
  struct Group {  // of files that begin alike
    std::string key;
    std::string text;
    std::vector<std::string> arguments;
    std::vector<std::string> large;  // of the project, behind the others
    size_t files = 0;
    bool is_bundled = false;
    bool is_looked_for = false;
    std::optional<Kept> kept;
  };

  Group group_of(const ParseJob& job) const;
  // Whether the large headers are worth to be a part of it, which so many files include.
  bool takes_large(const Group& group, size_t files) const;
  std::filesystem::path path_of(const Group& group, const char* ending) const;
  bool has_failed(const Group& group) const;
  std::optional<Kept> find(const Group& group) const;
  bool pays(const Group& group) const;
  std::optional<Kept> make(const Group& group) const;
  void drop_others(const Group& group, const std::filesystem::path& newest) const;
  bool hides(const ParseJob& job, const Kept& kept);

  std::filesystem::path folder_;
  std::string program_, salt_;
  Stamps& stamps_;
  bool is_edited_;
  unsigned workers_ = 1;
  std::map<std::string, std::string> keys_;               // by file and arguments
  std::mutex lock_;                                       // of what follows
  std::map<std::string, Group> groups_;                   // by key
  std::map<std::string, std::set<std::string>> entries_;  // of folders
};

}  // namespace dtypecheck::analyzer
