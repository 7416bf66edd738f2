#include "cures/proven_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cures/edit_json.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/hash.h"
#include "platform/json.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::cures {
namespace {

using Json = nlohmann::json;

std::string file_in(const std::string& run_folder) { return run_folder + "/cure.json"; }

bool is_copy_of(const std::string& file, std::string_view copy) {
  constexpr std::string_view kEnd = ".before-cure";
  if (!copy.starts_with(file) || !copy.substr(file.size()).starts_with(kEnd)) return false;
  return copy.find_first_not_of("0123456789", file.size() + kEnd.size()) == copy.npos;
}

// Links are followed: the file is below the folder.
bool is_below(const fs::path& folder, const fs::path& file) {
  const fs::path inside =
      fs::weakly_canonical(file).lexically_relative(fs::weakly_canonical(folder));
  return !inside.empty() && *inside.begin() != "..";
}

// The file's text with its edits. Throws InputError where they do not fit.
std::string with_edits(const ProvenChange& change, const std::string& file,
                       const std::string& text) {
  const auto edits = by_file(change.edits);
  const auto its = edits.find(file);
  auto out = its == edits.end() ? std::nullopt : edited(text, its->second);
  if (!out) throw InputError(fmt::format("{}: the change does not fit it", file));
  return *std::move(out);
}

std::string free_name(const std::string& file) {
  std::string name = file + ".before-cure";
  for (int number = 2; fs::exists(name); ++number)
    name = fmt::format("{}.before-cure{}", file, number);
  return name;
}

}  // namespace

bool ProvenChange::is_proven() const { return verdict == verdict_name(Verdict::kProven); }

bool ProvenChange::is_applied() const {
  return std::any_of(files.begin(), files.end(),
                     [](const File& file) { return !file.copy.empty(); });
}

std::optional<ProvenChange> read_proven_change(const std::string& run_folder) {
  const std::string path = file_in(run_folder);
  if (!is_file(path)) return std::nullopt;
  try {
    const Json json = Json::parse(read_file(path), is_shallow);
    ProvenChange change{json.at("verdict"),
                        json.at("words"),
                        json.at("prompt"),
                        json.value("is_workaround", false),
                        {},
                        {},
                        edits_of(json.at("edits"))};
    for (const Json& part : json.at("parts"))
      change.parts.push_back({part.at("text"), part.at("cures"), part.at("finding")});
    for (const Json& file : json.at("files"))
      change.files.push_back({file.at("file"), file.at("hash"), file.at("copy")});
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
    files.push_back({{"file", file.file}, {"hash", file.hash}, {"copy", file.copy}});
  const Json json = {{"verdict", change.verdict},
                     {"words", change.words},
                     {"prompt", change.prompt},
                     {"is_workaround", change.is_workaround},
                     {"parts", parts},
                     {"files", files},
                     {"edits", json_of(change.edits)}};
  replace_file(file_in(run_folder),
               {json.dump(2, ' ', false, Json::error_handler_t::replace), "\n"},
               {.mode = 0600, .syncs = false});
}

ProvenChange kept(const Try& tried) {
  ProvenChange change{verdict_name(tried.judged.verdict),
                      tried.judged.words,
                      tried.prompt,
                      tried.merit.is_workaround(),
                      {},
                      {},
                      tried.patch.edits};
  for (const Change& part : tried.changes)
    change.parts.push_back({part.text, part.cures, part.finding});
  for (const auto& [file, edits] : by_file(change.edits))
    change.files.push_back({file, hash_text(fnv1a(read_file(file))), ""});
  return change;
}

void require_own(const ProvenChange& change, const RunDescription& ran) {
  if (!change.is_proven())
    throw InputError(
        "the change is not proven, so it is not applied; look for one with dtypecheck cure");
  std::vector<fs::path> folders = {ran.folder};
  for (const std::string& word : ran.command) {
    const fs::path script = fs::path(ran.folder) / word;
    if (word.ends_with(".py") && is_file(script)) folders.push_back(script.parent_path());
  }
  for (const auto& file : change.files) {
    const bool is_inside = std::any_of(folders.begin(), folders.end(), [&](const fs::path& one) {
      return is_below(one, file.file);
    });
    if (!is_inside)
      throw InputError(fmt::format("{}: is outside of {}, where the program ran; change it by hand",
                                   file.file, ran.folder));
    if (!file.copy.empty() && !is_copy_of(file.file, file.copy))
      throw InputError(fmt::format("{}: is no copy of {}", file.copy, file.file));
  }
}

std::string what_is_written(const ProvenChange& change) {
  for (const auto& file : change.files) {
    if (!file.copy.empty())
      throw InputError(fmt::format("{}: is changed already; undo that with --undo", file.file));
    const std::string text = read_file(file.file);
    if (hash_text(fnv1a(text)) != file.hash)
      throw InputError(fmt::format(
          "{}: has changed since the cure was tried; record and cure it again", file.file));
    with_edits(change, file.file, text);
  }
  return diff_of(change.edits);
}

void apply(ProvenChange& change) {
  what_is_written(change);
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
  for (const auto& file : change.files)
    replace_file(file.file, {with_edits(change, file.file, read_file(file.copy))});
}

void undo(ProvenChange& change) {
  if (!change.is_applied())
    throw InputError("the change is not applied, so there is nothing to undo");
  for (const auto& file : change.files) {
    if (!is_file(file.copy))
      throw InputError(fmt::format("{}: the copy of {} is gone", file.copy, file.file));
    if (read_file(file.file) != with_edits(change, file.file, read_file(file.copy)))
      throw InputError(
          fmt::format("{}: has changed since the cure was applied; the original is in {}",
                      file.file, file.copy));
  }
  for (auto& file : change.files) {
    replace_file(file.file, {read_file(file.copy)});
    std::error_code ignored;
    fs::remove(file.copy, ignored);
    file.copy.clear();
  }
}

void report_proven_change(const ProvenChange& change, std::vector<Finding>& findings) {
  if (!change.is_proven()) return;
  std::string diff;
  try {
    std::map<std::string, std::string> copies;
    for (const auto& file : change.files)
      if (!file.copy.empty()) copies[file.file] = file.copy;
    diff = diff_of(change.edits, copies);
  } catch (const InputError&) {  // the files are elsewhere, or gone: the words stay
  }
  if (!change.prompt.empty()) diff += "$ " + change.prompt + "\n";
  for (const auto& part : change.parts) {
    for (Finding& finding : findings) {
      if (part.finding.empty() || finding.id != part.finding) continue;
      finding.fix = part.text;
      finding.edits = change.edits;
      finding.proof = fmt::format("{}: {}", change.verdict, change.words);
      finding.is_workaround = change.is_workaround;
      finding.diff = diff;
    }
  }
}

}  // namespace dtypecheck::cures
