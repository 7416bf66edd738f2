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

struct File {
  std::string text;
  std::vector<Splice> splices = {};
  std::optional<std::string> written = {};
};

class Fixes {
 public:
  // True when all edits of the finding found their place.
  bool take(const Finding& finding) {
    std::vector<std::pair<File*, Splice>> wanted;
    for (const SourceEdit& edit : finding.edits) {
      const auto [at, is_new] = files_.try_emplace(edit.file);
      if (is_new) at->second.text = read_file_if_any(edit.file).value_or("");
      const auto splice = splice_of(at->second.text, edit);
      if (!splice) return false;
      const auto& taken = at->second.splices;
      const auto in_the_way = [&](const Splice& other) {
        return overlap(other, *splice) && other != *splice;
      };
      if (std::ranges::any_of(taken, in_the_way)) return false;
      wanted.emplace_back(&at->second, *splice);
    }
    for (auto& [file, splice] : wanted) {
      const auto& taken = file->splices;
      if (std::find(taken.begin(), taken.end(), splice) == taken.end())
        file->splices.push_back(std::move(splice));
    }
    return true;
  }

  void forget() {
    for (auto& [path, file] : files_) file.splices.clear();
  }

  std::vector<std::string> changed() const {
    std::vector<std::string> paths;
    for (const auto& [path, file] : files_) {
      if (!file.splices.empty()) paths.push_back(path);
    }
    return paths;
  }

  // Each file as it was, with what was taken since forget().
  void write() {
    for (auto& [path, file] : files_) {
      std::string text = spliced(file.text, file.splices);
      if (text == file.written.value_or(file.text)) continue;
      try {
        replace_file(std::filesystem::weakly_canonical(path).string(), {text});
      } catch (const std::exception& error) {
        throw InputError(fmt::format("{}; the file was not changed", error.what()));
      }
      file.written = std::move(text);
    }
  }

 private:
  std::map<std::string, File> files_;
};

bool touches(const Finding& finding, const std::vector<std::string>& files) {
  return std::ranges::any_of(finding.edits, [&](const SourceEdit& edit) {
    return std::find(files.begin(), files.end(), edit.file) != files.end();
  });
}

std::string place_of(const Finding& finding) {
  return fmt::format("{}:{}", finding.site.line.file, finding.site.line.line);
}

}  // namespace

void reindent(SourceEdit& edit, std::string_view text) {
  const auto splice = splice_of(text, edit);
  if (!splice) return;
  const size_t length = static_cast<size_t>(edit.column) - 1;
  const std::string before(text.substr(splice->begin - length, length));
  const std::string blanks = "\n" + std::string(length, ' ');
  const size_t at = edit.new_text.find(blanks);
  if (edit.old_text.empty() && at != std::string::npos) {
    const bool is_indent = before.find_first_not_of(" \t") == std::string::npos;
    edit.new_text.replace(at, blanks.size(), is_indent ? "\n" + before : " ");
  }
  const bool ends_line =
      splice->end >= text.size() || text[splice->end] == '\n' || text[splice->end] == '\r';
  while (ends_line && edit.new_text.ends_with(' ')) edit.new_text.pop_back();
}

AppliedFixes apply_fixes(std::vector<Finding>& findings, const BrokenFiles& broken) {
  AppliedFixes applied;
  Fixes fixes;
  std::vector<const Finding*> taken, suspects;
  for (const Finding& finding : findings) {
    if (finding.edits.empty()) continue;
    if (fixes.take(finding))
      taken.push_back(&finding);
    else
      applied.in_the_way.push_back(place_of(finding));
  }
  fixes.write();
  const auto write = [&] {
    fixes.forget();
    for (const Finding* finding : taken) fixes.take(*finding);
    fixes.write();
  };
  const std::vector<std::string> files =
      taken.empty() ? std::vector<std::string>() : broken(fixes.changed());
  std::erase_if(taken, [&](const Finding* finding) {
    if (touches(*finding, files)) suspects.push_back(finding);
    return touches(*finding, files);
  });
  for (const Finding* suspect : suspects) {  // one by one: most of them do no harm
    taken.push_back(suspect);
    write();
    if (!touches(*suspect, broken(fixes.changed()))) continue;
    taken.pop_back();
    applied.broken.push_back(place_of(*suspect));
  }
  if (!suspects.empty()) write();
  applied.findings = taken.size();
  applied.files = fixes.changed().size();
  std::set<std::string> ids;
  for (const Finding* finding : taken) ids.insert(finding->id);
  std::erase_if(findings, [&](const Finding& finding) { return ids.contains(finding.id); });
  return applied;
}

}  // namespace dtypecheck::analyzer
