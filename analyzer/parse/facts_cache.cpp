#include "analyzer/parse/facts_cache.h"

#include <fmt/format.h>

#include <chrono>
#include <sstream>
#include <string_view>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/hash.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

constexpr std::string_view kFirstLine = "dtypecheck facts 4";
constexpr auto kKeptFor = std::chrono::hours(30 * 24);

// Folders that the arguments name for headers.
std::vector<fs::path> include_folders(const ParseJob& job) {
  std::vector<fs::path> folders = {fs::path(job.file).parent_path()};
  for (size_t i = 0; i + 1 < job.arguments.size(); ++i) {
    const std::string& argument = job.arguments[i];
    if (argument == "-I" || argument == "-isystem" || argument == "-iquote" ||
        argument == "-idirafter") {
      folders.push_back(job.arguments[i + 1]);
    } else if (argument.starts_with("-I")) {
      folders.push_back(argument.substr(2));
    }
  }
  return folders;
}

// A header that was missing and is there now changes what is found.
bool is_still_missing(const SourceFacts& facts, const ParseJob& job) {
  for (const fs::path& folder : include_folders(job)) {
    for (const std::string& header : facts.missing_headers) {
      if (is_there(folder / header)) return false;
    }
  }
  return true;
}

}  // namespace

FactsCache::FactsCache(fs::path folder, std::string salt, Stamps& stamps)
    : folder_(std::move(folder)), salt_(std::move(salt)), stamps_(stamps) {
  std::error_code error;
  const auto oldest = fs::file_time_type::clock::now() - kKeptFor;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    std::error_code unknown;
    const auto written = entry.last_write_time(unknown);
    if (!unknown && written < oldest) fs::remove(entry.path(), unknown);
  }
}

fs::path FactsCache::entry_of(const ParseJob& job) const {
  uint64_t name = fnv1a(job.file, fnv1a(salt_));
  for (const std::string& argument : job.arguments) name = fnv1a_next(argument, name);
  name = fnv1a_next(job.joined, name);
  return folder_ / (hash_text(name) + ".facts");
}

const std::string& FactsCache::known_content_of(const std::string& file) {
  const auto [at, is_new] = contents_.try_emplace(file);
  if (is_new) at->second = content_of(file);
  return at->second;
}

bool FactsCache::list_holds(const std::string& name) {
  const auto [at, is_new] = lists_.try_emplace(name, false);
  if (!is_new) return at->second;
  const auto text = read_file_if_any(folder_ / (name + ".headers"));
  if (!text) return false;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find('\t');
    if (end == line.npos || line.substr(0, end) != stamps_.stamp_of(line.substr(end + 1)))
      return false;
  }
  return at->second = true;
}

std::string FactsCache::list_of(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += stamps_.stamp_of(file) + "\t" + file + "\n";
  const std::string name = hash_text(fnv1a(text));
  if (lists_.try_emplace(name, true).second) write_file(folder_ / (name + ".headers"), text);
  return name;
}

std::optional<SourceFacts> FactsCache::find(const ParseJob& job) {
  const auto text = read_file_if_any(entry_of(job));
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  if (line != kFirstLine || !std::getline(lines, line)) return std::nullopt;
  {
    const std::scoped_lock held(lock_);
    if (!list_holds(line)) return std::nullopt;
    while (std::getline(lines, line) && !line.empty()) {
      const size_t end = line.find('\t');
      if (end == line.npos || line.substr(0, end) != known_content_of(line.substr(end + 1))) {
        return std::nullopt;
      }
    }
  }
  std::getline(lines, line);
  try {
    SourceFacts facts = facts_from_json(line);
    if (!is_still_missing(facts, job)) return std::nullopt;
    return facts;
  } catch (const InputError&) {
    return std::nullopt;  // a damaged entry is written again
  }
}

void FactsCache::keep(const ParseJob& job, const SourceFacts& facts) {
  if (!facts.parsed) return;
  SourceFacts kept = facts;
  kept.files.clear();
  kept.system_files.clear();
  std::string text = std::string(kFirstLine) + "\n";
  {
    const std::scoped_lock held(lock_);
    text += list_of(facts.system_files) + "\n";
    for (const std::string& file : facts.files) text += known_content_of(file) + "\t" + file + "\n";
  }
  write_file(entry_of(job), text + "\n" + facts_to_json(kept) + "\n");
}

}  // namespace dtypecheck::analyzer
