#include "trace/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/requests.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/hash.h"
#include "platform/json.h"
#include "platform/text.h"

namespace fs = std::filesystem;

namespace dtypecheck {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFile = "sources.json";

std::string file_of(const std::string& run) {
  return fmt::format("{}{}{}", run, is_folder(run) ? "/" : ".", kFile);
}

constexpr int kAround = 5;  // lines, on either side: a call's arguments may stand below it
constexpr size_t kMaxFileBytes = 4 << 20;
constexpr size_t kMaxLineBytes = 1000;  // what is longer was made by a program

using Lines = std::map<std::string, std::set<int>>;

Lines lines_of(const Run& run) {
  Lines lines;
  const auto add = [&](const SourceLine& line) {
    if (!line.known() || line.line <= 0) return;
    std::set<int>& of_file = lines[line.file];
    if (of_file.contains(line.line) && of_file.contains(line.line + kAround)) return;
    for (int i = std::max(1, line.line - kAround); i <= line.line + kAround; ++i) of_file.insert(i);
  };
  for (const Process& process : run.processes) {
    for (const AskingFrame& frame : all_asking_frames(process))
      if (!is_installed(frame.line)) add(frame.line);
    for (const std::string& file : configuration_files(process)) lines[file];
  }
  for (const OpCall& call : run.calls) {
    add(call.site.line);
    add(call.site.caller);
    if (call.outcome != Outcome::kReturned) add(call.site.inner);
    add(call.autocast.entered);
  }
  return lines;
}

// Where a framework is told what to compute in, though no op is called there.
bool names_setting(const Run& run, std::string_view line) {
  const auto has_accelerate = [](const Process& process) {
    return !process.fact(FactKey::kAcceleratePrecision).empty();
  };
  return line.find("Accelerator(") != line.npos &&
         std::any_of(run.processes.begin(), run.processes.end(), has_accelerate);
}

// What the frames around a cast said of a precision, and where a program sets the default dtype.
using Said = std::set<std::pair<std::string, std::string>>;

Said said_in(const Run& run) {
  Said said;
  for (const Process& process : run.processes)
    for (const AskingFrame& frame : all_asking_frames(process))
      for (const auto& [name, value] : frame.said) said.emplace(last_name(name), value);
  return said;
}

bool asks(const Said& said, std::string_view line) {
  if (line.find("set_default_dtype(") != line.npos) return true;
  return std::any_of(said.begin(), said.end(), [&](const auto& entry) {
    return line.find(entry.first) != line.npos && says(line, entry.first, entry.second);
  });
}

template <typename Take>
void for_each_line(std::string_view text, const Take& take) {
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = next_piece(text, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() <= kMaxLineBytes) take(number, line);
  }
}

template <typename Number>
Number number_in(const std::string& text, int base) {
  if (const auto number = whole_number<Number>(text, base)) return *number;
  throw InputError(fmt::format("\"{}\" is no number", text));
}

}  // namespace

Sources Sources::of_run(const Run& run, fs::file_time_type started_at) {
  Sources sources;
  const Said said = said_in(run);
  for (const auto& [path, wanted] : lines_of(run)) {
    std::error_code unknown;
    const auto changed_at = fs::last_write_time(path, unknown);
    if (unknown || changed_at > started_at) continue;
    const auto text = read_file_if_any(path, kMaxFileBytes);
    if (!text) continue;
    File& file = sources.files_[path];
    file.hash = fnv1a(*text);
    for_each_line(*text, [&](int number, std::string_view line) {
      if (wanted.contains(number) || names_setting(run, line) || asks(said, line))
        file.lines[number] = line;
    });
  }
  sources.add(of_cells(run));
  return sources;
}

Sources Sources::of_cells(const Run& run) {
  Sources sources;
  for (const Process& process : run.processes) {
    for (const auto& [name, text] : process.cells) {
      File& file = sources.files_[name];
      for_each_line(text, [&](int number, std::string_view line) { file.lines[number] = line; });
    }
  }
  return sources;
}

Sources Sources::read(const std::string& run) {
  const std::string path = file_of(run);
  std::error_code unknown;
  return fs::exists(path, unknown) ? parse(read_file(path), path) : Sources();
}

Sources Sources::parse(std::string_view text, const std::string& name) {
  const auto refuse = [&](const char* reason) {
    throw InputError(
        fmt::format("{}: are no source lines of a run ({}); remove the file", name, reason));
  };
  Sources sources;
  try {
    const Json json = Json::parse(text, is_shallow);
    for (const Json& entry : json.at("files")) {
      File& file = sources.files_[entry.at("path")];
      file.hash = number_in<uint64_t>(entry.at("hash"), 16);
      for (const auto& [number, line] : entry.at("lines").items())
        file.lines[number_in<int>(number, 10)] = line;
    }
  } catch (const Json::exception& error) {
    refuse(error.what());
  } catch (const InputError& error) {
    refuse(error.what());
  }
  return sources;
}

void Sources::write(const std::string& run) const {
  const std::string path = file_of(run);
  if (files_.empty()) {
    std::error_code none;
    fs::remove(path, none);
    return;
  }
  Json files = Json::array();
  for (const auto& [path, file] : files_) {
    Json lines = Json::object();
    for (const auto& [number, line] : file.lines) lines[std::to_string(number)] = line;
    files.push_back({{"path", path}, {"hash", hash_text(file.hash)}, {"lines", std::move(lines)}});
  }
  // A source may be in another encoding; JSON is UTF-8.
  const std::string text =
      Json{{"files", std::move(files)}}.dump(1, ' ', false, Json::error_handler_t::replace);
  replace_file(path, {text, "\n"}, {.mode = 0600, .syncs = false});
}

std::string Sources::line(const std::string& file, int number) const {
  const auto found = files_.find(file);
  if (found == files_.end()) return "";
  const auto line = found->second.lines.find(number);
  return line == found->second.lines.end() ? "" : line->second;
}

bool Sources::is_text_of(const std::string& file, std::string_view text) const {
  const auto found = files_.find(file);
  return found != files_.end() && fnv1a(text) == found->second.hash;
}

bool Sources::is_unchanged(const std::string& file) const {
  const auto text = read_file_if_any(file, kMaxFileBytes);
  return text && is_text_of(file, *text);
}

void Sources::add(Sources&& more) { files_.merge(std::move(more.files_)); }

}  // namespace dtypecheck
