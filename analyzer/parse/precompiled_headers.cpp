#include "analyzer/parse/precompiled_headers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>

#include "analyzer/parse/leading_headers.h"
#include "analyzer/parse/parser_process.h"
#include "platform/files.h"
#include "platform/hash.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

namespace {

constexpr std::string_view kFirstLine = "dtypecheck headers 1";
constexpr size_t kFewFiles = 4;  // that a large header costs less than one that has it, precompiled
constexpr size_t kMaxKept = 8;   // about 100 MB each
constexpr uintmax_t kRoom = uintmax_t{1} << 30;         // that a disk must have left
constexpr int kTimeout = 600;                           // seconds to make one
constexpr auto kFailedFor = std::chrono::hours(24);     // until it is tried again
constexpr auto kKeptFor = std::chrono::hours(30 * 24);  // unused

// What begins the names of the bundled headers, most of which are no files.
constexpr const char* kBundledNames[] = {"torch", "ATen", "c10", "caffe2"};

bool names_folder(const std::string& argument) { return argument == "-I" || argument == "-iquote"; }

std::vector<std::string> without_own_folders(const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (names_folder(arguments[i])) {
      ++i;
    } else if (!arguments[i].starts_with("-I")) {
      kept.push_back(arguments[i]);
    }
  }
  return kept;
}

// A file that asks about a switch is parsed once each way.
std::string known_as(const ParseJob& job) {
  std::string name = job.file;
  for (const std::string& argument : job.arguments) name += '\n' + argument;
  return name;
}

bool is_bundled(const ParseJob& job) {
  for (size_t i = 0; i + 1 < job.arguments.size(); ++i) {
    if (job.arguments[i] == "-isystem" &&
        is_file(fs::path(job.arguments[i + 1]) / "dtypecheck_torch.h"))
      return true;
  }
  return false;
}

std::string key_of(const std::string& salt, const std::string& text,
                   const std::vector<std::string>& arguments) {
  uint64_t key = fnv1a(text, fnv1a(salt));
  for (const char* name : {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"}) {
    const char* value = std::getenv(name);
    key = fnv1a_next(value == nullptr ? "" : value, key);
  }
  for (const std::string& argument : arguments) key = fnv1a_next(argument, key);
  return hash_text(key);
}

// What making one answers: a line each, a word and its value.
struct Made {
  std::string hash;
  std::vector<std::string> folders, files;
};

std::optional<Made> read_made(const ParserAnswer& answer) {
  if (!answer.failure.empty()) return std::nullopt;
  Made made;
  std::istringstream lines(answer.text);
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find('\t');
    if (end == line.npos) return std::nullopt;
    const std::string word = line.substr(0, end), value = line.substr(end + 1);
    if (word == "pch") made.hash = value;
    if (word == "folder") made.folders.push_back(value);
    if (word == "file") made.files.push_back(value);
  }
  if (made.hash.empty() || made.files.empty()) return std::nullopt;
  return made;
}

// ATen of …/include/ATen/core/Tensor.h: what a folder of the project must not have, or the header
// would be found there.
std::string first_name(const std::string& file, const std::vector<std::string>& folders) {
  size_t longest = file.rfind('/') + 1;
  bool is_found = false;
  for (const std::string& folder : folders) {
    const size_t size = folder.size() + 1;
    if (!file.starts_with(folder + "/") || (is_found && size < longest)) continue;
    longest = size;
    is_found = true;
  }
  return file.substr(longest, file.find('/', longest) - longest);
}

void touch(const fs::path& path) { utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

}  // namespace

std::vector<std::string> own_folders(const ParseJob& job) {
  constexpr std::string_view kFrom = "-working-directory=";
  fs::path from;
  for (const std::string& argument : job.arguments) {
    if (argument.starts_with(kFrom)) from = argument.substr(kFrom.size());
  }
  std::vector<std::string> folders;
  for (size_t i = 0; i < job.arguments.size(); ++i) {
    const std::string& argument = job.arguments[i];
    if (names_folder(argument) && i + 1 < job.arguments.size()) {
      folders.push_back(job.arguments[++i]);
    } else if (argument.starts_with("-I") && argument.size() > 2) {
      folders.push_back(argument.substr(2));
    }
  }
  for (std::string& folder : folders) folder = (from / folder).string();
  return folders;
}

PrecompiledHeaders::PrecompiledHeaders(fs::path folder, std::string program, std::string salt,
                                       Stamps& stamps, bool is_edited)
    : folder_(std::move(folder)),
      program_(std::move(program)),
      salt_(std::move(salt)),
      stamps_(stamps),
      is_edited_(is_edited) {}

PrecompiledHeaders::Group PrecompiledHeaders::group_of(const ParseJob& job) const {
  Group group;
  group.arguments = without_own_folders(job.arguments);
  group.is_bundled = is_bundled(job);
  const std::vector<std::string> folders = own_folders(job);
  BundledHeaders headers = group.is_bundled
                               ? bundled_headers(job.file, folders)
                               : BundledHeaders{leading_headers(job.file, folders), {}};
  group.text = std::move(headers.lines);
  group.large = std::move(headers.large);
  return group;
}

bool PrecompiledHeaders::takes_large(const Group& group, size_t files) const {
  return !has_failed(group) &&
         (files > kFewFiles || is_edited_ || is_there(path_of(group, ".headers")));
}

void PrecompiledHeaders::expect(const std::vector<ParseJob>& jobs, unsigned workers) {
  workers_ = std::max(1U, workers);
  std::vector<std::pair<Group, Group>> wanted;  // without the large headers, and with them
  std::map<std::string, size_t> files;          // by key
  for (const ParseJob& job : jobs) {
    Group with = group_of(job), without = with;
    without.large.clear();
    for (const std::string& header : with.large) with.text += "#include \"" + header + "\"\n";
    for (Group* group : {&with, &without})
      group->key = key_of(salt_, group->text, group->arguments);
    ++files[with.key];
    wanted.emplace_back(std::move(without), std::move(with));
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    auto& [without, with] = wanted[i];
    Group& group = takes_large(with, files[with.key]) ? with : without;
    if (group.text.empty()) continue;
    keys_[known_as(jobs[i])] = group.key;
    ++groups_.try_emplace(group.key, group).first->second.files;
  }
}

std::string PrecompiledHeaders::for_job(const ParseJob& job) {
  const auto key = keys_.find(known_as(job));
  if (key == keys_.end()) return "";
  std::unique_lock held(lock_);
  Group& group = groups_.at(key->second);
  if (!group.is_looked_for) {
    group.is_looked_for = true;
    group.kept = find(group);
    if (!group.kept && pays(group)) {
      // The bundled ones are made sooner than one file is parsed without them, so the others wait.
      if (!group.is_bundled) held.unlock();
      std::optional<Kept> made = make(group);
      if (!group.is_bundled) held.lock();
      group.kept = std::move(made);
    } else if (!group.kept) {
      write_file(path_of(group, ".cpp"), group.text);  // a later run finds that it is wanted
    }
  }
  return group.kept && !hides(job, *group.kept) ? group.kept->pch.string() : "";
}

std::string PrecompiledHeaders::ready_for_job(const ParseJob& job) {
  const auto key = keys_.find(known_as(job));
  if (key == keys_.end()) return "";
  const std::scoped_lock held(lock_);
  const auto kept = find(groups_.at(key->second));
  return kept && !hides(job, *kept) ? kept->pch.string() : "";
}

void PrecompiledHeaders::add_files_in_that_of(const ParseJob& job, SourceFacts& facts) {
  const std::scoped_lock held(lock_);
  const Group& group = groups_.at(keys_.at(known_as(job)));
  const auto& own = group.large;
  facts.files.insert(facts.files.end(), own.begin(), own.end());
  if (group.kept) {
    const auto& others = group.kept->files;
    facts.system_files.insert(facts.system_files.end(), others.begin(), others.end());
  }
  for (std::vector<std::string>* files : {&facts.files, &facts.system_files}) {
    std::sort(files->begin(), files->end());
    files->erase(std::unique(files->begin(), files->end()), files->end());
  }
}

fs::path PrecompiledHeaders::path_of(const Group& group, const char* ending) const {
  return folder_ / (group.key + ending);
}

std::optional<PrecompiledHeaders::Kept> PrecompiledHeaders::find(const Group& group) const {
  const auto text = read_file_if_any(path_of(group, ".headers"));
  if (!text || read_file_if_any(path_of(group, ".cpp")) != group.text) return std::nullopt;
  std::istringstream lines(*text);
  std::string line;
  Kept kept;
  if (!std::getline(lines, line) || line != kFirstLine || !std::getline(lines, line)) {
    return std::nullopt;
  }
  kept.pch = folder_ / fs::path(line).filename();
  while (std::getline(lines, line) && !line.empty()) kept.names.insert(line);
  while (std::getline(lines, line)) {
    const size_t stamp = line.find('\t'), content = line.find('\t', stamp + 1);
    if (stamp == line.npos || content == line.npos) return std::nullopt;
    const std::string file = line.substr(content + 1);
    const bool is_same = stamps_.stamp_of(file) == line.substr(0, stamp) ||
                         content_of(file) == line.substr(stamp + 1, content - stamp - 1);
    if (!is_same) return std::nullopt;
    kept.files.push_back(file);
  }
  if (kept.files.empty() || !is_file(kept.pch)) return std::nullopt;
  for (const fs::path& used : {kept.pch, path_of(group, ".cpp"), path_of(group, ".headers")}) {
    touch(used);
  }
  return kept;
}

bool PrecompiledHeaders::has_failed(const Group& group) const {
  std::error_code unknown;
  const auto failed = fs::last_write_time(path_of(group, ".failed"), unknown);
  return !unknown && fs::file_time_type::clock::now() - failed < kFailedFor;
}

bool PrecompiledHeaders::pays(const Group& group) const {
  std::error_code unknown;
  if (access(folder_.c_str(), W_OK) != 0) return false;
  if (fs::space(folder_, unknown).available < kRoom || unknown) return false;
  if (has_failed(group)) return false;
  return group.is_bundled || is_edited_ || group.files > workers_ ||
         is_there(path_of(group, ".cpp"));
}

std::optional<PrecompiledHeaders::Kept> PrecompiledHeaders::make(const Group& group) const {
  const fs::path source = path_of(group, ".cpp");
  if (!write_file(source, group.text)) return std::nullopt;
  const std::string draft = fmt::format("{}.{}.draft", path_of(group, "").string(), getpid());
  std::vector<std::string> arguments = {"--make-pch", draft, source.string()};
  arguments.insert(arguments.end(), group.arguments.begin(), group.arguments.end());
  const auto made = read_made(run_parser(program_, arguments, kTimeout));
  if (!made) {
    unlink(draft.c_str());
    write_file(path_of(group, ".failed"), "");
    return std::nullopt;
  }
  Kept kept = {folder_ / fmt::format("{}-{}.pch", group.key, made->hash), {}, {}};
  std::string headers;
  if (group.is_bundled) kept.names.insert(std::begin(kBundledNames), std::end(kBundledNames));
  for (const std::string& file : made->files) {
    if (file == source) continue;
    const bool is_own =
        std::find(group.large.begin(), group.large.end(), file) != group.large.end();
    if (!is_own) kept.names.insert(first_name(file, made->folders));
    kept.files.push_back(file);
    headers += fmt::format("{}\t{}\t{}\n", stamps_.stamp_of(file), content_of(file), file);
  }
  chmod(draft.c_str(), 0600);
  if (rename(draft.c_str(), kept.pch.c_str()) != 0) {
    unlink(draft.c_str());
    return std::nullopt;
  }
  drop_others(group, kept.pch);
  std::string text = fmt::format("{}\n{}\n", kFirstLine, kept.pch.filename().string());
  for (const std::string& name : kept.names) text += name + "\n";
  if (!write_file(path_of(group, ".headers"), text + "\n" + headers)) return std::nullopt;
  return kept;
}

// Those of earlier headers, and more than are worth their room.
void PrecompiledHeaders::drop_others(const Group& group, const fs::path& newest) const {
  std::vector<std::pair<fs::file_time_type, fs::path>> others;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    std::error_code unknown;
    const fs::path& path = entry.path();
    const auto used = entry.last_write_time(unknown);
    const bool is_pch = path.extension() == ".pch";
    const auto unused_for = fs::file_time_type::clock::now() - used;
    const bool is_draft = path.extension() == ".draft" || path.extension() == ".tmp";
    const bool is_left_over = unused_for > (is_draft ? kFailedFor : kKeptFor);
    const bool is_same = is_pch && path.filename().string().starts_with(group.key);
    if (unknown || path == newest) continue;
    if (is_left_over || is_same) {
      fs::remove(path, unknown);
    } else if (is_pch) {
      others.emplace_back(used, path);
    }
  }
  std::sort(others.rbegin(), others.rend());
  for (size_t i = kMaxKept - 1; i < others.size(); ++i) fs::remove(others[i].second, error);
}

// A folder of the project has something of a name that a header begins with, and comes first.
bool PrecompiledHeaders::hides(const ParseJob& job, const Kept& kept) {
  for (const std::string& folder : own_folders(job)) {
    const auto [at, is_new] = entries_.try_emplace(folder);
    std::error_code error;
    if (is_new) {
      for (const auto& entry : fs::directory_iterator(folder, error)) {
        at->second.insert(entry.path().filename().string());
      }
    }
    for (const std::string& name : at->second) {
      if (kept.names.contains(name)) return true;
    }
  }
  return false;
}

}  // namespace dtypecheck::analyzer
