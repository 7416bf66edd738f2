#include "cures/proven_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/hash.h"

namespace fs = std::filesystem;

namespace dtypecheck::cures {
namespace {

using Json = nlohmann::ordered_json;

std::string file_in(const std::string& run_folder) { return run_folder + "/cure.json"; }

std::string hash_of(const std::string& text) { return fmt::format("{:016x}", fnv1a(text)); }

// The edits that a unified diff of the files, in their order, writes down. What is put between two
// lines goes to the first column of the second.
std::vector<SourceEdit> edits_of(const ProvenChange& change) {
  std::vector<SourceEdit> edits;
  std::vector<std::string> removed;
  size_t file = 0, next_removed = 0;
  int line = 0;  // of the file as it was, behind what was read
  std::istringstream lines(change.diff);
  for (std::string text; std::getline(lines, text);) {
    if (text.starts_with("--- ")) {
      if (file++ == change.files.size()) return {};
    } else if (text.starts_with("@@ -")) {
      line = std::atoi(text.c_str() + 4);
    } else if (file == 0 || line == 0 || text.empty() || text.starts_with("+++ ")) {
      continue;
    } else if (text.front() == '-') {
      removed.push_back(text.substr(1));
      ++line;
    } else if (text.front() == '+') {
      const int left = static_cast<int>(removed.size() - next_removed);
      SourceEdit edit{change.files[file - 1].file, line - left, 1, "", text.substr(1)};
      if (left > 0) {
        edit.old_text = removed[next_removed++];
      } else {
        edit.new_text += '\n';
      }
      edits.push_back(std::move(edit));
    } else {
      if (next_removed != removed.size()) return {};  // fewer lines than before: no edits of lines
      removed.clear();
      next_removed = 0;
      ++line;
    }
  }
  return edits;
}

std::string free_name(const std::string& file) {
  std::string name = file + ".before-cure";
  for (int number = 2; fs::exists(name); ++number)
    name = fmt::format("{}.before-cure{}", file, number);
  return name;
}

}  // namespace

bool ProvenChange::is_applied() const {
  return std::any_of(files.begin(), files.end(),
                     [](const File& file) { return !file.copy.empty(); });
}

std::optional<ProvenChange> read_proven_change(const std::string& run_folder) {
  const std::string path = file_in(run_folder);
  if (!is_file(path)) return std::nullopt;
  try {
    const Json json = Json::parse(read_file(path));
    ProvenChange change{
        json.at("verdict"), json.at("words"), json.at("diff"), json.at("prompt"), {}, {}};
    for (const Json& part : json.at("parts"))
      change.parts.push_back({part.at("text"), part.at("cures"), part.at("finding")});
    for (const Json& file : json.at("files"))
      change.files.push_back({file.at("file"), file.at("hash"), file.at("text"), file.at("copy")});
    return change;
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("{}: is not what dtypecheck cure wrote ({}); run it again", path,
                                 error.what()));
  }
}

void write_proven_change(const std::string& run_folder, const ProvenChange& change) {
  Json parts = Json::array(), files = Json::array();
  for (const auto& part : change.parts)
    parts.push_back({{"text", part.text}, {"cures", part.cures}, {"finding", part.finding}});
  for (const auto& file : change.files)
    files.push_back(
        {{"file", file.file}, {"hash", file.hash}, {"text", file.text}, {"copy", file.copy}});
  const Json json = {{"verdict", change.verdict}, {"words", change.words}, {"diff", change.diff},
                     {"prompt", change.prompt},   {"parts", parts},        {"files", files}};
  replace_file(file_in(run_folder),
               {json.dump(2, ' ', false, Json::error_handler_t::replace), "\n"},
               {.mode = 0600, .syncs = false});
}

void apply(ProvenChange& change) {
  for (const auto& file : change.files) {
    if (!file.copy.empty())
      throw InputError(fmt::format("{}: is changed already; undo that with --undo", file.file));
    if (hash_of(read_file(file.file)) != file.hash)
      throw InputError(fmt::format(
          "{}: has changed since the cure was tried; record and cure it again", file.file));
  }
  for (auto& file : change.files) {
    const std::string copy = free_name(file.file);
    std::error_code error;
    fs::copy_file(file.file, copy, error);
    if (error) {
      for (auto& made : change.files) {
        std::error_code ignored;
        if (!made.copy.empty()) fs::remove(made.copy, ignored);
      }
      throw InputError(fmt::format("{}: no copy could be made, so nothing was changed: {}", copy,
                                   error.message()));
    }
    file.copy = copy;
  }
  for (const auto& file : change.files) replace_file(file.file, {file.text});
}

void undo(ProvenChange& change) {
  if (!change.is_applied())
    throw InputError("the change is not applied, so there is nothing to undo");
  for (const auto& file : change.files) {
    if (read_file(file.file) != file.text)
      throw InputError(
          fmt::format("{}: has changed since the cure was applied; the original is in {}",
                      file.file, file.copy));
    if (!is_file(file.copy))
      throw InputError(fmt::format("{}: the copy of {} is gone", file.copy, file.file));
  }
  for (auto& file : change.files) {
    replace_file(file.file, {read_file(file.copy)});
    std::error_code ignored;
    fs::remove(file.copy, ignored);
    file.copy.clear();
  }
}

void report_proven_change(const ProvenChange& change, std::vector<Finding>& findings) {
  for (const auto& part : change.parts) {
    for (Finding& finding : findings) {
      if (part.finding.empty() || finding.id != part.finding) continue;
      const bool is_proven = change.verdict == "proven";
      const std::string proof = fmt::format("{}: {}", change.verdict, change.words);
      finding.fix = is_proven ? part.text : fmt::format("{} ({})", part.text, proof);
      if (is_proven) finding.edits = edits_of(change);
      if (is_proven) finding.proof = proof;
      finding.diff =
          change.prompt.empty() ? change.diff : change.diff + "$ " + change.prompt + "\n";
    }
  }
}

}  // namespace dtypecheck::cures
