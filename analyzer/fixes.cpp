#include "analyzer/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "platform/error.h"
#include "platform/files.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

struct Splice {
  size_t begin, end;
  std::string text;
};

struct File {
  std::string text;
  std::vector<size_t> lines;  // where each begins
  std::vector<Splice> splices;
};

File file_of(const std::string& path) {
  File file{.text = read_file_if_any(path).value_or(""), .lines = {0}, .splices = {}};
  for (size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n') file.lines.push_back(i + 1);
  }
  return file;
}

// Nothing when the text there is not the one that was judged.
std::optional<Splice> splice_of(const File& file, const SourceEdit& edit) {
  if (edit.line < 1 || static_cast<size_t>(edit.line) > file.lines.size() || edit.column < 1) {
    return std::nullopt;
  }
  const size_t begin =
      file.lines[static_cast<size_t>(edit.line) - 1] + static_cast<size_t>(edit.column) - 1;
  if (begin > file.text.size() ||
      file.text.compare(begin, edit.old_text.size(), edit.old_text) != 0) {
    return std::nullopt;
  }
  return Splice{begin, begin + edit.old_text.size(), edit.new_text};
}

bool overlap(const Splice& a, const Splice& b) {
  return a.begin == b.begin || (a.begin < b.end && b.begin < a.end);
}

bool is_same(const Splice& a, const Splice& b) {
  return a.begin == b.begin && a.end == b.end && a.text == b.text;
}

class Fixes {
 public:
  // True when all edits of the finding found their place.
  bool take(const Finding& finding) {
    std::vector<std::pair<File*, Splice>> wanted;
    for (const SourceEdit& edit : finding.edits) {
      const auto [at, is_new] = files_.try_emplace(edit.file);
      if (is_new) at->second = file_of(edit.file);
      const auto splice = splice_of(at->second, edit);
      if (!splice) return false;
      const auto& taken = at->second.splices;
      const auto in_the_way = [&](const Splice& other) {
        return overlap(other, *splice) && !is_same(other, *splice);
      };
      if (std::any_of(taken.begin(), taken.end(), in_the_way)) return false;
      wanted.emplace_back(&at->second, *splice);
    }
    for (auto& [file, splice] : wanted) {
      const auto same = [&, &one = splice](const Splice& other) { return is_same(other, one); };
      if (std::none_of(file->splices.begin(), file->splices.end(), same)) {
        file->splices.push_back(std::move(splice));
      }
    }
    return true;
  }

  size_t write() {
    size_t written = 0;
    for (auto& [path, file] : files_) {
      if (file.splices.empty()) continue;
      std::sort(file.splices.begin(), file.splices.end(),
                [](const Splice& a, const Splice& b) { return a.begin > b.begin; });
      for (const Splice& splice : file.splices) {
        file.text.replace(splice.begin, splice.end - splice.begin, splice.text);
      }
      try {
        replace_file(std::filesystem::weakly_canonical(path).string(), {file.text});
      } catch (const std::exception& error) {
        throw InputError(fmt::format("{}; the file was not changed", error.what()));
      }
      ++written;
    }
    return written;
  }

 private:
  std::map<std::string, File> files_;
};

}  // namespace

AppliedFixes apply_fixes(std::vector<Finding>& findings) {
  AppliedFixes applied;
  Fixes fixes;
  std::erase_if(findings, [&](const Finding& finding) {
    if (finding.edits.empty()) return false;
    if (fixes.take(finding)) {
      ++applied.findings;
      return true;
    }
    const SourceLine& line = finding.site.line;
    applied.not_applied.push_back(fmt::format("{}:{}", line.file, line.line));
    return false;
  });
  applied.files = fixes.write();
  return applied;
}

}  // namespace dtypecheck::analyzer
