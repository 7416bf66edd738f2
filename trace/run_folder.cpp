#include "trace/run_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/launch.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/json.h"
#include "platform/output.h"
#include "platform/printable.h"
#include "platform/version.h"
#include "trace/format.h"

namespace fs = std::filesystem;

namespace dtypecheck {

static constexpr const char* kRunsFolder = "dtypecheck-runs";
static constexpr const char* kDescription = "run.json";

static std::string default_path() {
  return fmt::format("{}/{:%Y%m%d-%H%M%S}-{}", kRunsFolder, fmt::localtime(std::time(nullptr)),
                     ::getpid());
}

static std::string now_utc() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

[[noreturn]] static void fail_to_write(const std::string& path, int error) {
  throw InputError(
      fmt::format("{}: the run folder cannot be written: {}; name another with --out DIR", path,
                  std::strerror(error)));
}

static bool has_trace_of_earlier_run(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".dtrace") return true;
  }
  return false;
}

static std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// A run that is resumed has further arguments: python train.py --resume_from_checkpoint latest.
static void check_same_program(const fs::path& folder, const std::vector<std::string>& command) {
  const std::vector<std::string> before = read_run_description(folder.string()).command;
  const auto program = [](const std::vector<std::string>& words) {
    return std::vector<std::string>(words.begin(),
                                    words.begin() + std::min<size_t>(words.size(), 2));
  };
  if (program(before) == program(command)) return;
  throw InputError(fmt::format(
      "{}: holds a run of {}, and this is one of {}; name another folder with --out DIR",
      folder.string(), printable(joined(before)), printable(joined(command))));
}

// An empty folder, or one of ours that recorded nothing, can be used.
static void check_usable(const fs::path& folder, const std::vector<std::string>& command,
                         bool goes_on) {
  if (!fs::is_directory(folder)) {
    throw InputError(
        fmt::format("{}: is a file, not a folder; name another with --out DIR", folder.string()));
  }
  if (fs::is_empty(folder)) return;
  if (!fs::exists(folder / kDescription)) {
    throw InputError(
        fmt::format("{}: holds files that are not a run of dtypecheck; name an empty or new folder "
                    "with --out DIR",
                    folder.string()));
  }
  if (has_trace_of_earlier_run(folder)) {
    if (goes_on) return check_same_program(folder, command);
    throw InputError(
        fmt::format("{0}: holds the traces of an earlier run; name another folder with --out DIR, "
                    "or remove it: rm -r {0}",
                    folder.string()));
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("untraced.")) fs::remove(entry.path());
  }
}

// The run's own folder is private, for what is in it; those around it are as the user makes them.
static void make_folders(const fs::path& path) {
  fs::path made;
  for (const fs::path& part : path) {
    made /= part;
    const int error = ::mkdir(made.c_str(), made == path ? 0700 : 0777) == 0 ? 0 : errno;
    if (error != 0 && error != EEXIST && !fs::is_directory(made)) {
      fail_to_write(made.string(), error);
    }
  }
}

// Runs hold command lines and source, and megabytes: none is committed by accident. It is left out
// where it cannot be written, and what the user made of it stays.
static void keep_out_of_git(const fs::path& runs) {
  const fs::path file = runs / ".gitignore";
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(fd, "*\n", 2);
  ::close(fd);
}

RunFolder RunFolder::attach(const std::string& path, const std::vector<std::string>& command,
                            const std::string& program_folder) {
  RunFolder folder = create(path, command);
  folder.program_folder_ = program_folder;
  folder.write_description(nullptr);
  return folder;
}

RunFolder RunFolder::create(const std::string& path, const std::vector<std::string>& command,
                            const std::vector<std::string>& under, bool goes_on) {
  RunFolder folder;
  folder.shown_path_ = path.empty() ? default_path() : path;
  folder.command_ = command;
  folder.under_ = under;
  folder.start_ = now_utc();
  try {
    folder.path_ = fs::absolute(folder.shown_path_).lexically_normal().string();
    if (fs::exists(folder.path_)) {
      check_usable(folder.path_, command, goes_on);
      ::chmod(folder.path_.c_str(),
              0700);  // fails when another user owns it; writing below then tells
    } else {
      make_folders(folder.path_);
      if (path.empty()) keep_out_of_git(kRunsFolder);
    }
  } catch (const fs::filesystem_error& error) {
    fail_to_write(folder.shown_path_, error.code().value());
  }
  folder.write_description(nullptr);
  return folder;
}

// A launcher started dtypecheck itself: the other ranks have folders of their own.
static bool is_one_rank() {
  return std::any_of(std::begin(kLaunchers), std::end(kLaunchers),
                     [](const LauncherVariables& launcher) {
                       const char* rank = std::getenv(launcher.rank);
                       return rank != nullptr && *rank != '\0';
                     });
}

static std::vector<std::string> trace_names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".dtrace") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void RunFolder::note_end(const ChildEnd& end) { write_description(&end); }

void RunFolder::write_description(const ChildEnd* end) const {
  nlohmann::ordered_json json;
  json["tool"] = "dtypecheck";
  json["version"] = tool_version();
  json["trace_version"] = trace::kTraceVersion;
  json["command"] = command_;
  if (!under_.empty()) json["under"] = under_;
  std::error_code unknown;
  json["folder"] = program_folder_.empty() ? fs::current_path(unknown).string() : program_folder_;
  json["start"] = start_;
  json["end"] = end ? nlohmann::ordered_json(now_utc()) : nullptr;
  json["status"] = end && end->signal == 0 ? nlohmann::ordered_json(end->exit_status) : nullptr;
  json["pid"] = end ? nlohmann::ordered_json(end->pid) : nullptr;
  json["signal"] = end && end->signal != 0 ? nlohmann::ordered_json(end->signal) : nullptr;
  json["one_rank"] = is_one_rank() || !program_folder_.empty();
  if (end) json["traces"] = trace_names(path_);
  const std::string path = fmt::format("{}/{}", path_, kDescription);
  try {
    // Arguments may be any bytes; JSON is UTF-8.
    const std::string text = json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    replace_file(path, {text, "\n"}, {.mode = 0600, .syncs = false});
  } catch (const OutputError& error) {
    fail_to_write(shown_path_, error.code);
  }
}

RunDescription read_run_description(const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, kDescription);
  try {
    const auto json = nlohmann::json::parse(read_file(path), is_shallow);
    RunDescription description{json.at("command"), json.at("folder")};
    if (json.contains("under")) description.under = json.at("under");
    if (!description.command.empty()) return description;
    throw InputError(fmt::format("{}: names no command", path));
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: does not say what was run ({}); name the command behind --",
                                 path, error.what()));
  }
}

static nlohmann::json description_of(const std::string& folder) {
  const auto text = read_file_if_any(fmt::format("{}/{}", folder, kDescription));
  const auto json =
      nlohmann::json::parse(text.value_or(""), is_shallow, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

static int64_t number_in(const nlohmann::json& json, const char* name) {
  return json.contains(name) && json[name].is_number_integer() ? json[name].get<int64_t>() : -1;
}

std::optional<EndedProcess> ended_process_of(const std::string& folder) {
  const nlohmann::json json = description_of(folder);
  const auto number = [&](const char* name) { return number_in(json, name); };
  const int64_t signal = std::max<int64_t>(number("signal"), 0);
  if (number("pid") <= 0 || (signal == 0 && number("status") < 0)) return std::nullopt;
  return EndedProcess{number("pid"), static_cast<int>(signal)};
}

ExpectedRun expected_of(const std::string& folder) {
  const nlohmann::json json = description_of(folder);
  ExpectedRun expected{.folder = folder};
  expected.is_one_rank = json.contains("one_rank") && json["one_rank"] == true;
  const auto ended = ended_process_of(folder);
  if (!ended) return expected;
  expected.pid = ended->pid;
  expected.signal = ended->signal;
  expected.status = static_cast<int>(std::max<int64_t>(number_in(json, "status"), 0));
  if (!json.contains("traces") || !json["traces"].is_array()) return expected;
  for (const nlohmann::json& name : json["traces"]) {
    if (name.is_string()) expected.traces.push_back(name);
  }
  return expected;
}

// Names sort by date and time; of the same second, the higher pid was started last (as a rule).
static bool started_before(const fs::path& a, const fs::path& b) {
  const std::string x = a.filename().string(), y = b.filename().string();
  const size_t kStamp = sizeof "20250131-142233" - 1;
  const int order = x.compare(0, kStamp, y, 0, kStamp);
  if (order != 0) return order < 0;
  return x.size() != y.size() ? x.size() < y.size() : x < y;
}

std::string newest_run_folder() {
  fs::path newest;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kRunsFolder, none)) {
    if (!fs::exists(entry.path() / kDescription, none)) continue;
    if (newest.empty() || started_before(newest, entry.path())) newest = entry.path();
  }
  if (newest.empty()) {
    throw InputError(fmt::format(
        "{}: no run here; record one with dtypecheck trace -- PROGRAM, or name a run folder",
        kRunsFolder));
  }
  return newest.string();
}

}  // namespace dtypecheck
